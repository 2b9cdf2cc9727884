// SPDX-License-Identifier: MIT
// GATED_DELTA_NET and LIGHTNING_INDEXER on the CPU.
#include "cpu_whole.h"

static const struct {
    int64_t n, heads, q_heads, k_heads, tokens, batches, q_batches, k_batches, slots;
    bool each; // a gate for each element
} deltas[] = {
    { 1, 1, 1, 1, 1, 1, 1, 1, 1, false },  { 8, 4, 2, 1, 5, 2, 1, 2, 1, true },
    { 64, 2, 2, 2, 3, 1, 1, 1, 2, false }, { 40, 2, 1, 2, 3, 2, 2, 1, 5, true },
    { 6, 2, 1, 2, 2, 4, 2, 1, 1, false },  { 5, 3, 3, 1, 0, 1, 1, 1, 1, false },
    { 33, 1, 1, 1, 7, 1, 1, 1, 7, true },
};

static void gated_delta_net(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 7 * 3; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int d = k % 7;
        const enum cpu_layout layout = (enum cpu_layout)(k / 7); // dense, padded, permuted
        const int64_t n = deltas[d].n, h = deltas[d].heads, tok = deltas[d].tokens, b = deltas[d].batches;
        const int64_t ne_q[] = { n, deltas[d].q_heads, tok, deltas[d].q_batches };
        const int64_t ne_k[] = { n, deltas[d].k_heads, tok, deltas[d].k_batches };
        const int64_t ne_v[] = { n, h, tok, b }, ne_g[] = { deltas[d].each ? n : 1, h, tok, b };
        const int64_t ne_beta[] = { 1, h, tok, b }, ne_state[] = { n, n, h, b };
        struct ggml_tensor * y = ggml_gated_delta_net(
            t.ctx, cpu_source(&t, GGML_TYPE_F32, ne_q, layout, -1.0f, 1.0f),
            cpu_source(&t, GGML_TYPE_F32, ne_k, layout, -0.2f, 0.2f),
            cpu_source(&t, GGML_TYPE_F32, ne_v, layout, -1.0f, 1.0f),
            cpu_source(&t, GGML_TYPE_F32, ne_g, CPU_DENSE, -2.0f, 0.0f),
            cpu_source(&t, GGML_TYPE_F32, ne_beta, CPU_DENSE, 0.0f, 1.0f),
            cpu_source(&t, GGML_TYPE_F32, ne_state, CPU_DENSE, -1.0f, 1.0f), deltas[d].slots);
        if (!ggml_ext_tensor_valid(y)) fail_msg("%s", ggml_ext_last_error());
        assert_int_equal(y->op, GGML_OP_GATED_DELTA_NET);
        cpu_check_whole(&t, y, oracle_gated_delta_net, 3e-6, 2e-6);
        cpu_test_free(&t);
    }
}

static struct ggml_tensor * indexer(struct cpu_test * t, enum ggml_type type, const int64_t * sizes,
                                    enum cpu_layout layout) {
    const int64_t d = sizes[0], h = sizes[1], tok = sizes[2], m = sizes[3], s = sizes[4], sm = sizes[5];
    const int64_t ne_q[] = { d, h, tok, s }, ne_k[] = { d, 1, m, s }, ne_w[] = { h, tok, 1, s },
                  ne_mask[] = { m, tok, 1, sm };
    struct ggml_tensor * mask = cpu_source(t, GGML_TYPE_F16, ne_mask, layout, -1.0f, 1.0f);
    for (int64_t i = 0; i < m && tok > 0; i += 3)
        cpu_put(mask, (const int64_t[]){ i, 0, 0, 0 }, -INFINITY);
    return ggml_lightning_indexer(t->ctx, cpu_source(t, GGML_TYPE_F32, ne_q, layout, -1.0f, 1.0f),
                                  cpu_source(t, type, ne_k, layout, -1.0f, 1.0f),
                                  cpu_source(t, GGML_TYPE_F32, ne_w, layout, -1.0f, 1.0f), mask);
}

static void lightning_indexer(void ** state) {
    (void) state;
    static const int64_t sizes[][6] = {
        // D, H, T, M, S, Sm
        { 1, 1, 1, 1, 1, 1 },   { 33, 9, 3, 70, 2, 1 },  { 64, 8, 20, 31, 1, 1 },
        { 7, 17, 17, 5, 4, 2 }, { 600, 2, 1, 33, 1, 1 },
    };
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * 3 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * y = indexer(&t, types[k / 5 % 3], sizes[k % 5], (enum cpu_layout)(k / 15));
        if (!ggml_ext_tensor_valid(y)) fail_msg("%s", ggml_ext_last_error());
        assert_int_equal(y->op, GGML_OP_LIGHTNING_INDEXER);
        cpu_check_with(&t, y, (struct cpu_oracle){ oracle_lightning_indexer, 0.0, 0.0 }, true);
        cpu_test_free(&t);
    }
}

static void quantised_keys(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct ggml_type_traits * traits = ggml_get_type_traits((enum ggml_type) type);
        if (!traits->is_quantized || !traits->to_float) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) type);
        struct ggml_tensor * y =
            indexer(&t, (enum ggml_type) type, (const int64_t[]){ 256, 3, 2, 35, 1, 1 }, CPU_PADDED);
        cpu_check_with(&t, y, (struct cpu_oracle){ oracle_lightning_indexer, 0.0, 0.0 }, true);
        cpu_test_free(&t);
    }
}

static void keys_without_decoder_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t sizes[] = { 4, 2, 2, 3, 1, 1 };
    cpu_refused(&t, indexer(&t, GGML_TYPE_I32, sizes, CPU_DENSE), "src1");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gated_delta_net),
        cmocka_unit_test(lightning_indexer),
        cmocka_unit_test(quantised_keys),
        cmocka_unit_test(keys_without_decoder_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
