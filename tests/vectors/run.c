// SPDX-License-Identifier: MIT
// Builds, allocates and computes the graph of a case, and reads its outputs back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "vectors.h"

enum {
    FRESH_BYTE = 0xa5, // what buffers hold before anything is written
};

struct run {
    const struct vec_case * c;
    const struct vec_prog * prog;
    struct vec_result * r;
    ggml_backend_t backend;
    struct vec_env env;
    ggml_backend_buffer_t buf_base, buf;
    ggml_gallocr_t galloc;
};

#define FAIL(status_, ...)                                                                                   \
    do {                                                                                                     \
        run->r->status = (status_);                                                                          \
        snprintf(run->r->msg, sizeof(run->r->msg), __VA_ARGS__);                                             \
        return false;                                                                                        \
    } while (0)

static bool build(struct run * run) {
    run->r->status = VEC_ERROR;
    if (!vec_build(run->c, run->prog, &run->env, run->r->msg)) return false;
    const struct ggml_tensor * first = run->c->n_out > 0 ? vec_output(&run->env, run->c, 0) : NULL;
    if (first) memcpy(run->r->params, first->op_params, sizeof(run->r->params));
    return true;
}

static bool check_support(struct run * run) {
    for (int i = 0; i < ggml_graph_n_nodes(run->env.graph); i++) {
        const struct ggml_tensor * n = ggml_graph_node(run->env.graph, i);
        if (!ggml_backend_supports_op(run->backend, n)) {
            FAIL(VEC_UNSUPPORTED, "the back end does not support %s", ggml_op_desc(n));
        }
    }
    return true;
}

// What a context's tensors need; NULL for one of nothing but views.
static ggml_backend_buffer_t alloc_ctx(struct ggml_context * ctx, ggml_backend_t backend) {
    ggml_backend_buffer_t buf = ggml_backend_alloc_ctx_tensors(ctx, backend);
    if (buf) ggml_backend_buffer_clear(buf, FRESH_BYTE);
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (t->view_src && !t->buffer && t->view_src->buffer) ggml_backend_view_init(t);
    }
    return buf;
}

static bool allocate(struct run * run, enum vec_alloc alloc) {
    run->buf_base = alloc_ctx(run->env.ctx_base, run->backend);
    if (!run->buf_base) FAIL(VEC_ERROR, "no memory for the sources");
    if (alloc == VEC_ALLOC_CTX) {
        run->buf = alloc_ctx(run->env.ctx, run->backend);
        return true;
    }
    run->galloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(run->backend));
    if (!run->galloc || !ggml_gallocr_alloc_graph(run->galloc, run->env.graph)) {
        FAIL(VEC_ERROR, "the graph cannot be allocated");
    }
    return true;
}

static bool compute(struct run * run) {
    struct vec_env * e = &run->env;
    if (vec_is_backward(run->prog)) ggml_graph_reset(e->graph);
    for (int i = 0; i < run->c->n_src; i++) {
        if (run->c->src[i].tensor[0]) {
            ggml_backend_tensor_set(e->base[i], run->c->src[i].data, 0, ggml_nbytes(e->base[i]));
        }
    }
    const enum ggml_status status = ggml_backend_graph_compute(run->backend, e->graph);
    if (status != GGML_STATUS_SUCCESS) FAIL(VEC_ERROR, "compute: %s", ggml_status_to_string(status));
    return true;
}

// The elements in logical order, densely packed.
static void pack(const struct ggml_tensor * t, const char * raw, char * to) {
    const size_t size = ggml_type_size(t->type);
    const int64_t n0 = t->ne[0] / ggml_blck_size(t->type), rows = t->ne[1] * t->ne[2] * t->ne[3];
    for (int64_t row = 0; row < rows; row++) {
        const size_t i1 = (size_t) (row % t->ne[1]), i2 = (size_t) (row / t->ne[1] % t->ne[2]);
        const char * from =
            raw + i1 * t->nb[1] + i2 * t->nb[2] + (size_t) (row / t->ne[1] / t->ne[2]) * t->nb[3];
        for (int64_t i0 = 0; i0 < n0; i0++, to += size)
            memcpy(to, from + (size_t) i0 * t->nb[0], size);
    }
}

static void read_output(const struct ggml_tensor * t, struct vec_out * o) {
    o->type = t->type;
    memcpy(o->ne, t->ne, sizeof(o->ne));
    memcpy(o->nb, t->nb, sizeof(o->nb));
    o->size = ggml_row_size(t->type, t->ne[0]) * (size_t) (t->ne[1] * t->ne[2] * t->ne[3]);
    o->data = calloc(1, o->size + 1);
    if (o->size == 0) return;
    char * raw = malloc(ggml_nbytes(t));
    ggml_backend_tensor_get(t, raw, 0, ggml_nbytes(t));
    pack(t, raw, o->data);
    free(raw);
}

static bool read_outputs(struct run * run) {
    for (int i = 0; i < run->c->n_out; i++) {
        snprintf(run->r->got[i].ref, sizeof(run->r->got[i].ref), "%s", run->c->out[i].ref);
        read_output(vec_output(&run->env, run->c, i), &run->r->got[i]);
    }
    return true;
}

void vec_run(const struct vec_case * c, const struct vec_prog * prog, ggml_backend_t backend,
             enum vec_alloc alloc, struct vec_result * r) {
    struct run run = { .c = c, .prog = prog, .r = r, .backend = backend };
    if (vec_is_backward(prog)) alloc = VEC_ALLOC_CTX;
    if (build(&run) && check_support(&run) && allocate(&run, alloc) && compute(&run) && read_outputs(&run)) {
        r->status = VEC_OK;
    }
    ggml_gallocr_free(run.galloc);
    ggml_backend_buffer_free(run.buf);
    ggml_backend_buffer_free(run.buf_base);
    vec_free(&run.env);
}
