// SPDX-License-Identifier: MIT
// Nodes of operators on sequences: positions, recurrences, streams, triangular systems; included by
// every_op.h.
#ifndef TN_TESTS_EVERY_SEQUENCE_H
#define TN_TESTS_EVERY_SEQUENCE_H

// Modes by number: adjacent pairs, halves, sections.
static inline struct ggml_tensor * every_rope_of(struct cpu_test * t, int i) {
    int sections[] = { 8, 8, 8, 8 };
    struct ggml_tensor * x = every_source(t, every_floats[i % 3], 80, 7, 61, 2);
    struct ggml_tensor * factors = i ? every_positive(t, 32, 1) : NULL;
    if (i == 2) {
        return ggml_rope_multi(t->ctx, x, every_index(t, 4 * 61, 1, 1, 5000), factors, 64, sections,
                               GGML_ROPE_TYPE_MROPE, 4096, 10000.0f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
    }
    return ggml_rope_ext(t->ctx, x, every_index(t, 61, 1, 1, 5000), factors, 64,
                         i ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL, 4096, 10000.0f, 0.5f, 0.7f, 1.1f,
                         32.0f, 1.0f);
}

static inline struct ggml_tensor * every_rope(struct cpu_test * t, int i) {
    return i < 3 ? every_rope_of(t, i) : NULL;
}

static inline struct ggml_tensor * every_rope_back(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * y = every_rope_of(t, i);
    y->op = GGML_OP_ROPE_BACK; // the same parameters
    return y;
}

static inline struct ggml_tensor * every_ssm_conv(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_ssm_conv(t->ctx, every_f32(t, 3 + 131, 207, 2, 1), every_f32(t, 4, 207, 1, 1));
}

// One decay for a head, and one for each state; two snapshots.
static inline struct ggml_tensor * every_ssm_scan(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * ids = every_index(t, 2, 1, 1, 3);
    return ggml_ssm_scan(t->ctx, every_f32(t, 16, 31, 6, 3), every_f32(t, 31, 6, 19, 2),
                         every_f32(t, 6, 19, 2, 1), every_f32(t, i ? 16 : 1, 6, 1, 1),
                         every_f32(t, 16, 2, 19, 2), every_f32(t, 16, 2, 19, 2), ids, i ? 1 : 2);
}

enum { EVERY_N = 32, EVERY_HEADS = 12, EVERY_TOKENS = 34 };

static inline struct ggml_tensor * every_tokens(struct cpu_test * t, float lo, float hi) {
    const int64_t ne[] = { EVERY_N, EVERY_HEADS, EVERY_TOKENS, 1 };
    return cpu_source(t, GGML_TYPE_F32, ne, CPU_DENSE, lo, hi);
}

static inline struct ggml_tensor * every_states(struct cpu_test * t) {
    return every_f32(t, EVERY_N * EVERY_N * EVERY_HEADS, 2, 1, 1);
}

static inline struct ggml_tensor * every_rwkv_wkv6(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    struct ggml_tensor * tf = every_f32(t, EVERY_N, EVERY_HEADS, 1, 1);
    return ggml_rwkv_wkv6(t->ctx, every_tokens(t, -1, 1), every_tokens(t, -1, 1), every_tokens(t, -1, 1), tf,
                          every_tokens(t, 0.3f, 1), every_states(t));
}

static inline struct ggml_tensor * every_rwkv_wkv7(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    const float a = 1.0f / EVERY_N; // keeps the state from growing
    return ggml_rwkv_wkv7(t->ctx, every_tokens(t, -1, 1), every_tokens(t, 0.3f, 1), every_tokens(t, -1, 1),
                          every_tokens(t, -1, 1), every_tokens(t, -a, a), every_tokens(t, -1, 1),
                          every_states(t));
}

static inline struct ggml_tensor * every_gated_linear_attn(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_gated_linear_attn(t->ctx, every_tokens(t, -1, 1), every_tokens(t, -1, 1),
                                  every_tokens(t, -1, 1), every_tokens(t, 0.3f, 1), every_states(t), 0.2f);
}

static inline struct ggml_tensor * every_gated_delta_net(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    const int64_t ne[] = { 32, 3, 17, 2 }, ne_v[] = { 32, 6, 17, 2 }, ne_g[] = { 1, 6, 17, 2 };
    return ggml_gated_delta_net(t->ctx, cpu_source(t, GGML_TYPE_F32, ne, CPU_DENSE, -0.2f, 0.2f),
                                cpu_source(t, GGML_TYPE_F32, ne, CPU_DENSE, -0.2f, 0.2f),
                                cpu_source(t, GGML_TYPE_F32, ne_v, CPU_DENSE, -1.0f, 1.0f),
                                cpu_source(t, GGML_TYPE_F32, ne_g, CPU_DENSE, -1.0f, 0.0f),
                                cpu_source(t, GGML_TYPE_F32, ne_g, CPU_DENSE, 0.0f, 1.0f),
                                every_f32(t, 32, 32, 6, 2), 2);
}

static inline struct ggml_tensor * every_solve_tri(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    struct ggml_tensor * a = every_f32(t, 47, 47, 3, 1);
    for (int64_t k = 0; k < 47 * 3; k++)
        *(float *) cpu_at(a, k % 47, k % 47, k / 47, 0) = 20.0f;
    return ggml_solve_tri(t->ctx, a, every_f32(t, 301, 47, 3, 1), true, true, false);
}

static inline struct ggml_tensor * every_dsv4_hc_comb(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_dsv4_hc_comb(t->ctx, every_f32(t, 24, 307, 1, 1), every_f32(t, 3, 1, 1, 1),
                             every_f32(t, 24, 1, 1, 1), 1e-6f, 20);
}

static inline struct ggml_tensor * every_dsv4_hc_pre(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * x = every_f32(t, 521, 4, 97, 1);
    return i ? ggml_dsv4_hc_pre_gated(t->ctx, x, every_f32(t, 521, 4, 97, 1), 0.5f)
             : ggml_dsv4_hc_pre(t->ctx, x, every_f32(t, 4, 97, 1, 1));
}

static inline struct ggml_tensor * every_dsv4_hc_post(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_dsv4_hc_post(t->ctx, every_f32(t, 521, 67, 1, 1), every_f32(t, 521, 4, 67, 1),
                             every_f32(t, 4, 67, 1, 1), every_f32(t, 4, 4, 67, 1));
}

#endif
