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

// The old state into the result's second part; returns that part.
static double * copy_state(const struct ggml_tensor * node, int state, double * out) {
    const struct ggml_tensor * old = node->src[state];
    double * new = out + ggml_nelements(node) - ggml_nelements(old);
    for (int64_t k = 0, at[4] = { 0 }; k < ggml_nelements(old); k++, cpu_next(old, at))
        new[k] = cpu_get(old, at[0], at[1], at[2], at[3]);
    return new;
}

static double in(const struct ggml_tensor * node, int src, int64_t i, int64_t h, int64_t t) {
    return cpu_get(node->src[src], i, h, t % node->src[src]->ne[2], 0);
}

static void step_6(const struct ggml_tensor * node, int64_t h, int64_t t, double * state, double * y) {
    const int64_t n = node->src[0]->ne[0];
    for (int64_t j = 0; j < n; j++) {
        y[j] = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const double kv = in(node, 0, i, h, t) * in(node, 1, j, h, t);
            y[j] += in(node, 2, i, h, t) * (in(node, 3, i, h, t) * kv + state[i * n + j]);
            state[i * n + j] = state[i * n + j] * in(node, 4, i, h, t) + kv;
        }
    }
}

static void step_7(const struct ggml_tensor * node, int64_t h, int64_t t, double * state, double * y) {
    const int64_t n = node->src[0]->ne[0];
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++)
            sum += in(node, 4, j, h, t) * state[i * n + j];
        y[i] = 0.0;
        for (int64_t j = 0; j < n; j++) {
            double * s = &state[i * n + j];
            *s = *s * in(node, 1, j, h, t) + in(node, 3, i, h, t) * in(node, 2, j, h, t) +
                 sum * in(node, 5, j, h, t);
            y[i] += in(node, 0, j, h, t) * *s;
        }
    }
}

static void step_gla(const struct ggml_tensor * node, int64_t h, int64_t t, double * state, double * y) {
    const int64_t n = node->src[0]->ne[0];
    float scale;
    memcpy(&scale, node->op_params, sizeof(scale));
    for (int64_t j = 0; j < n; j++) {
        y[j] = 0.0;
        for (int64_t i = 0; i < n; i++) {
            double * s = &state[i * n + j];
            *s = *s * in(node, 3, i, h, t) + in(node, 0, i, h, t) * in(node, 1, j, h, t);
            y[j] += (double) scale * in(node, 2, i, h, t) * *s;
        }
    }
}

static void walk(const struct ggml_tensor * node, double * out, int state,
                 void (*step)(const struct ggml_tensor *, int64_t, int64_t, double *, double *)) {
    const int64_t n = node->src[0]->ne[0], heads = node->src[0]->ne[1], tokens = node->src[0]->ne[2];
    const int64_t sequences = node->src[state]->ne[1];
    double * states = copy_state(node, state, out);
    for (int64_t t = 0; t < tokens; t++) {
        const int64_t sequence = t / (tokens / sequences);
        for (int64_t h = 0; h < heads; h++)
            step(node, h, t, states + (sequence * heads + h) * n * n, out + (t * heads + h) * n);
    }
}

static void fill_6(const struct ggml_tensor * node, double * out) {
    walk(node, out, 5, step_6);
}

static void fill_7(const struct ggml_tensor * node, double * out) {
    walk(node, out, 6, step_7);
}

static void fill_gla(const struct ggml_tensor * node, double * out) {
    walk(node, out, 4, step_gla);
}

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
        cpu_check_whole(&t, y, fill_6, 2e-6, 4e-6);
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
        cpu_check_whole(&t, y, fill_7, 2e-6, 4e-6);
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
        cpu_check_whole(&t, y, fill_gla, 2e-6, 4e-6);
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
