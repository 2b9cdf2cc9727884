// SPDX-License-Identifier: MIT
// Launches: what a graph says when it is handed over is written down, so that it may change before it runs.
// The nodes are copied with the real places of their bytes, and computed by the CPU as they are: one by one,
// since nothing in the copy tells that a result has a single reader.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fake_int.h"

struct pair {
    const struct ggml_tensor * from;
    struct ggml_tensor * to;
};

struct step {
    struct ggml_cgraph * graph; // of one node
    char * scratch;             // what stands behind its result may be used while it is computed
    size_t scratch_size;
};

struct fake_launch {
    struct fake_backend * backend;
    struct ggml_context * ctx;
    struct pair * pairs; // hashed by `from`
    size_t n_slots;      // a power of two
    struct step * steps;
    int n_steps;
};

static void launch_free(struct fake_launch * l) {
    ggml_free(l->ctx);
    free(l->pairs);
    free(l->steps);
    free(l);
}

// ---- which nodes, and where their bytes are -------------------------------------------------------------

static bool is_passed_over(const struct ggml_tensor * node) {
    switch (node->op) {
    case GGML_OP_NONE:
    case GGML_OP_RESHAPE:
    case GGML_OP_VIEW:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE: return true;
    default: return (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 || ggml_is_empty(node);
    }
}

static bool is_reachable(const struct fake_device * d, const struct fake_memory * m,
                         const struct ggml_tensor * t) {
    if (!m)
        return (d->options.host_memory || d->options.reads_host) && t->data &&
               (!t->buffer || fake_is_host(t));
    const bool is_own =
        m->owner == d || (fake_is_host(t) && (d->options.host_memory || d->options.reads_host));
    const uintptr_t at = (uintptr_t) t->data;
    return is_own && at >= m->base && at + ggml_nbytes(t) <= m->base + m->size;
}

static bool check_memory(const struct fake_device * d, const struct ggml_tensor * node,
                         const struct ggml_tensor * t) {
    if (ggml_is_empty(t) || is_reachable(d, fake_memory_of(t), t)) return true;
    const struct fake_memory * m = fake_memory_of(t);
    fake_fault(d->world, "%s is to compute %s '%s' with '%s', which is %s%s", d->name, ggml_op_desc(node),
               node->name, t->name, t->data ? "in memory that it cannot reach: " : "nowhere",
               m ? m->owner->name : "");
    return false;
}

static bool check_node(const struct fake_device * d, const struct ggml_tensor * node) {
    if (!ggml_backend_dev_supports_op((ggml_backend_dev_t) &d->device, node)) {
        fake_fault(d->world, "%s is to compute %s '%s', which it does not support", d->name,
                   ggml_op_desc(node), node->name);
        return false;
    }
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && !check_memory(d, node, node->src[i])) return false;
    }
    return check_memory(d, node, node);
}

// ---- copies ---------------------------------------------------------------------------------------------

static struct pair * slot_of(const struct fake_launch * l, const struct ggml_tensor * t) {
    size_t i = ((uintptr_t) t >> 4) * 0x9e3779b9u & (l->n_slots - 1);
    while (l->pairs[i].from && l->pairs[i].from != t)
        i = (i + 1) & (l->n_slots - 1);
    return &l->pairs[i];
}

static struct ggml_tensor * copy_of(struct fake_launch * l, const struct ggml_tensor * t) {
    struct pair * pair = slot_of(l, t);
    if (pair->from) return pair->to;
    pair->from = t;
    pair->to = ggml_new_tensor_1d(l->ctx, GGML_TYPE_I8, 0);
    struct ggml_tensor * copy = pair->to;
    *copy = *t;
    copy->data = fake_bytes(t);
    copy->buffer = NULL;
    copy->extra = NULL;
    copy->view_src = t->view_src ? copy_of(l, t->view_src) : NULL;
    memset(copy->src, 0, sizeof(copy->src));
    return copy;
}

static size_t scratch_size(const struct fake_device * d, const struct ggml_tensor * node) {
    const struct fake_memory * m = fake_memory_of(node);
    if (!m || m->owner != d || node->view_src || !ggml_op_alloc_size_may_expand(node->op)) return 0;
    const size_t behind = m->base + m->size - (uintptr_t) node->data - ggml_nbytes(node);
    return behind < d->options.scratch ? behind : d->options.scratch;
}

static void add_node(struct fake_launch * l, const struct ggml_tensor * node) {
    struct ggml_tensor * copy = copy_of(l, node);
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i]) copy->src[i] = copy_of(l, node->src[i]);
    }
    struct step * step = &l->steps[l->n_steps++];
    step->graph = ggml_new_graph_custom(l->ctx, 1, false);
    step->scratch = (char *) copy->data + ggml_nbytes(node);
    step->scratch_size = scratch_size(l->backend->device, node);
    ggml_graph_add_node(step->graph, copy);
}

// An optimiser's moments change where they lie.
static bool is_written(const struct ggml_tensor * node, int source) {
    return node->op == GGML_OP_OPT_STEP_ADAMW && (source == 2 || source == 3);
}

static void tell_accesses(const struct fake_device * d, const struct ggml_tensor * node,
                          struct fake_stamp stamp) {
    snprintf(stamp.what, sizeof(stamp.what), "%s '%.40s' on %s", ggml_op_desc(node), node->name, d->name);
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i]) fake_touch_tensor(d->world, &stamp, node->src[i], is_written(node, i));
    }
    fake_touch_tensor(d->world, &stamp, node, true);
    fake_touch(d->world, &stamp, (uintptr_t) node->data + ggml_nbytes(node), scratch_size(d, node), true);
}

static bool make_room(struct fake_launch * l, struct ggml_cgraph * graph) {
    const size_t n = (size_t) ggml_graph_n_nodes(graph);
    const size_t most = 2 * n * (1 + GGML_MAX_SRC) + 1; // each with its base
    l->n_slots = 64;
    while (l->n_slots < 2 * most)
        l->n_slots *= 2;
    l->pairs = calloc(l->n_slots, sizeof(*l->pairs));
    l->ctx = ggml_init((struct ggml_init_params){
        .mem_size = most * ggml_tensor_overhead() + n * ggml_graph_overhead_custom(1, false),
        .no_alloc = true,
    });
    l->steps = calloc(n + 1, sizeof(*l->steps));
    if (!l->pairs || !l->ctx || !l->steps) return false;
    return true;
}

struct fake_launch * fake_launch_new(struct fake_backend * backend, struct ggml_cgraph * graph,
                                     const struct fake_stamp * stamp) {
    struct fake_launch * l = calloc(1, sizeof(*l));
    if (!l) return NULL;
    l->backend = backend;
    bool ok = make_room(l, graph);
    for (int i = 0; ok && i < ggml_graph_n_nodes(graph); i++) {
        const struct ggml_tensor * node = ggml_graph_node(graph, i);
        if (is_passed_over(node)) continue;
        ok = check_node(backend->device, node);
        if (!ok) break;
        add_node(l, node);
        tell_accesses(backend->device, node, *stamp);
        backend->device->counts.nodes++;
    }
    if (ok) return l;
    launch_free(l);
    return NULL;
}

// ---- work -----------------------------------------------------------------------------------------------

void fake_launch_run(void * launch) {
    struct fake_launch * l = launch;
    for (const struct step * s = l->steps; s < l->steps + l->n_steps; s++) {
        if (s->scratch_size > 0) memset(s->scratch, 0x5a, s->scratch_size);
        if (ggml_backend_graph_compute(l->backend->cpu, s->graph) == GGML_STATUS_SUCCESS) continue;
        const struct ggml_tensor * node = ggml_graph_node(s->graph, 0);
        fake_fault(l->backend->device->world, "%s could not compute %s '%s'", l->backend->device->name,
                   ggml_op_desc(node), node->name);
    }
    launch_free(l);
}
