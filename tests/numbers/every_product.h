// SPDX-License-Identifier: MIT
// Nodes of products of matrices and of attention; included by every_op.h.
#ifndef TN_TESTS_EVERY_PRODUCT_H
#define TN_TESTS_EVERY_PRODUCT_H

// Every type that a weight can have: those with a dot product.
static const enum ggml_type every_weights[] = {
#define TN_ROW(id, ...) GGML_TYPE_##id,
#include "cpu/traits.def"
#undef TN_ROW
};

// One column, a few or more than a tile: in turn, and then all of them for some types.
static inline struct ggml_tensor * every_mul_mat(struct cpu_test * t, int i) {
    static const int64_t columns[] = { 1, 3, 37 };
    static const enum ggml_type some[] = { GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16,
                                           GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K };
    const int n_types = EVERY_COUNT(every_weights), more = i - n_types;
    if (more >= 3 * EVERY_COUNT(some)) return NULL;
    const enum ggml_type type = more < 0 ? every_weights[i] : some[more / 3];
    struct ggml_tensor * a = every_weight(t, type, 768, 331, 1);
    return ggml_mul_mat(t->ctx, a, every_f32(t, 768, columns[i % 3], i % 2 + 1, 1));
}

static inline struct ggml_tensor * every_mul_mat_id(struct cpu_test * t, int i) {
    if (i >= EVERY_COUNT(every_weights)) return NULL;
    const int64_t tokens = i % 2 ? 1 : 17;
    struct ggml_tensor * as = every_weight(t, every_weights[i], 512, 133, 5);
    return ggml_mul_mat_id(t->ctx, as, every_f32(t, 512, 2, tokens, 1), every_index(t, 4, tokens, 1, 5));
}

static inline struct ggml_tensor * every_out_prod(struct cpu_test * t, int i) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q4_0, GGML_TYPE_Q4_K };
    if (i >= EVERY_COUNT(types)) return NULL;
    return ggml_out_prod(t->ctx, every_source(t, types[i], 768, 61, 2, 1), every_f32(t, 83, 61, 2, 1));
}

// A cache of several thousand keys and one query, or a few, or many; keys of several types; one head, or
// eight that share two.
static inline struct ggml_tensor * every_attention(struct cpu_test * t, int i) {
    static const struct {
        enum ggml_type k, v;
        int64_t n, m, heads, kv_heads;
        int extras; // 1: mask, 2: slopes, 4: sinks, 8: cap
    } rows[] = {
        { GGML_TYPE_F16, GGML_TYPE_F16, 1, 5003, 1, 1, 0 },
        { GGML_TYPE_F16, GGML_TYPE_F16, 1, 4099, 8, 2, 1 },
        { GGML_TYPE_F32, GGML_TYPE_F32, 1, 4099, 2, 1, 7 },
        { GGML_TYPE_Q8_0, GGML_TYPE_Q8_0, 1, 4099, 4, 1, 1 },
        { GGML_TYPE_Q4_0, GGML_TYPE_F16, 3, 2051, 4, 4, 9 },
        { GGML_TYPE_BF16, GGML_TYPE_BF16, 5, 2051, 2, 2, 5 },
        { GGML_TYPE_F16, GGML_TYPE_Q4_0, 67, 131, 4, 2, 15 },
        { GGML_TYPE_F16, GGML_TYPE_F16, 2, 6007, 1, 1, 4 },
    };
    if (i >= EVERY_COUNT(rows)) return NULL;
    const int64_t n = rows[i].n, m = rows[i].m, heads = rows[i].heads, kv_heads = rows[i].kv_heads;
    const int extras = rows[i].extras;
    struct ggml_tensor * mask = extras & 1 ? every_source(t, GGML_TYPE_F16, m, n, 1, 1) : NULL;
    struct ggml_tensor * y = ggml_flash_attn_ext(t->ctx, every_f32(t, 64, n, heads, 1),
                                                 every_source(t, rows[i].k, 64, m, kv_heads, 1),
                                                 every_source(t, rows[i].v, 96, m, kv_heads, 1), mask, 0.25f,
                                                 extras & 2 ? 6.0f : 0.0f, extras & 8 ? 10.0f : 0.0f);
    if (extras & 4) ggml_flash_attn_ext_add_sinks(y, every_f32(t, heads, 1, 1, 1));
    return y;
}

static inline struct ggml_tensor * every_lightning_indexer(struct cpu_test * t, int i) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_Q8_0 };
    if (i >= EVERY_COUNT(types)) return NULL;
    return ggml_lightning_indexer(t->ctx, every_f32(t, 64, 5, 19, 2),
                                  every_source(t, types[i], 64, 1, 333, 2), every_f32(t, 5, 19, 1, 2),
                                  every_source(t, GGML_TYPE_F16, 333, 19, 1, 1));
}

#endif
