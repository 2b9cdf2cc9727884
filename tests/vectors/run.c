// SPDX-License-Identifier: MIT
// Builds, allocates and computes the graph of a case, and reads its outputs back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "vectors.h"

enum {
    GRAPH_SIZE = 4096,
    FRESH_BYTE = 0xa5, // what buffers hold before anything is written
};

struct run {
    const struct vec_case * c;
    const struct vec_prog * prog;
    struct vec_result * r;
    ggml_backend_t backend;
    struct vec_env env;
    struct ggml_context * ctx_base; // stored tensors: a context of their own, allocated first
    ggml_backend_buffer_t buf_base, buf;
    ggml_gallocr_t galloc;
};

#define FAIL(status_, ...)                                                                                   \
    do {                                                                                                     \
        run->r->status = (status_);                                                                          \
        snprintf(run->r->msg, sizeof(run->r->msg), __VA_ARGS__);                                             \
        return false;                                                                                        \
    } while (0)

// Sources that share a stored tensor share its memory.
static struct ggml_tensor * base_of(struct run * run, int i) {
    const struct vec_src * s = &run->c->src[i];
    for (int j = 0; j < i && s->tensor[0]; j++) {
        if (strcmp(s->tensor, run->c->src[j].tensor) == 0) return run->env.base[j];
    }
    struct ggml_tensor * t = ggml_new_tensor_4d(run->ctx_base, s->type, s->base_ne[0], s->base_ne[1],
                                                s->base_ne[2], s->base_ne[3]);
    return ggml_format_name(t, "s%d", i);
}

static bool make_sources(struct run * run) {
    struct vec_env * e = &run->env;
    const size_t room =
        ggml_tensor_overhead() * 2 * GRAPH_SIZE + 2 * ggml_graph_overhead_custom(GRAPH_SIZE, true);
    run->ctx_base =
        ggml_init((struct ggml_init_params){ ggml_tensor_overhead() * (VEC_MAX_SRC + 8), NULL, true });
    e->ctx = ggml_init((struct ggml_init_params){ room, NULL, true });
    if (!run->ctx_base || !e->ctx) FAIL(VEC_ERROR, "no context");
    // One tensor with elements, so that there is a buffer in any case.
    ggml_new_tensor_1d(run->ctx_base, GGML_TYPE_F32, 1);
    e->n_src = run->c->n_src;
    for (int i = 0; i < e->n_src; i++) {
        e->base[i] = base_of(run, i);
        e->src[i] = e->base[i] ? vec_build_src(e->ctx, e->base[i], &run->c->src[i]) : NULL;
        if (!e->src[i]) FAIL(VEC_ERROR, "source %d cannot be made", i);
    }
    return true;
}

// Call k is ["backward"].
static void build_backward(struct run * run, int k) {
    struct vec_env * e = &run->env;
    for (int i = 0; i < k; i++) {
        if (e->res[i]->flags & GGML_TENSOR_FLAG_LOSS) ggml_build_forward_expand(e->graph, e->res[i]);
    }
    ggml_build_backward_expand(e->ctx, e->graph, NULL);
    e->res[k] = e->res[k - 1];
}

static bool build_program(struct run * run) {
    struct vec_env * e = &run->env;
    e->graph = ggml_new_graph_custom(e->ctx, GRAPH_SIZE, vec_is_backward(run->prog));
    if (!e->graph) FAIL(VEC_ERROR, "no graph");
    for (int i = 0; i < run->prog->n; i++) {
        const struct vec_call * c = &run->prog->call[i];
        if (strcmp(c->arg[0].str, "backward") == 0) {
            build_backward(run, i);
        } else {
            e->res[i] = vec_build_call(e, c);
        }
        if (e->bad)
            FAIL(VEC_ERROR, "call %d (%s): unknown, or it names something that is not there", i,
                 c->arg[0].str);
        if (!e->res[i]) FAIL(VEC_ERROR, "call %d (%s) is refused", i, c->arg[0].str);
        if (e->refused) FAIL(VEC_ERROR, "call %d (%s) returns false", i, c->arg[0].str);
        e->n_res = i + 1;
    }
    return true;
}

static struct ggml_tensor * out_tensor(struct run * run, int i) {
    const char * ref = run->c->out[i].ref;
    return ref[0] == 's' ? run->env.base[atoi(ref + 1)] : vec_lookup(&run->env, ref);
}

static bool expand_outputs(struct run * run) {
    struct vec_env * e = &run->env;
    for (int i = 0; i < run->c->n_out; i++) {
        struct ggml_tensor * t = out_tensor(run, i);
        if (!t) FAIL(VEC_ERROR, "no tensor for output %s", run->c->out[i].ref);
        if (i == 0) memcpy(run->r->params, t->op_params, sizeof(run->r->params));
        if (run->c->out[i].ref[0] == 's') continue;
        ggml_set_output(t);
        ggml_build_forward_expand(e->graph, t);
    }
    ggml_build_forward_expand(e->graph, e->res[e->n_res - 1]);
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
    run->buf_base = alloc_ctx(run->ctx_base, run->backend);
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
        read_output(out_tensor(run, i), &run->r->got[i]);
    }
    return true;
}

void vec_run(const struct vec_case * c, const struct vec_prog * prog, ggml_backend_t backend,
             enum vec_alloc alloc, struct vec_result * r) {
    struct run run = { .c = c, .prog = prog, .r = r, .backend = backend };
    if (vec_is_backward(prog)) alloc = VEC_ALLOC_CTX;
    if (make_sources(&run) && build_program(&run) && expand_outputs(&run) && check_support(&run) &&
        allocate(&run, alloc) && compute(&run) && read_outputs(&run)) {
        r->status = VEC_OK;
    }
    ggml_gallocr_free(run.galloc);
    ggml_backend_buffer_free(run.buf);
    ggml_backend_buffer_free(run.buf_base);
    ggml_free(run.env.ctx);
    ggml_free(run.ctx_base);
}
