// SPDX-License-Identifier: MIT
// Graphs in the shape of known models, at their usual sizes, without any memory: weights and caches claim to
// have some, everything else is the allocator's. Built by the library whose turn it is.
#ifndef TN_BENCH_MODELS_H
#define TN_BENCH_MODELS_H

#include <math.h>
#include <stdbool.h>

#include "beside.h"
#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml.h"

#define MODEL_CALLS(X)                                                                                       \
    X(ggml_version)                                                                                          \
    X(ggml_init)                                                                                             \
    X(ggml_free)                                                                                             \
    X(ggml_tensor_overhead)                                                                                  \
    X(ggml_graph_overhead_custom)                                                                            \
    X(ggml_new_graph_custom)                                                                                 \
    X(ggml_build_forward_expand)                                                                             \
    X(ggml_graph_n_nodes)                                                                                    \
    X(ggml_graph_node)                                                                                       \
    X(ggml_new_tensor_4d)                                                                                    \
    X(ggml_set_input)                                                                                        \
    X(ggml_set_output)                                                                                       \
    X(ggml_add)                                                                                              \
    X(ggml_mul)                                                                                              \
    X(ggml_mul_mat)                                                                                          \
    X(ggml_get_rows)                                                                                         \
    X(ggml_norm)                                                                                             \
    X(ggml_rms_norm)                                                                                         \
    X(ggml_group_norm)                                                                                       \
    X(ggml_silu)                                                                                             \
    X(ggml_gelu)                                                                                             \
    X(ggml_soft_max_ext)                                                                                     \
    X(ggml_flash_attn_ext)                                                                                   \
    X(ggml_rope_ext)                                                                                         \
    X(ggml_conv_1d_ph)                                                                                       \
    X(ggml_conv_2d)                                                                                          \
    X(ggml_upscale)                                                                                          \
    X(ggml_concat)                                                                                           \
    X(ggml_cpy)                                                                                              \
    X(ggml_cont)                                                                                             \
    X(ggml_permute)                                                                                          \
    X(ggml_transpose)                                                                                        \
    X(ggml_reshape_2d)                                                                                       \
    X(ggml_reshape_3d)                                                                                       \
    X(ggml_reshape_4d)                                                                                       \
    X(ggml_view_1d)                                                                                          \
    X(ggml_view_3d)                                                                                          \
    X(ggml_element_size)                                                                                     \
    X(ggml_backend_buffer_init)                                                                              \
    X(ggml_gallocr_new)                                                                                      \
    X(ggml_gallocr_free)                                                                                     \
    X(ggml_gallocr_alloc_graph)                                                                              \
    X(ggml_gallocr_get_buffer_size)

#define MODEL_MEMBER(call) __typeof__(&call) call;
struct model_calls {
    MODEL_CALLS(MODEL_MEMBER)
};

#define MODEL_OURS(call) .call = call,
static const struct model_calls model_ours = { MODEL_CALLS(MODEL_OURS) };
static struct model_calls model_other;
static const struct model_calls * lib = &model_ours;

static inline void model_open_other(const char * prefix) {
    void * handle = bench_open_beside(prefix);
#define MODEL_FOUND(call) *(void **) &model_other.call = bench_symbol_beside(handle, #call);
    MODEL_CALLS(MODEL_FOUND)
}

struct model {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
};

enum { MODEL_TENSORS = 8192 };

static inline struct model model_begin(void) {
    const size_t size =
        MODEL_TENSORS * lib->ggml_tensor_overhead() + lib->ggml_graph_overhead_custom(MODEL_TENSORS, false);
    struct model m = { .ctx =
                           lib->ggml_init((struct ggml_init_params){ .mem_size = size, .no_alloc = true }) };
    if (!m.ctx) exit(2);
    m.graph = lib->ggml_new_graph_custom(m.ctx, MODEL_TENSORS, false);
    return m;
}

static inline void model_end(struct model * m, struct ggml_tensor * result) {
    lib->ggml_set_output(result);
    lib->ggml_build_forward_expand(m->graph, result);
}

static inline struct ggml_tensor * model_input(struct model * m, enum ggml_type type, int64_t n0, int64_t n1,
                                               int64_t n2) {
    struct ggml_tensor * t = lib->ggml_new_tensor_4d(m->ctx, type, n0, n1, n2, 1);
    lib->ggml_set_input(t);
    return t;
}

static inline struct ggml_tensor * model_weight_4d(struct model * m, enum ggml_type type,
                                                   const int64_t ne[4]) {
    struct ggml_tensor * t = lib->ggml_new_tensor_4d(m->ctx, type, ne[0], ne[1], ne[2], ne[3]);
    t->data = (void *) 4096; // nobody looks
    return t;
}

static inline struct ggml_tensor * model_weight(struct model * m, int64_t n0, int64_t n1) {
    return model_weight_4d(m, GGML_TYPE_F16, (const int64_t[4]){ n0, n1, 1, 1 });
}

static inline struct ggml_tensor * model_vector(struct model * m, int64_t n) {
    return model_weight_4d(m, GGML_TYPE_F32, (const int64_t[4]){ n, 1, 1, 1 });
}

static inline struct ggml_tensor * model_linear(struct model * m, struct ggml_tensor * x, int64_t n_out) {
    return lib->ggml_mul_mat(m->ctx, model_weight(m, x->ne[0], n_out), x);
}

static inline struct ggml_tensor * model_biased(struct model * m, struct ggml_tensor * x, int64_t n_out) {
    return lib->ggml_add(m->ctx, model_linear(m, x, n_out), model_vector(m, n_out));
}

static inline struct ggml_tensor * model_layer_norm(struct model * m, struct ggml_tensor * x) {
    x = lib->ggml_mul(m->ctx, lib->ggml_norm(m->ctx, x, 1e-5f), model_vector(m, x->ne[0]));
    return lib->ggml_add(m->ctx, x, model_vector(m, x->ne[0]));
}

// q [d, n_q, heads], k [d, n_k, heads], v [n_k, d, heads] -> [d * heads, n_q]
static inline struct ggml_tensor * model_mix(struct model * m, struct ggml_tensor * q, struct ggml_tensor * k,
                                             struct ggml_tensor * v, struct ggml_tensor * mask) {
    struct ggml_context * ctx = m->ctx;
    const int64_t d = q->ne[0], n_q = q->ne[1], heads = q->ne[2];
    struct ggml_tensor * scores = lib->ggml_mul_mat(ctx, k, q);
    scores = lib->ggml_soft_max_ext(ctx, scores, mask, 1.0f / sqrtf((float) d), 0.0f);
    struct ggml_tensor * mixed = lib->ggml_permute(ctx, lib->ggml_mul_mat(ctx, v, scores), 0, 2, 1, 3);
    return lib->ggml_reshape_2d(ctx, lib->ggml_cont(ctx, mixed), d * heads, n_q);
}

// x [n, tokens] -> [n / heads, tokens, heads]
static inline struct ggml_tensor * model_heads(struct model * m, struct ggml_tensor * x, int64_t heads) {
    x = lib->ggml_reshape_3d(m->ctx, x, x->ne[0] / heads, heads, x->ne[1]);
    return lib->ggml_permute(m->ctx, x, 0, 2, 1, 3);
}

// Attention from x to c, without a cache.
static inline struct ggml_tensor * model_attend(struct model * m, struct ggml_tensor * x,
                                                struct ggml_tensor * c, int64_t heads,
                                                struct ggml_tensor * mask) {
    const int64_t dim = x->ne[0];
    struct ggml_tensor * q = model_heads(m, model_biased(m, x, dim), heads);
    struct ggml_tensor * k = model_heads(m, model_linear(m, c, dim), heads);
    struct ggml_tensor * v = lib->ggml_transpose(m->ctx, model_heads(m, model_biased(m, c, dim), heads));
    return model_biased(m, model_mix(m, q, k, lib->ggml_cont(m->ctx, v), mask), dim);
}

// ---- a language model ------------------------------------------------------------------------------------

enum { LLAMA_DIM = 2048, LLAMA_HEADS = 32, LLAMA_KV_HEADS = 8, LLAMA_HIDDEN = 5632, LLAMA_LAYERS = 22 };
enum { LLAMA_HEAD = LLAMA_DIM / LLAMA_HEADS, LLAMA_KV = LLAMA_HEAD * LLAMA_KV_HEADS, LLAMA_VOCAB = 32000 };
enum { LLAMA_CACHE = 2048 };

struct llama {
    struct model m;
    struct ggml_tensor *positions, *mask;
    int64_t n_tokens, n_past;
    bool flash;
};

static inline struct ggml_tensor * llama_norm(struct llama * l, struct ggml_tensor * x) {
    return lib->ggml_mul(l->m.ctx, lib->ggml_rms_norm(l->m.ctx, x, 1e-5f), model_vector(&l->m, LLAMA_DIM));
}

static inline struct ggml_tensor * llama_turn(struct llama * l, struct ggml_tensor * x, int64_t heads) {
    x = lib->ggml_reshape_3d(l->m.ctx, x, LLAMA_HEAD, heads, l->n_tokens);
    return lib->ggml_rope_ext(l->m.ctx, x, l->positions, NULL, LLAMA_HEAD, 0, LLAMA_CACHE, 1e4f, 1.0f, 0.0f,
                              1.0f, 32.0f, 1.0f);
}

// Writes the tokens' part into a cache and returns what there is of it, [head, n_kv, kv heads].
static inline struct ggml_tensor * llama_store(struct llama * l, struct ggml_tensor * x) {
    struct ggml_context * ctx = l->m.ctx;
    struct ggml_tensor * cache = model_weight_4d(
        &l->m, GGML_TYPE_F16, (const int64_t[4]){ LLAMA_KV * (int64_t) LLAMA_CACHE, 1, 1, 1 });
    const size_t size = lib->ggml_element_size(cache), row = LLAMA_KV * size;
    struct ggml_tensor * place =
        lib->ggml_view_1d(ctx, cache, l->n_tokens * LLAMA_KV, (size_t) l->n_past * row);
    lib->ggml_build_forward_expand(l->m.graph, lib->ggml_cpy(ctx, x, place));
    return lib->ggml_view_3d(ctx, cache, LLAMA_HEAD, l->n_past + l->n_tokens, LLAMA_KV_HEADS, row,
                             LLAMA_HEAD * size, 0);
}

static inline struct ggml_tensor * llama_attention(struct llama * l, struct ggml_tensor * x) {
    struct ggml_context * ctx = l->m.ctx;
    struct ggml_tensor * q = llama_turn(l, model_linear(&l->m, x, LLAMA_DIM), LLAMA_HEADS);
    struct ggml_tensor * k = llama_store(l, llama_turn(l, model_linear(&l->m, x, LLAMA_KV), LLAMA_KV_HEADS));
    struct ggml_tensor * v = llama_store(l, model_linear(&l->m, x, LLAMA_KV));
    q = lib->ggml_permute(ctx, q, 0, 2, 1, 3);
    if (!l->flash) {
        v = lib->ggml_cont(ctx, lib->ggml_transpose(ctx, v));
        return model_linear(&l->m, model_mix(&l->m, q, k, v, l->mask), LLAMA_DIM);
    }
    x = lib->ggml_flash_attn_ext(ctx, q, k, v, l->mask, 0.125f, 0.0f, 0.0f);
    return model_linear(&l->m, lib->ggml_reshape_2d(ctx, x, LLAMA_DIM, l->n_tokens), LLAMA_DIM);
}

static inline struct ggml_tensor * llama_layer(struct llama * l, struct ggml_tensor * x) {
    struct ggml_context * ctx = l->m.ctx;
    x = lib->ggml_add(ctx, llama_attention(l, llama_norm(l, x)), x);
    struct ggml_tensor * u = llama_norm(l, x);
    struct ggml_tensor * gate = lib->ggml_silu(ctx, model_linear(&l->m, u, LLAMA_HIDDEN));
    u = lib->ggml_mul(ctx, gate, model_linear(&l->m, u, LLAMA_HIDDEN));
    return lib->ggml_add(ctx, model_linear(&l->m, u, LLAMA_DIM), x);
}

static inline struct model llama_graph(int64_t n_tokens, int64_t n_past, bool flash) {
    struct llama l = { .m = model_begin(), .n_tokens = n_tokens, .n_past = n_past, .flash = flash };
    const enum ggml_type mask_type = flash ? GGML_TYPE_F16 : GGML_TYPE_F32;
    struct ggml_tensor * tokens = model_input(&l.m, GGML_TYPE_I32, n_tokens, 1, 1);
    l.positions = model_input(&l.m, GGML_TYPE_I32, n_tokens, 1, 1);
    l.mask = model_input(&l.m, mask_type, n_past + n_tokens, n_tokens, 1);
    struct ggml_tensor * x = lib->ggml_get_rows(l.m.ctx, model_weight(&l.m, LLAMA_DIM, LLAMA_VOCAB), tokens);
    for (int i = 0; i < LLAMA_LAYERS; i++)
        x = llama_layer(&l, x);
    x = lib->ggml_get_rows(l.m.ctx, llama_norm(&l, x), model_input(&l.m, GGML_TYPE_I32, 1, 1, 1));
    model_end(&l.m, model_linear(&l.m, x, LLAMA_VOCAB));
    return l.m;
}

static inline struct model llama_prompt(void) {
    return llama_graph(512, 0, false);
}
static inline struct model llama_prompt_flash(void) {
    return llama_graph(512, 512, true);
}
static inline struct model llama_token(void) {
    return llama_graph(1, 1000, false);
}

// ---- a denoiser of images --------------------------------------------------------------------------------

enum { UNET_CHANNELS = 320, UNET_SIDE = 64, UNET_LEVELS = 3, UNET_BLOCKS = 2, UNET_HEADS = 8 };

struct unet {
    struct model m;
    struct ggml_tensor *time, *text;
    struct ggml_tensor * skips[16]; // from the way down, for the way up
    int n_skips;
};

static inline struct ggml_tensor * unet_norm(struct unet * u, struct ggml_tensor * x) {
    const int64_t ne[4] = { 1, 1, x->ne[2], 1 };
    x = lib->ggml_group_norm(u->m.ctx, x, 32, 1e-6f);
    x = lib->ggml_mul(u->m.ctx, x, model_weight_4d(&u->m, GGML_TYPE_F32, ne));
    return lib->ggml_add(u->m.ctx, x, model_weight_4d(&u->m, GGML_TYPE_F32, ne));
}

static inline struct ggml_tensor * unet_conv(struct unet * u, struct ggml_tensor * x, int64_t n_out, int side,
                                             int step) {
    const int64_t ne[4] = { side, side, x->ne[2], n_out }, bias[4] = { 1, 1, n_out, 1 };
    struct ggml_tensor * kernel = model_weight_4d(&u->m, GGML_TYPE_F16, ne);
    x = lib->ggml_conv_2d(u->m.ctx, kernel, x, step, step, side / 2, side / 2, 1, 1);
    return lib->ggml_add(u->m.ctx, x, model_weight_4d(&u->m, GGML_TYPE_F32, bias));
}

static inline struct ggml_tensor * unet_block(struct unet * u, struct ggml_tensor * x, int64_t n_out) {
    struct ggml_context * ctx = u->m.ctx;
    struct ggml_tensor * h = unet_conv(u, lib->ggml_silu(ctx, unet_norm(u, x)), n_out, 3, 1);
    struct ggml_tensor * time = model_biased(&u->m, lib->ggml_silu(ctx, u->time), n_out);
    h = lib->ggml_add(ctx, h, lib->ggml_reshape_4d(ctx, time, 1, 1, n_out, 1));
    h = unet_conv(u, lib->ggml_silu(ctx, unet_norm(u, h)), n_out, 3, 1);
    if (x->ne[2] != n_out) x = unet_conv(u, x, n_out, 1, 1);
    return lib->ggml_add(ctx, x, h);
}

static inline struct ggml_tensor * unet_transformer(struct unet * u, struct ggml_tensor * image) {
    struct ggml_context * ctx = u->m.ctx;
    const int64_t w = image->ne[0], h = image->ne[1], n = image->ne[2];
    struct ggml_tensor * x = unet_conv(u, unet_norm(u, image), n, 1, 1);
    x = lib->ggml_cont(ctx, lib->ggml_transpose(ctx, lib->ggml_reshape_2d(ctx, x, w * h, n)));
    struct ggml_tensor * y = model_layer_norm(&u->m, x);
    x = lib->ggml_add(ctx, model_attend(&u->m, y, y, UNET_HEADS, NULL), x);
    y = model_layer_norm(&u->m, x);
    x = lib->ggml_add(ctx, model_attend(&u->m, y, u->text, UNET_HEADS, NULL), x);
    y = model_layer_norm(&u->m, x);
    y = lib->ggml_mul(ctx, model_biased(&u->m, y, 4 * n), lib->ggml_gelu(ctx, model_biased(&u->m, y, 4 * n)));
    x = lib->ggml_add(ctx, model_biased(&u->m, y, n), x);
    x = lib->ggml_cont(ctx, lib->ggml_transpose(ctx, x));
    return lib->ggml_add(ctx, unet_conv(u, lib->ggml_reshape_4d(ctx, x, w, h, n, 1), n, 1, 1), image);
}

static inline struct ggml_tensor * unet_down(struct unet * u, struct ggml_tensor * x, int level) {
    for (int i = 0; i < UNET_BLOCKS; i++) {
        x = unet_block(u, x, UNET_CHANNELS << level);
        if (level > 0) x = unet_transformer(u, x);
        u->skips[u->n_skips++] = x;
    }
    if (level == UNET_LEVELS - 1) return x;
    return u->skips[u->n_skips++] = unet_conv(u, x, UNET_CHANNELS << level, 3, 2);
}

static inline struct ggml_tensor * unet_up(struct unet * u, struct ggml_tensor * x, int level) {
    for (int i = 0; i <= UNET_BLOCKS; i++) {
        x = unet_block(u, lib->ggml_concat(u->m.ctx, x, u->skips[--u->n_skips], 2), UNET_CHANNELS << level);
        if (level > 0) x = unet_transformer(u, x);
    }
    if (level == 0) return x;
    return unet_conv(u, lib->ggml_upscale(u->m.ctx, x, 2, GGML_SCALE_MODE_NEAREST), x->ne[2], 3, 1);
}

static inline struct model unet_graph(void) {
    struct unet u = { .m = model_begin() };
    struct ggml_tensor * x = model_input(&u.m, GGML_TYPE_F32, UNET_SIDE, UNET_SIDE, 4);
    u.text = model_input(&u.m, GGML_TYPE_F32, UNET_CHANNELS, 77, 1);
    u.time = model_biased(&u.m, model_input(&u.m, GGML_TYPE_F32, UNET_CHANNELS, 1, 1), 4 * UNET_CHANNELS);
    x = u.skips[u.n_skips++] = unet_conv(&u, x, UNET_CHANNELS, 3, 1);
    for (int level = 0; level < UNET_LEVELS; level++)
        x = unet_down(&u, x, level);
    x = unet_block(&u, unet_transformer(&u, unet_block(&u, x, x->ne[2])), x->ne[2]);
    for (int level = UNET_LEVELS; level-- > 0;)
        x = unet_up(&u, x, level);
    model_end(&u.m, unet_conv(&u, lib->ggml_silu(u.m.ctx, unet_norm(&u, x)), 4, 3, 1));
    return u.m;
}

// ---- a listener ------------------------------------------------------------------------------------------

enum { WHISPER_DIM = 512, WHISPER_HEADS = 8, WHISPER_LAYERS = 6, WHISPER_FRAMES = 3000, WHISPER_MELS = 80 };
enum { WHISPER_TOKENS = 64, WHISPER_VOCAB = 51864 };

static inline struct ggml_tensor * whisper_conv(struct model * m, struct ggml_tensor * x, int step) {
    const int64_t ne[4] = { 3, x->ne[1], WHISPER_DIM, 1 }, bias[4] = { 1, WHISPER_DIM, 1, 1 };
    x = lib->ggml_conv_1d_ph(m->ctx, model_weight_4d(m, GGML_TYPE_F16, ne), x, step, 1);
    x = lib->ggml_add(m->ctx, x, model_weight_4d(m, GGML_TYPE_F32, bias));
    return lib->ggml_gelu(m->ctx, x);
}

static inline struct ggml_tensor * whisper_think(struct model * m, struct ggml_tensor * x) {
    struct ggml_tensor * y = model_biased(m, model_layer_norm(m, x), 4 * WHISPER_DIM);
    return lib->ggml_add(m->ctx, model_biased(m, lib->ggml_gelu(m->ctx, y), WHISPER_DIM), x);
}

static inline struct ggml_tensor * whisper_attend(struct model * m, struct ggml_tensor * x,
                                                  struct ggml_tensor * to, struct ggml_tensor * mask) {
    struct ggml_tensor * y = model_layer_norm(m, x);
    return lib->ggml_add(m->ctx, model_attend(m, y, to ? to : y, WHISPER_HEADS, mask), x);
}

// Sound to features to text, in one graph.
static inline struct model whisper_graph(void) {
    struct model m = model_begin();
    struct ggml_tensor * x = model_input(&m, GGML_TYPE_F32, WHISPER_FRAMES, WHISPER_MELS, 1);
    x = whisper_conv(&m, whisper_conv(&m, x, 1), 2);
    x = lib->ggml_cont(m.ctx, lib->ggml_transpose(m.ctx, x));
    x = lib->ggml_add(m.ctx, x, model_weight(&m, WHISPER_DIM, x->ne[1]));
    for (int i = 0; i < WHISPER_LAYERS; i++)
        x = whisper_think(&m, whisper_attend(&m, x, NULL, NULL));
    struct ggml_tensor * sound = model_layer_norm(&m, x);
    struct ggml_tensor * mask = model_input(&m, GGML_TYPE_F32, WHISPER_TOKENS, WHISPER_TOKENS, 1);
    struct ggml_tensor * tokens = model_input(&m, GGML_TYPE_I32, WHISPER_TOKENS, 1, 1);
    x = lib->ggml_get_rows(m.ctx, model_weight(&m, WHISPER_DIM, WHISPER_VOCAB), tokens);
    for (int i = 0; i < WHISPER_LAYERS; i++) {
        x = whisper_attend(&m, x, NULL, mask);
        x = whisper_think(&m, whisper_attend(&m, x, sound, NULL));
    }
    model_end(&m, model_linear(&m, model_layer_norm(&m, x), WHISPER_VOCAB));
    return m;
}

#endif
