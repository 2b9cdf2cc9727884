// SPDX-License-Identifier: MIT
// GATED_DELTA_NET and LIGHTNING_INDEXER on the CPU.
#include "cpu_whole.h"

enum { Q, K, V, GATE, BETA, STATE };

static double shared_at(const struct ggml_tensor * node, int src, const int64_t * i) {
    const struct ggml_tensor * x = node->src[src];
    return cpu_get(x, i[0], i[1] % x->ne[1], i[2], i[3] / (node->src[V]->ne[3] / x->ne[3]));
}

// One token: rows m[j] of one head's state, then y[j]. at: [-, h, t, b]
static void delta_token(const struct ggml_tensor * node, int64_t h, int64_t t, int64_t b, double * m,
                        double * y) {
    const int64_t n = node->src[V]->ne[0];
    const double beta = cpu_get(node->src[BETA], 0, h, t, b);
    for (int64_t j = 0; j < n; j++) {
        double dot = 0.0;
        for (int64_t i = 0; i < n; i++) {
            m[j * n + i] *= exp(cpu_get(node->src[GATE], i % node->src[GATE]->ne[0], h, t, b));
            dot += m[j * n + i] * shared_at(node, K, (const int64_t[]){ i, h, t, b });
        }
        const double e = beta * (cpu_get(node->src[V], j, h, t, b) - dot);
        y[j] = 0.0;
        for (int64_t i = 0; i < n; i++) {
            m[j * n + i] += e * shared_at(node, K, (const int64_t[]){ i, h, t, b });
            y[j] += m[j * n + i] * shared_at(node, Q, (const int64_t[]){ i, h, t, b }) / sqrt((double) n);
        }
    }
}

static void fill_delta(const struct ggml_tensor * node, double * out) {
    const int64_t n = node->src[V]->ne[0], heads = node->src[V]->ne[1], tokens = node->src[V]->ne[2],
                  batches = node->src[V]->ne[3], slots = node->op_params[0];
    double * states = out + n * heads * tokens * batches;
    static double m[128 * 128];
    for (int64_t u = 0; u < heads * batches; u++) {
        const int64_t h = u % heads, b = u / heads;
        for (int64_t k = 0; k < n * n; k++)
            m[k] = cpu_get(node->src[STATE], k % n, k / n, h, b);
        if (tokens == 0) memcpy(states + u * n * n, m, (size_t) (n * n) * sizeof(double));
        for (int64_t t = 0; t < tokens; t++) {
            delta_token(node, h, t, b, m, out + n * (h + heads * (t + tokens * b)));
            const int64_t slot = tokens - 1 - t;
            if (slot < slots)
                memcpy(states + (slot * heads * batches + u) * n * n, m, (size_t) (n * n) * sizeof(double));
        }
    }
}

static const struct {
    int64_t n, heads, q_heads, k_heads, tokens, batches, q_batches, k_batches, slots;
    bool each; // a gate for each element
} deltas[] = {
    { 1, 1, 1, 1, 1, 1, 1, 1, 1, false },  { 8, 4, 2, 1, 5, 2, 1, 2, 1, true },
    { 64, 2, 2, 2, 3, 1, 1, 1, 2, false }, { 40, 2, 1, 2, 3, 2, 2, 1, 5, true },
    { 5, 3, 3, 1, 0, 1, 1, 1, 1, false },  { 33, 1, 1, 1, 7, 1, 1, 1, 7, true },
};

static void gated_delta_net(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * 3; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int d = k % 6;
        const enum cpu_layout layout = (enum cpu_layout)(k / 6); // dense, padded, permuted
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
        cpu_check_whole(&t, y, fill_delta, 3e-6, 2e-6);
        cpu_test_free(&t);
    }
}

// Its terms may cancel, so what is left carries the rounding of much larger values.
static double index_value(const struct ggml_tensor * node, const int64_t * at) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *mask = node->src[3];
    double sum = cpu_get(mask, at[0], at[1], 0, at[3] % mask->ne[3]);
    for (int64_t h = 0; h < q->ne[1]; h++) {
        double dot = 0.0;
        for (int64_t i = 0; i < q->ne[0]; i++)
            dot += cpu_get(q, i, h, at[1], at[3]) * cpu_get(k, i, 0, at[0], at[3]);
        sum += cpu_get(node->src[2], h, at[1], 0, at[3]) * fmax(0.0, dot);
    }
    return sum;
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
        cpu_check(&t, y, (struct cpu_oracle){ index_value, 1e-6, 5e-5 });
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
        cpu_check(&t, y, (struct cpu_oracle){ index_value, 1e-6, 5e-5 });
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
