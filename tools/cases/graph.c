// SPDX-License-Identifier: MIT
// The graph of a case.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

enum { GRAPH_SIZE = 4096 };

struct building {
    const struct vec_case * c;
    const struct vec_prog * prog;
    struct vec_env * e;
    char * msg;
};

#define FAIL(...) return snprintf(b->msg, VEC_MSG, __VA_ARGS__), false

// Sources that share a stored tensor share its memory.
static struct ggml_tensor * base_of(const struct building * b, int i) {
    const struct vec_src * s = &b->c->src[i];
    for (int j = 0; j < i && s->tensor[0]; j++) {
        if (strcmp(s->tensor, b->c->src[j].tensor) == 0) return b->e->base[j];
    }
    struct ggml_tensor * t = ggml_new_tensor_4d(b->e->ctx_base, s->type, s->base_ne[0], s->base_ne[1],
                                                s->base_ne[2], s->base_ne[3]);
    return ggml_format_name(t, "s%d", i);
}

static bool make_sources(const struct building * b) {
    struct vec_env * e = b->e;
    const size_t room =
        ggml_tensor_overhead() * 2 * GRAPH_SIZE + 2 * ggml_graph_overhead_custom(GRAPH_SIZE, true);
    e->ctx_base =
        ggml_init((struct ggml_init_params){ ggml_tensor_overhead() * (VEC_MAX_SRC + 8), NULL, true });
    e->ctx = ggml_init((struct ggml_init_params){ room, NULL, true });
    if (!e->ctx_base || !e->ctx) FAIL("no context");
    // One tensor with elements, so that there is a buffer in any case.
    ggml_new_tensor_1d(e->ctx_base, GGML_TYPE_F32, 1);
    e->n_src = b->c->n_src;
    for (int i = 0; i < e->n_src; i++) {
        e->base[i] = base_of(b, i);
        e->src[i] = e->base[i] ? vec_build_src(e->ctx, e->base[i], &b->c->src[i]) : NULL;
        if (!e->src[i]) FAIL("source %d cannot be made", i);
    }
    return true;
}

// Call k is ["backward"].
static void build_backward(struct vec_env * e, int k) {
    for (int i = 0; i < k; i++) {
        if (e->res[i]->flags & GGML_TENSOR_FLAG_LOSS) ggml_build_forward_expand(e->graph, e->res[i]);
    }
    ggml_build_backward_expand(e->ctx, e->graph, NULL);
    e->res[k] = e->res[k - 1];
}

static bool build_program(const struct building * b) {
    struct vec_env * e = b->e;
    e->graph = ggml_new_graph_custom(e->ctx, GRAPH_SIZE, vec_is_backward(b->prog));
    if (!e->graph) FAIL("no graph");
    for (int i = 0; i < b->prog->n; i++) {
        const struct vec_call * c = &b->prog->call[i];
        if (i > 0 && strcmp(c->arg[0].str, "backward") == 0) {
            build_backward(e, i);
        } else {
            e->res[i] = vec_build_call(e, c);
        }
        if (e->bad) FAIL("call %d (%s): unknown, or it names something that is not there", i, c->arg[0].str);
        if (!e->res[i]) FAIL("call %d (%s) is refused", i, c->arg[0].str);
        if (e->refused) FAIL("call %d (%s) returns false", i, c->arg[0].str);
        e->n_res = i + 1;
    }
    return true;
}

struct ggml_tensor * vec_output(struct vec_env * e, const struct vec_case * c, int i) {
    const char * ref = c->out[i].ref;
    const int k = ref[0] == 's' ? atoi(ref + 1) : -1;
    if (k >= e->n_src) return NULL;
    return k >= 0 ? e->base[k] : vec_lookup(e, ref);
}

static bool expand_outputs(const struct building * b) {
    struct vec_env * e = b->e;
    for (int i = 0; i < b->c->n_out; i++) {
        struct ggml_tensor * t = vec_output(e, b->c, i);
        if (!t) FAIL("no tensor for output %s", b->c->out[i].ref);
        if (b->c->out[i].ref[0] == 's') continue;
        ggml_set_output(t);
        ggml_build_forward_expand(e->graph, t);
    }
    ggml_build_forward_expand(e->graph, e->res[e->n_res - 1]);
    return true;
}

bool vec_build(const struct vec_case * c, const struct vec_prog * prog, struct vec_env * e,
               char msg[VEC_MSG]) {
    const struct building b = { c, prog, e, msg };
    *e = (struct vec_env){ .ctx = NULL };
    return make_sources(&b) && build_program(&b) && expand_outputs(&b);
}

void vec_free(struct vec_env * e) {
    ggml_free(e->ctx);
    ggml_free(e->ctx_base);
    *e = (struct vec_env){ .ctx = NULL };
}
