// SPDX-License-Identifier: MIT
// Nodes of operators that copy, choose, sort and make elements; included by every_op.h.
#ifndef TN_TESTS_EVERY_MOVE_H
#define TN_TESTS_EVERY_MOVE_H

static inline struct ggml_tensor * every_permuted(struct cpu_test * t, enum ggml_type type, int64_t n) {
    return ggml_permute(t->ctx, every_source(t, type, 512, 61, n, 1), 0, 2, 1, 3);
}

static inline struct ggml_tensor * every_dup(struct cpu_test * t, int i) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q4_K };
    return i < EVERY_COUNT(types) ? ggml_dup(t->ctx, every_permuted(t, types[i], 131)) : NULL;
}

static inline struct ggml_tensor * every_cont(struct cpu_test * t, int i) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_BF16, GGML_TYPE_Q8_0 };
    return i < EVERY_COUNT(types) ? ggml_cont(t->ctx, every_permuted(t, types[i], 131)) : NULL;
}

static inline struct ggml_tensor * every_cpy(struct cpu_test * t, int i) {
    static const enum ggml_type types[][2] = {
        { GGML_TYPE_F32, GGML_TYPE_F32 },   { GGML_TYPE_F32, GGML_TYPE_F16 },
        { GGML_TYPE_F32, GGML_TYPE_BF16 },  { GGML_TYPE_F32, GGML_TYPE_I32 },
        { GGML_TYPE_F32, GGML_TYPE_Q8_0 },  { GGML_TYPE_F16, GGML_TYPE_Q4_0 },
        { GGML_TYPE_F32, GGML_TYPE_MXFP4 }, { GGML_TYPE_Q4_K, GGML_TYPE_F32 },
        { GGML_TYPE_F32, GGML_TYPE_Q4_K },
    };
    if (i >= EVERY_COUNT(types)) return NULL;
    return ggml_cast(t->ctx, every_permuted(t, types[i][0], i < 8 ? 31 : 5), types[i][1]);
}

static inline struct ggml_tensor * every_set(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    struct ggml_tensor * x = every_f32(t, 521, 207, 1, 1);
    struct ggml_tensor * part = every_f32(t, 301, 201, 1, 1);
    return ggml_set(t->ctx, x, part, x->nb[1], x->nb[2], x->nb[3], 3 * x->nb[1] + 40);
}

static inline struct ggml_tensor * every_acc(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    struct ggml_tensor * x = every_f32(t, 521, 407, 1, 1);
    struct ggml_tensor * part = every_f32(t, 301, 401, 1, 1);
    return ggml_acc(t->ctx, x, part, x->nb[1], x->nb[2], x->nb[3], 3 * x->nb[1] + 40);
}

static inline struct ggml_tensor * every_repeat(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    return ggml_repeat_4d(t->ctx, every_source(t, every_floats[i], 521, 3, 2, 1), 521, 99, 4, 3);
}

static inline struct ggml_tensor * every_concat(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * a = every_source(t, every_floats[i], 521, 98, 2, 1);
    return ggml_concat(t->ctx, a, every_source(t, every_floats[i], 521, 98, 2, 1), i);
}

static inline struct ggml_tensor * every_get_rows(struct cpu_test * t, int i) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16,  GGML_TYPE_BF16,
                                            GGML_TYPE_I32, GGML_TYPE_Q4_0, GGML_TYPE_Q6_K };
    if (i >= EVERY_COUNT(types)) return NULL;
    return ggml_get_rows(t->ctx, every_source(t, types[i], 512, 13, 2, 1), every_index(t, 101, 2, 1, 13));
}

static inline struct ggml_tensor * every_get_rows_back(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_get_rows_back(t->ctx, every_f32(t, 1031, 307, 1, 1), every_index(t, 307, 1, 1, 19),
                              every_f32(t, 1031, 19, 1, 1));
}

// Indices repeat themselves: the last row stays.
static inline struct ggml_tensor * every_set_rows(struct cpu_test * t, int i) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_1 };
    if (i >= EVERY_COUNT(types)) return NULL;
    return ggml_set_rows(t->ctx, every_source(t, types[i], 1024, 40, 4, 2), every_f32(t, 1024, 50, 4, 2),
                         every_index(t, 50, 4, 2, 40));
}

static inline struct ggml_tensor * every_diag(struct cpu_test * t, int i) {
    return i < 1 ? ggml_diag(t->ctx, every_f32(t, 301, 1, 2, 1)) : NULL;
}

static inline struct ggml_tensor * every_diag_mask_inf(struct cpu_test * t, int i) {
    return i < 1 ? ggml_diag_mask_inf(t->ctx, every_f32(t, 521, 201, 2, 1), 100) : NULL;
}

static inline struct ggml_tensor * every_diag_mask_zero(struct cpu_test * t, int i) {
    return i < 1 ? ggml_diag_mask_zero(t->ctx, every_f32(t, 521, 201, 2, 1), 100) : NULL;
}

static inline struct ggml_tensor * every_tri(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    return ggml_tri(t->ctx, every_f32(t, 301, 301, 2, 1), i ? GGML_TRI_TYPE_LOWER : GGML_TRI_TYPE_UPPER_DIAG);
}

static inline struct ggml_tensor * every_argsort(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    return ggml_argsort(t->ctx, every_f32(t, 401, 53, 2, 1), i ? GGML_SORT_ORDER_DESC : GGML_SORT_ORDER_ASC);
}

static inline struct ggml_tensor * every_top_k(struct cpu_test * t, int i) {
    return i < 1 ? ggml_top_k(t->ctx, every_f32(t, 401, 153, 2, 1), 40) : NULL;
}

static inline struct ggml_tensor * every_arange(struct cpu_test * t, int i) {
    return i < 1 ? ggml_arange(t->ctx, -1.5f, 200000.0f, 0.9f) : NULL;
}

static inline struct ggml_tensor * every_timestep_embedding(struct cpu_test * t, int i) {
    return i < 1 ? ggml_timestep_embedding(t->ctx, every_f32(t, 67, 1, 1, 1), 321, 10000) : NULL;
}

#endif
