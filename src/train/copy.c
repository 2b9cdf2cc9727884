// SPDX-License-Identifier: MIT
// Copies of graphs, tensor by tensor, in the same order.
#include "train/opt_int.h"

#include "base/error.h"
#include "base/ptrset.h"
#include "core/graph.h"

struct job {
    struct ggml_context * ctx;
    struct tn_ptrset copies;
};

// What nothing changes but its contents.
static bool is_shared(const struct ggml_tensor * t) {
    return t->op == GGML_OP_NONE && !t->view_src && (t->data || t->buffer);
}

// NULL stays NULL, and what is outside the graph stays itself.
static struct ggml_tensor * copy_of(const struct job * job, struct ggml_tensor * t) {
    const int64_t * copy = t ? tn_ptrset_find(&job->copies, t) : NULL;
    return copy ? (struct ggml_tensor *) (intptr_t) *copy : t;
}

// Sources and bases come before what is made of them.
static struct ggml_tensor * copy_tensor(struct job * job, struct ggml_tensor * t) {
    if (is_shared(t)) return t;
    int64_t * copy = tn_ptrset_put(&job->copies, t, NULL);
    if (!copy) return NULL;
    struct ggml_tensor * c = ggml_new_tensor_1d(job->ctx, GGML_TYPE_F32, 1);
    *copy = (int64_t) (intptr_t) c;
    *c = *t;
    c->view_src = copy_of(job, t->view_src);
    for (int i = 0; i < GGML_MAX_SRC; i++)
        c->src[i] = copy_of(job, t->src[i]);
    return c;
}

static bool fill(struct job * job, const struct ggml_cgraph * from, struct ggml_cgraph * to) {
    for (int i = 0; i < from->n_leafs; i++) {
        struct ggml_tensor * leaf = copy_tensor(job, from->leafs[i]);
        if (!leaf) return false;
        ggml_build_forward_order(to, leaf);
    }
    for (int i = 0; i < from->n_nodes; i++) {
        struct ggml_tensor * node = copy_tensor(job, from->nodes[i]);
        if (!node) return false;
        ggml_build_forward_order(to, node);
    }
    return tn_graph_usable(to);
}

bool tn_copy_make(struct tn_copy * copy, struct ggml_cgraph * g) {
    const size_t size = (size_t) (g->n_nodes > g->n_leafs ? g->n_nodes : g->n_leafs);
    const size_t n = (size_t) g->n_nodes + (size_t) g->n_leafs;
    const size_t bytes = n * ggml_tensor_overhead() + ggml_graph_overhead_custom(size, false);
    tn_copy_free(copy);
    struct job job = { .ctx = ggml_init((struct ggml_init_params){ bytes, NULL, true }) };
    if (!job.ctx) return false;
    copy->ctx = job.ctx;
    copy->graph = ggml_new_graph_custom(job.ctx, size, false);
    const bool done = fill(&job, g, copy->graph);
    tn_ptrset_free(&job.copies);
    if (!done) tn_copy_free(copy);
    return done;
}

void tn_copy_free(struct tn_copy * copy) {
    ggml_free(copy->ctx);
    *copy = (struct tn_copy){ 0 };
}
