// SPDX-License-Identifier: MIT
// RWKV_WKV6, RWKV_WKV7 and GATED_LINEAR_ATTN on the CPU, whose results are laid out alike.
#include "cpu_whole.h"

struct sizes {
    int64_t n, heads, tokens, sequences;
};

static const struct sizes all_sizes[] = {
    { 1, 1, 1, 1 }, { 3, 2, 4, 2 }, { 64, 2, 5, 1 }, { 17, 3, 6, 3 }, { 8, 2, 0, 1 }, { 33, 1, 2, 2 },
};
enum { N_SIZES = 6 };

static struct ggml_tensor * tokens_of(struct cpu_test * t, const struct sizes * s, float lo, float hi) {
    const int64_t ne[] = { s->n, s->heads, s->tokens, 1 };
    return cpu_source(t, GGML_TYPE_F32, ne, CPU_DENSE, lo, hi);
}

static struct ggml_tensor * state_of(struct cpu_test * t, const struct sizes * s) {
    const int64_t ne[] = { s->n * s->n * s->heads, s->sequences, 1, 1 };
    return cpu_source(t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
}

static void wkv6(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < N_SIZES; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const struct sizes * s = &all_sizes[k];
        const int64_t ne_tf[] = { s->n, s->heads, 1, 1 };
        struct ggml_tensor * tf = cpu_source(&t, GGML_TYPE_F32, ne_tf, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * y =
            ggml_rwkv_wkv6(t.ctx, tokens_of(&t, s, -1.0f, 1.0f), tokens_of(&t, s, -1.0f, 1.0f),
                           tokens_of(&t, s, -1.0f, 1.0f), tf, tokens_of(&t, s, 0.3f, 1.0f), state_of(&t, s));
        assert_int_equal(y->op, GGML_OP_RWKV_WKV6);
        cpu_check_whole(&t, y, oracle_wkv6, 2e-6, 4e-6);
        cpu_test_free(&t);
    }
}

static void wkv7(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < N_SIZES; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const struct sizes * s = &all_sizes[k];
        const float a = 1.0f / (float) s->n; // keeps the state from growing
        struct ggml_tensor * y =
            ggml_rwkv_wkv7(t.ctx, tokens_of(&t, s, -1.0f, 1.0f), tokens_of(&t, s, 0.3f, 1.0f),
                           tokens_of(&t, s, -1.0f, 1.0f), tokens_of(&t, s, -1.0f, 1.0f),
                           tokens_of(&t, s, -a, a), tokens_of(&t, s, -1.0f, 1.0f), state_of(&t, s));
        assert_int_equal(y->op, GGML_OP_RWKV_WKV7);
        cpu_check_whole(&t, y, oracle_wkv7, 2e-6, 4e-6);
        cpu_test_free(&t);
    }
}

static struct ggml_tensor * gla(struct cpu_test * t, const struct sizes * s, struct ggml_tensor * k) {
    return ggml_gated_linear_attn(t->ctx, k, tokens_of(t, s, -1.0f, 1.0f), tokens_of(t, s, -1.0f, 1.0f),
                                  tokens_of(t, s, 0.3f, 1.0f), state_of(t, s), 0.7f);
}

static void gated_linear_attn(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < N_SIZES; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * y = gla(&t, &all_sizes[k], tokens_of(&t, &all_sizes[k], -1.0f, 1.0f));
        assert_int_equal(y->op, GGML_OP_GATED_LINEAR_ATTN);
        cpu_check_whole(&t, y, oracle_gated_linear_attn, 2e-6, 4e-6);
        cpu_test_free(&t);
    }
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 3, 2, 4, 1 };
    struct ggml_tensor * k = cpu_source(&t, GGML_TYPE_F16, ne, CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, gla(&t, &all_sizes[1], k), "src0 is f16");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wkv6),
        cmocka_unit_test(wkv7),
        cmocka_unit_test(gated_linear_attn),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
