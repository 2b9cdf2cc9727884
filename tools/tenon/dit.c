// SPDX-License-Identifier: MIT
// The emoji diffusion transformer as graphs. Shapes are [fastest, ..., slowest]; T tokens, B = 2 velocities
// at once: one with the prompt's condition, one with that of the empty prompt.
#include "dit.h"

#include <stdlib.h>
#include <string.h>

#include "dit_load.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "tenon.h"

enum { BATCH = 2, PROMPT_GRAPH = 64 };

static struct ggml_tensor * linear(struct ggml_context * ctx, const struct dit_linear * l,
                                   struct ggml_tensor * x) {
    struct ggml_tensor * y = ggml_mul_mat(ctx, l->weight, x);
    return l->bias ? ggml_add(ctx, y, l->bias) : y;
}

static struct ggml_tensor * rms_norm(struct ggml_context * ctx, const struct dit * m, struct ggml_tensor * x,
                                     struct ggml_tensor * weight) {
    return ggml_mul(ctx, ggml_rms_norm(ctx, x, m->eps), weight);
}

// Vector j of modulation [dim, 6 or 2, B] as [dim, 1, B], to be repeated over the tokens.
static struct ggml_tensor * pick(struct ggml_context * ctx, struct ggml_tensor * mod, int j) {
    return ggml_view_3d(ctx, mod, mod->ne[0], 1, mod->ne[2], mod->nb[1], mod->nb[2], (size_t) j * mod->nb[1]);
}

// u + u * scale + shift
static struct ggml_tensor * modulate(struct ggml_context * ctx, struct ggml_tensor * u,
                                     struct ggml_tensor * shift, struct ggml_tensor * scale) {
    return ggml_add(ctx, ggml_add(ctx, u, ggml_mul(ctx, u, scale)), shift);
}

// Two-dimensional rotary embedding of [64, heads, T, B]: the first half of a head turns by the token's row,
// the second by its column. Pairs are neighbours (mode 0).
static struct ggml_tensor * rope_2d(struct ggml_context * ctx, const struct dit * m, struct ggml_tensor * x) {
    const int half = (int) x->ne[0] / 2;
    x = ggml_rope_ext(ctx, x, m->in_rows, NULL, half, GGML_ROPE_TYPE_NORMAL, 0, m->rope_theta, 1, 0, 1, 0, 0);
    x = ggml_rope_ext(ctx, x, m->in_columns, NULL, half, GGML_ROPE_TYPE_NORMAL, 0, m->rope_theta, 1, 0, 1, 0,
                      0);
    ggml_rope_set_offset(x, half);
    return x;
}

// [dim, T, B] -> [dim / heads, heads, T, B]
static struct ggml_tensor * split_heads(struct ggml_context * ctx, const struct dit * m,
                                        struct ggml_tensor * x) {
    return ggml_reshape_4d(ctx, x, m->dim / m->heads, m->heads, x->ne[1], x->ne[2]);
}

static struct ggml_tensor * attention(struct ggml_context * ctx, const struct dit * m,
                                      const struct dit_block * b, struct ggml_tensor * u) {
    struct ggml_tensor * q = split_heads(ctx, m, linear(ctx, &b->q, u));
    struct ggml_tensor * k = split_heads(ctx, m, linear(ctx, &b->k, u));
    struct ggml_tensor * v = split_heads(ctx, m, linear(ctx, &b->v, u));
    q = rope_2d(ctx, m, rms_norm(ctx, m, q, b->q_norm));
    k = rope_2d(ctx, m, rms_norm(ctx, m, k, b->k_norm));
    q = ggml_permute(ctx, q, 0, 2, 1, 3); // [64, T, heads, B]
    k = ggml_permute(ctx, k, 0, 2, 1, 3);
    v = ggml_cont(ctx, ggml_permute(ctx, v, 1, 2, 0, 3));   // [T, 64, heads, B]
    struct ggml_tensor * weights = ggml_mul_mat(ctx, k, q); // [T, T, heads, B]
    weights = ggml_soft_max_ext(ctx, weights, NULL, 0.125f, 0.0f);
    struct ggml_tensor * a = ggml_mul_mat(ctx, v, weights); // [64, T, heads, B]
    a = ggml_cont(ctx, ggml_permute(ctx, a, 0, 2, 1, 3));
    return linear(ctx, &b->o, ggml_reshape_3d(ctx, a, m->dim, a->ne[2], a->ne[3]));
}

static struct ggml_tensor * feed_forward(struct ggml_context * ctx, const struct dit_block * b,
                                         struct ggml_tensor * u) {
    return linear(ctx, &b->down, ggml_swiglu_split(ctx, linear(ctx, &b->gate, u), linear(ctx, &b->up, u)));
}

// mod: [dim, 6, B]
static struct ggml_tensor * block(struct ggml_context * ctx, const struct dit * m, const struct dit_block * b,
                                  struct ggml_tensor * h, struct ggml_tensor * mod) {
    mod = ggml_add(ctx, mod, b->table);
    struct ggml_tensor * u =
        modulate(ctx, rms_norm(ctx, m, h, b->norm1), pick(ctx, mod, 0), pick(ctx, mod, 1));
    h = ggml_add(ctx, h, ggml_mul(ctx, attention(ctx, m, b, u), pick(ctx, mod, 2)));
    u = modulate(ctx, rms_norm(ctx, m, h, b->norm2), pick(ctx, mod, 3), pick(ctx, mod, 4));
    return ggml_add(ctx, h, ggml_mul(ctx, feed_forward(ctx, b, u), pick(ctx, mod, 5)));
}

// tokens [48, T, B], time [1], condition [dim, B] -> velocity [48, T, B]
static struct ggml_tensor * velocity(struct ggml_context * ctx, const struct dit * m) {
    struct ggml_tensor * time = ggml_timestep_embedding(ctx, m->in_time, m->dim, 10000);
    time = linear(ctx, &m->time2, ggml_silu(ctx, linear(ctx, &m->time1, time)));
    struct ggml_tensor * c = ggml_silu(ctx, ggml_add(ctx, m->in_condition, time));
    struct ggml_tensor * mod = ggml_reshape_3d(ctx, linear(ctx, &m->mod, c), m->dim, 6, BATCH);
    struct ggml_tensor * h = linear(ctx, &m->patch_in, m->in_tokens);
    for (int i = 0; i < m->depth; i++)
        h = block(ctx, m, &m->blocks[i], h, mod);
    mod = ggml_reshape_3d(ctx, linear(ctx, &m->final_mod, c), m->dim, 2, BATCH);
    h = modulate(ctx, rms_norm(ctx, m, h, m->final_norm), pick(ctx, mod, 0), pick(ctx, mod, 1));
    return linear(ctx, &m->patch_out, h);
}

static int tokens_per_side(const struct dit * m) {
    return m->image / m->patch;
}

static struct ggml_tensor * input(struct ggml_context * ctx, enum ggml_type type, int64_t ne0, int64_t ne1,
                                  int64_t ne2) {
    struct ggml_tensor * t = ggml_new_tensor_3d(ctx, type, ne0, ne1, ne2);
    ggml_set_input(t);
    return t;
}

// A graph is built once in a context without data; the allocator gives its tensors memory.
static struct ggml_context * graph_context(size_t n_tensors) {
    return ggml_init((struct ggml_init_params){
        .mem_size = ggml_tensor_overhead() * n_tensors + ggml_graph_overhead_custom(n_tensors, false),
        .no_alloc = true,
    });
}

static bool build_step(struct dit * m) {
    const size_t n_tensors = 128 * (size_t) (m->depth + 1);
    struct ggml_context * ctx = m->step_ctx = graph_context(n_tensors);
    if (!ctx) return false;
    const int side = tokens_per_side(m), n_tokens = side * side;
    m->in_tokens = input(ctx, GGML_TYPE_F32, 3 * m->patch * m->patch, n_tokens, BATCH);
    m->in_time = input(ctx, GGML_TYPE_F32, 1, 1, 1);
    m->in_condition = input(ctx, GGML_TYPE_F32, m->dim, BATCH, 1);
    m->in_rows = input(ctx, GGML_TYPE_I32, n_tokens, 1, 1);
    m->in_columns = input(ctx, GGML_TYPE_I32, n_tokens, 1, 1);
    m->out_velocity = velocity(ctx, m);
    ggml_set_output(m->out_velocity);
    m->step_graph = ggml_new_graph_custom(ctx, n_tensors, false);
    ggml_build_forward_expand(m->step_graph, m->out_velocity);
    return true;
}

static bool plan_step(struct dit * m) {
    m->condition = malloc(sizeof(float) * BATCH * (size_t) m->dim);
    m->step_memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(m->backend));
    return m->condition && m->step_memory && ggml_gallocr_alloc_graph(m->step_memory, m->step_graph);
}

static bool refuse_graph(const char * path) {
    complain("%s: the graph cannot be built: %s", path, ggml_ext_last_error());
    return false;
}

bool dit_load_unplanned(struct dit * m, const char * path, int n_threads) {
    *m = (struct dit){ .backend = ggml_backend_cpu_init() };
    if (!m->backend) {
        complain("no back end: %s", ggml_ext_last_error());
        return false;
    }
    ggml_backend_cpu_set_n_threads(m->backend, n_threads);
    if (!dit_load_weights(m, path)) return false;
    return build_step(m) || refuse_graph(path);
}

bool dit_load(struct dit * m, const char * path, int n_threads) {
    if (!dit_load_unplanned(m, path, n_threads)) return false;
    return plan_step(m) || refuse_graph(path);
}

void dit_free(struct dit * m) {
    ggml_gallocr_free(m->step_memory);
    ggml_free(m->step_ctx);
    ggml_backend_buffer_free(m->buffer);
    ggml_free(m->ctx);
    ggml_backend_free(m->backend);
    free(m->condition);
    *m = (struct dit){ 0 };
}

int dit_size(const struct dit * m) {
    return 3 * m->image * m->image;
}

static bool compute(struct dit * m, struct ggml_cgraph * graph) {
    const enum ggml_status status = ggml_backend_graph_compute(m->backend, graph);
    if (status == GGML_STATUS_SUCCESS) return true;
    complain("%s: %s", ggml_status_to_string(status), ggml_ext_last_error());
    return false;
}

// The prompt's mean of text vectors, or the vector that stands for no text.
static struct ggml_tensor * text_vector(struct ggml_context * ctx, const struct dit * m,
                                        struct ggml_tensor * ids, struct ggml_tensor * weights) {
    if (!ids) return m->null_text;
    struct ggml_tensor * rows = ggml_get_rows(ctx, m->text_emb, ids); // [dim, n]
    return ggml_mul_mat(ctx, ggml_cont(ctx, ggml_transpose(ctx, rows)), weights);
}

static bool run_condition(struct dit * m, struct ggml_context * ctx, ggml_gallocr_t memory,
                          const struct bag * bag) {
    struct ggml_tensor * ids = bag->n ? input(ctx, GGML_TYPE_I32, bag->n, 1, 1) : NULL;
    struct ggml_tensor * weights = bag->n ? input(ctx, GGML_TYPE_F32, bag->n, 1, 1) : NULL;
    struct ggml_tensor * e = ggml_concat(ctx, text_vector(ctx, m, ids, weights), m->null_text, 1); // [dim, B]
    struct ggml_tensor * c = linear(ctx, &m->text2, ggml_silu(ctx, linear(ctx, &m->text1, e)));
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, PROMPT_GRAPH, false);
    ggml_set_output(c);
    ggml_build_forward_expand(graph, c);
    if (!ggml_gallocr_alloc_graph(memory, graph)) {
        complain("the prompt's graph cannot be allocated: %s", ggml_ext_last_error());
        return false;
    }
    if (ids) ggml_backend_tensor_set(ids, bag->ids, 0, ggml_nbytes(ids));
    if (ids) ggml_backend_tensor_set(weights, bag->weights, 0, ggml_nbytes(weights));
    if (!compute(m, graph)) return false;
    ggml_backend_tensor_get(c, m->condition, 0, ggml_nbytes(c));
    return true;
}

bool dit_set_prompt(struct dit * m, const struct bag * bag) {
    struct ggml_context * ctx = graph_context(PROMPT_GRAPH);
    ggml_gallocr_t memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(m->backend));
    const bool ok = ctx && memory && run_condition(m, ctx, memory, bag);
    if (!ctx || !memory) complain("out of memory for the prompt's graph");
    ggml_gallocr_free(memory);
    ggml_free(ctx);
    return ok;
}

// Between a picture [3, image, image] and its tokens in row order, whose numbers go by row, column, channel.
static void reorder(const struct dit * m, float * tokens, float * picture, bool to_tokens) {
    const int side = tokens_per_side(m), p = m->patch, size = 3 * p * p;
    for (int i = 0; i < dit_size(m); i++) {
        const int token = i / size, row = i % size / (3 * p), column = i % size / 3 % p, channel = i % 3;
        const int y = token / side * p + row, x = token % side * p + column;
        float * pixel = &picture[(channel * m->image + y) * m->image + x];
        if (to_tokens) {
            tokens[i] = *pixel;
        } else {
            *pixel = tokens[i];
        }
    }
}

static void set_positions(const struct dit * m, int32_t * positions) {
    const int side = tokens_per_side(m), n = side * side;
    for (int i = 0; i < n; i++)
        positions[i] = i / side;
    ggml_backend_tensor_set(m->in_rows, positions, 0, ggml_nbytes(m->in_rows));
    for (int i = 0; i < n; i++)
        positions[i] = i % side;
    ggml_backend_tensor_set(m->in_columns, positions, 0, ggml_nbytes(m->in_columns));
}

bool dit_velocity(struct dit * m, const float * x, float t, float * with_prompt, float * without) {
    const size_t n = (size_t) dit_size(m), bytes = n * sizeof(float);
    const float time = 1000.0f * t;
    float * tokens = malloc(bytes);
    if (!tokens) return complain("out of memory"), false;
    // Inputs are set before every run: the allocator may have given their memory to later results.
    reorder(m, tokens, (float *) x, true);
    for (size_t b = 0; b < BATCH; b++)
        ggml_backend_tensor_set(m->in_tokens, tokens, b * bytes, bytes);
    ggml_backend_tensor_set(m->in_time, &time, 0, sizeof(time));
    ggml_backend_tensor_set(m->in_condition, m->condition, 0, ggml_nbytes(m->in_condition));
    set_positions(m, (int32_t *) tokens);
    const bool ok = compute(m, m->step_graph);
    float * const to[BATCH] = { with_prompt, without };
    for (size_t b = 0; ok && b < BATCH; b++) {
        ggml_backend_tensor_get(m->out_velocity, tokens, b * bytes, bytes);
        reorder(m, tokens, to[b], false);
    }
    free(tokens);
    return ok;
}
