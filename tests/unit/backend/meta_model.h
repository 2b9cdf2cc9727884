// SPDX-License-Identifier: MIT
// A small model of the common kind, for a meta device and for one device: attention with a cache, split by
// heads; gated feed-forward layers, split by columns and rows.
#ifndef TN_TESTS_META_MODEL_H
#define TN_TESTS_META_MODEL_H

#include <math.h>

#include "unit/backend/meta_stage.h"

enum { MODEL_LAYERS = 2, MODEL_CACHE = 16, MODEL_VOCAB = 48 };

struct model_shape {
    int64_t head, heads, kv_heads, ff, tokens;
    bool flash, fused; // fused: one matrix for queries, keys and values
    enum ggml_type type;
    uint64_t seed; // of unequal parts; 0: equal ones
};

struct model {
    struct model_shape p;
    struct ggml_context *weights, *ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_cgraph * graph;
    struct ggml_tensor *x, *pos, *rows, *mask; // inputs
    struct ggml_tensor *query, *out;           // the first layer's queries, and the result
};

static inline int64_t model_width(const struct model_shape * p) {
    return p->head * p->heads;
}

static inline struct ggml_tensor * model_weight(struct model * m, int layer, const char * name, int64_t ne0,
                                                int64_t ne1) {
    struct ggml_tensor * t = ggml_new_tensor_2d(m->weights, ne1 > 1 ? m->p.type : GGML_TYPE_F32, ne0, ne1);
    return ggml_format_name(t, "%s.%d", name, layer);
}

static inline struct ggml_tensor * model_cache(struct model * m, int layer, const char * name) {
    struct ggml_tensor * t =
        ggml_new_tensor_2d(m->weights, GGML_TYPE_F16, m->p.head * m->p.kv_heads, MODEL_CACHE);
    return ggml_format_name(t, "%s.%d", name, layer);
}

// How weights and caches are split over n devices.
static inline void model_rules(const struct model_shape * p, int n) {
    for (int layer = 0; layer < MODEL_LAYERS; layer++) {
        char name[32];
        int64_t kv[FAKE_DEVICES], q[FAKE_DEVICES];
        struct test_rng rng = { p->seed + (uint64_t) layer };
        meta_shares(kv, n, p->kv_heads, p->head, p->seed ? &rng : NULL);
        for (int j = 0; j < n; j++)
            q[j] = kv[j] * (p->heads / p->kv_heads);
        const struct {
            const char * name;
            int axis;
            const int64_t * ne;
        } rows[] = { { "wq", 1, q }, { "wk", 1, kv },      { "wv", 1, kv },     { "bq", 0, q },
                     { "wo", 0, q }, { "cache_k", 0, kv }, { "cache_v", 0, kv } };
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            snprintf(name, sizeof(name), "%s.%d", rows[i].name, layer);
            meta_segment(meta_rule(name, rows[i].axis), n, rows[i].ne, 1);
        }
        snprintf(name, sizeof(name), "wqkv.%d", layer);
        meta_segment(meta_rule(name, 1), n, q, 1);
        meta_segment(meta_rule(name, 1), n, kv, 1);
        meta_segment(meta_rule(name, 1), n, kv, 1);
        const char * ffn[] = { "up", "gate", "down" };
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof(name), "%s.%d", ffn[i], layer);
            meta_split_by(name, i < 2, n, p->ff / 32, 32, p->seed ? p->seed + 77 : 0);
        }
    }
    meta_split_by("output.0", 1, n, MODEL_VOCAB, 1, p->seed);
}

static inline struct ggml_tensor * model_norm(struct model * m, struct ggml_tensor * x, int layer,
                                              const char * name) {
    return ggml_mul(m->ctx, ggml_rms_norm(m->ctx, x, 1e-5f),
                    model_weight(m, layer, name, model_width(&m->p), 1));
}

// Columns first .. first + n - 1 of every row.
static inline struct ggml_tensor * model_part(struct model * m, struct ggml_tensor * t, int64_t first,
                                              int64_t heads) {
    const int64_t head = m->p.head;
    return ggml_view_3d(m->ctx, t, head, heads, m->p.tokens, (size_t) head * sizeof(float), t->nb[1],
                        (size_t) (first * head) * sizeof(float));
}

static inline void model_project(struct model * m, struct ggml_tensor * x, int layer, struct ggml_tensor ** q,
                                 struct ggml_tensor ** k, struct ggml_tensor ** v) {
    const struct model_shape * p = &m->p;
    const int64_t width = model_width(p), kv = p->head * p->kv_heads;
    if (p->fused) {
        struct ggml_tensor * all =
            ggml_mul_mat(m->ctx, model_weight(m, layer, "wqkv", width, width + 2 * kv), x);
        *q = model_part(m, all, 0, p->heads);
        *k = model_part(m, all, p->heads, p->kv_heads);
        *v = model_part(m, all, p->heads + p->kv_heads, p->kv_heads);
        return;
    }
    *q = ggml_add(m->ctx, ggml_mul_mat(m->ctx, model_weight(m, layer, "wq", width, width), x),
                  model_weight(m, layer, "bq", width, 1));
    *q = ggml_reshape_3d(m->ctx, *q, p->head, p->heads, p->tokens);
    *k = ggml_mul_mat(m->ctx, model_weight(m, layer, "wk", width, kv), x);
    *k = ggml_reshape_3d(m->ctx, *k, p->head, p->kv_heads, p->tokens);
    *v = ggml_mul_mat(m->ctx, model_weight(m, layer, "wv", width, kv), x);
    *v = ggml_reshape_3d(m->ctx, *v, p->head, p->kv_heads, p->tokens);
}

// Rows of this graph into the cache; the whole cache by heads.
static inline struct ggml_tensor * model_store(struct model * m, struct ggml_tensor * cache,
                                               struct ggml_tensor * rows) {
    const int64_t head = m->p.head, kv = m->p.kv_heads;
    rows = ggml_cont_2d(m->ctx, rows, head * kv, m->p.tokens);
    struct ggml_tensor * stored = ggml_set_rows(m->ctx, cache, rows, m->rows);
    struct ggml_tensor * all = ggml_view_3d(m->ctx, stored, head, kv, MODEL_CACHE,
                                            ggml_row_size(cache->type, head), cache->nb[1], 0);
    return ggml_permute(m->ctx, all, 0, 2, 1, 3);
}

static inline struct ggml_tensor * model_attend(struct model * m, struct ggml_tensor * q,
                                                struct ggml_tensor * k, struct ggml_tensor * v) {
    const float scale = 1.0f / sqrtf((float) m->p.head);
    q = ggml_permute(m->ctx, q, 0, 2, 1, 3);
    if (m->p.flash) {
        struct ggml_tensor * o = ggml_flash_attn_ext(m->ctx, q, k, v, m->mask, scale, 0, 0);
        return ggml_reshape_2d(m->ctx, o, model_width(&m->p), m->p.tokens);
    }
    struct ggml_tensor * kq = ggml_soft_max_ext(m->ctx, ggml_mul_mat(m->ctx, k, q), m->mask, scale, 0);
    struct ggml_tensor * vt = ggml_cont(m->ctx, ggml_transpose(m->ctx, v));
    struct ggml_tensor * o = ggml_permute(m->ctx, ggml_mul_mat(m->ctx, vt, kq), 0, 2, 1, 3);
    return ggml_cont_2d(m->ctx, o, model_width(&m->p), m->p.tokens);
}

static inline struct ggml_tensor * model_layer(struct model * m, struct ggml_tensor * x, int layer) {
    const int64_t width = model_width(&m->p);
    struct ggml_tensor *q, *k, *v;
    model_project(m, model_norm(m, x, layer, "attn_norm"), layer, &q, &k, &v);
    q = ggml_rope(m->ctx, q, m->pos, (int) m->p.head, 0);
    k = ggml_rope(m->ctx, k, m->pos, (int) m->p.head, 0);
    if (layer == 0) ggml_set_output(m->query = ggml_cont(m->ctx, q));
    k = model_store(m, model_cache(m, layer, "cache_k"), k);
    v = model_store(m, model_cache(m, layer, "cache_v"), v);
    struct ggml_tensor * o =
        ggml_mul_mat(m->ctx, model_weight(m, layer, "wo", width, width), model_attend(m, q, k, v));
    x = ggml_add(m->ctx, ggml_scale(m->ctx, o, 0.5f), x);
    struct ggml_tensor * n = model_norm(m, x, layer, "ffn_norm");
    struct ggml_tensor * up = ggml_mul_mat(m->ctx, model_weight(m, layer, "up", width, m->p.ff), n);
    struct ggml_tensor * gate = ggml_mul_mat(m->ctx, model_weight(m, layer, "gate", width, m->p.ff), n);
    struct ggml_tensor * down = ggml_mul_mat(m->ctx, model_weight(m, layer, "down", m->p.ff, width),
                                             ggml_swiglu_split(m->ctx, gate, up));
    return ggml_add(m->ctx, x, down);
}

// Weights get memory of the buffer type.
static inline struct model model_build(struct model_shape shape, ggml_backend_buffer_type_t buft) {
    struct model m = { .p = shape, .weights = meta_context(), .ctx = meta_context() };
    m.graph = ggml_new_graph(m.ctx);
    m.x = ggml_new_tensor_2d(m.ctx, GGML_TYPE_F32, model_width(&shape), shape.tokens);
    m.pos = ggml_new_tensor_1d(m.ctx, GGML_TYPE_I32, shape.tokens);
    m.rows = ggml_new_tensor_1d(m.ctx, GGML_TYPE_I64, shape.tokens);
    m.mask =
        ggml_new_tensor_2d(m.ctx, shape.flash ? GGML_TYPE_F16 : GGML_TYPE_F32, MODEL_CACHE, shape.tokens);
    ggml_set_input(m.x), ggml_set_input(m.pos), ggml_set_input(m.rows), ggml_set_input(m.mask);
    struct ggml_tensor * x = m.x;
    for (int layer = 0; layer < MODEL_LAYERS; layer++)
        x = model_layer(&m, x, layer);
    x = model_norm(&m, x, 0, "output_norm");
    m.out = ggml_mul_mat(m.ctx, model_weight(&m, 0, "output", model_width(&shape), MODEL_VOCAB), x);
    ggml_set_output(ggml_set_name(m.out, "result"));
    ggml_build_forward_expand(m.graph, m.query);
    ggml_build_forward_expand(m.graph, m.out);
    m.buffer = ggml_backend_alloc_ctx_tensors_from_buft(m.weights, buft);
    return m;
}

static inline void model_free(struct model * m) {
    ggml_backend_buffer_free(m->buffer);
    ggml_free(m->weights);
    ggml_free(m->ctx);
}

// The same numbers for tensors of one name, whatever device they are on.
static inline void model_fill_one(struct ggml_tensor * t) {
    uint64_t seed = 7;
    for (const char * c = t->name; *c; c++)
        seed = seed * 131 + (uint64_t) *c;
    struct test_rng rng = { seed };
    const int64_t n = ggml_nelements(t);
    float * values = malloc((size_t) n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        values[i] = test_rng_float(&rng, -0.5f, 0.5f);
    void * bytes = malloc(ggml_nbytes(t));
    if (t->type == GGML_TYPE_F32) memcpy(bytes, values, ggml_nbytes(t));
    if (t->type != GGML_TYPE_F32)
        ggml_quantize_chunk(t->type, values, bytes, 0, n / t->ne[0], t->ne[0], NULL);
    ggml_backend_tensor_set(t, bytes, 0, ggml_nbytes(t));
    free(values);
    free(bytes);
}

static inline void model_fill(struct model * m) {
    ggml_backend_buffer_set_usage(m->buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    for (struct ggml_tensor * t = ggml_get_first_tensor(m->weights); t;
         t = ggml_get_next_tensor(m->weights, t))
        model_fill_one(t);
}

static inline void model_set_inputs(struct model * m) {
    const int64_t n = m->p.tokens;
    ggml_set_name(m->x, "x");
    model_fill_one(m->x);
    for (int64_t i = 0; i < n; i++) {
        const int32_t pos = (int32_t) (3 + i);
        const int64_t row = 2 + i;
        ggml_backend_tensor_set(m->pos, &pos, (size_t) i * sizeof(pos), sizeof(pos));
        ggml_backend_tensor_set(m->rows, &row, (size_t) i * sizeof(row), sizeof(row));
        for (int64_t k = 0; k < MODEL_CACHE; k++) {
            const float f = k <= 2 + i ? 0.0f : -INFINITY;
            const ggml_fp16_t h = ggml_fp32_to_fp16(f);
            const size_t size = ggml_type_size(m->mask->type);
            ggml_backend_tensor_set(m->mask, m->p.flash ? (const void *) &h : &f,
                                    (size_t) (i * MODEL_CACHE + k) * size, size);
        }
    }
}

// ggml_nelements(t) floats; the caller frees them.
static inline float * model_read(const struct ggml_tensor * t) {
    float * values = malloc(ggml_nbytes(t));
    memset(values, 0xff, ggml_nbytes(t));
    ggml_backend_tensor_get(t, values, 0, ggml_nbytes(t));
    return values;
}

#endif
