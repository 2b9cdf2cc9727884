// SPDX-License-Identifier: MIT
// A graph for several devices: every node gets its split state and its slices, and the graph is cut where
// devices have to wait for each other, that is where a sum over devices is needed.
//
// A result that is such a sum is left as it is while only operators use it that may work on the addends
// (derive.def), and reduced before the first node that needs the value, or at the end.
#include <string.h>

#include "backend/meta/derive.h"
#include "backend/meta/meta_int.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/str.h"
#include "core/graph.h"
#include "core/op.h"

enum kind { COMPUTE, REDUCE, CLEAR };

struct action {
    enum kind kind;
    int first, end;       // COMPUTE: nodes
    struct tn_slices * s; // REDUCE, CLEAR
    uint32_t devices;     // CLEAR: those that have nothing to add
};

struct tn_pieces {
    TN_ARRAY(struct ggml_tensor *) nodes; // slices; those of device j start at j * n_nodes
    TN_ARRAY(struct action) actions;
    struct tn_ptrset uses; // how often each tensor is a source
    int first;             // node of the piece that is not closed
    size_t room;           // bytes of the largest sum
};

struct tn_pieces * tn_pieces_new(void) {
    return tn_mem_calloc(1, sizeof(struct tn_pieces), TN_MEM_OBJECT);
}

void tn_pieces_free(struct tn_pieces * p) {
    if (!p) return;
    TN_ARRAY_FREE(&p->nodes);
    TN_ARRAY_FREE(&p->actions);
    tn_ptrset_free(&p->uses);
    tn_mem_free(p);
}

// ---- cuts -------------------------------------------------------------------------------------------------

static bool push(struct tn_pieces * p, struct action action) {
    if (!TN_ARRAY_RESERVE(&p->actions, 1, TN_MEM_GRAPH)) return false;
    p->actions.items[p->actions.count++] = action;
    return true;
}

// Nodes before `end` are computed before what comes next.
static bool cut(struct tn_pieces * p, int end) {
    if (p->first == end) return true;
    const struct action piece = { .kind = COMPUTE, .first = p->first, .end = end };
    p->first = end;
    return push(p, piece);
}

static bool reduce(struct tn_pieces * p, struct tn_slices * s, int before) {
    const bool own = !s->declared && !s->tensor->view_src; // a view is one only of what was declared
    if (!own && tn_partition_is_partial(s->partition)) {
        return tn_refuse("'%s' was declared to be a sum over devices, and its value is needed",
                         s->tensor->name);
    }
    if (!cut(p, before) || !push(p, (struct action){ .kind = REDUCE, .s = s })) return false;
    s->partition->axis = GGML_BACKEND_SPLIT_AXIS_MIRRORED;
    p->room = tn_max_size(p->room, ggml_nbytes(s->tensor));
    return true;
}

// ---- one node ---------------------------------------------------------------------------------------------

struct job {
    struct tn_meta_backend * b;
    struct tn_pieces * p;
    const struct ggml_cgraph * graph;
    int i; // the node
    struct tn_slices * s;
    struct tn_slices * src[GGML_MAX_SRC];
    struct tn_derive d;
};

static bool find_sources(struct job * job) {
    const struct ggml_tensor * node = job->d.node;
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        job->src[k] = NULL;
        job->d.src[k] = NULL;
        if (!node->src[k]) continue;
        struct tn_slices * s = tn_slices_find(job->b->meta, node->src[k]);
        if (!s) return false;
        job->src[k] = s;
        if (s == job->s) continue; // a cast
        if (!s->made) return tn_refuse("its source '%s' has no value", node->src[k]->name);
        job->d.src[k] = s->partition;
    }
    return true;
}

static bool reduce_sources(struct job * job) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (job->d.src[k] && tn_partition_is_partial(job->src[k]->partition) &&
            !reduce(job->p, job->src[k], job->i)) {
            return false;
        }
    }
    return true;
}

static bool has_partial(const struct job * job) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (job->d.src[k] && tn_partition_is_partial(job->d.src[k])) return true;
    }
    return false;
}

static bool derive(struct job * job) {
    if (job->d.node->op == GGML_OP_NONE && job->s->made) { // a leaf among the nodes: a parameter of training
        tn_partition_copy(&job->d.out, job->s->partition, job->b->n);
        return true;
    }
    if (ggml_is_empty(job->d.node)) {
        tn_partition_whole(&job->d.out, GGML_BACKEND_SPLIT_AXIS_MIRRORED, job->b->n);
        return true;
    }
    if (has_partial(job)) {
        if (tn_derive_keeps_partial(&job->d)) {
            tn_partition_whole(&job->d.out, GGML_BACKEND_SPLIT_AXIS_PARTIAL, job->b->n);
            return true;
        }
        if (!reduce_sources(job)) return false;
    }
    return tn_derive_node(&job->d);
}

// What the program said of a result in memory of its own has to be what it is; a sum is formed if it said so.
static bool check_declared(struct job * job) {
    const struct tn_partition *said = job->s->partition, *is = &job->d.out;
    const bool sum = tn_partition_is_partial(is) && tn_partition_is_mirrored(said);
    if (sum || (said->axis == is->axis && tn_partition_same(said, is, job->b->n))) return true;
    char a[TN_PARTITION_TEXT], b[TN_PARTITION_TEXT];
    return tn_refuse("it is divided by %s, and was declared to be by %s", tn_partition_text(a, is, job->b->n),
                     tn_partition_text(b, said, job->b->n));
}

static bool divide(struct job * job) {
    if (!job->s->declared) {
        return tn_slices_divide(tn_meta_buffer_of(tn_iface_buffer_of(job->d.node)), job->s, &job->d.out);
    }
    return check_declared(job);
}

// Some source has no element on device j: there is nothing to do, or to add.
static bool lacks_source(const struct job * job, int j) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (job->d.src[k] && tn_partition_is_split(job->src[k]->partition) &&
            ggml_is_empty(job->src[k]->of[j]))
            return true;
    }
    return false;
}

// What was said of a leaf after it got memory.
static void refresh_leafs(struct job * job, int j) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        const struct ggml_tensor * t = job->d.node->src[k];
        if (t && t->op == GGML_OP_NONE) job->src[k]->of[j]->flags = t->flags;
    }
}

// The node as it is now: parameters and sources may have changed since its slices were made.
static uint32_t wire(struct job * job) {
    const struct ggml_tensor * node = job->d.node;
    uint32_t idle = 0;
    for (int j = 0; j < job->b->n; j++) {
        struct ggml_tensor * slice = job->s->of[j];
        slice->op = node->op;
        slice->flags = node->flags;
        memcpy(slice->op_params, node->op_params, sizeof(slice->op_params));
        for (int k = 0; k < GGML_MAX_SRC; k++)
            slice->src[k] = job->src[k] ? job->src[k]->of[j] : NULL;
        refresh_leafs(job, j);
        if (lacks_source(job, j)) {
            slice->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
            idle |= 1u << j;
        }
        job->p->nodes.items[(size_t) j * (size_t) job->graph->n_nodes + (size_t) job->i] = slice;
    }
    return idle;
}

// After the node: addends of devices that compute none are 0; a sum that was promised is formed.
static bool finish(struct job * job, uint32_t idle) {
    if (!tn_partition_is_partial(&job->d.out)) return true;
    if (idle) {
        const struct action clear = { .kind = CLEAR, .s = job->s, .devices = idle };
        if (!cut(job->p, job->i + 1) || !push(job->p, clear)) return false;
    }
    if (!job->s->declared || !tn_partition_is_mirrored(job->s->partition)) return true;
    return reduce(job->p, job->s, job->i + 1);
}

static bool add_node(struct job * job) {
    job->s = tn_slices_find(job->b->meta, job->d.node);
    if (!job->s || !find_sources(job) || !derive(job) || !divide(job)) return false;
    return finish(job, wire(job));
}

// ---- all of them ------------------------------------------------------------------------------------------

static bool count_uses(struct tn_pieces * p, const struct ggml_cgraph * graph) {
    tn_ptrset_clear(&p->uses);
    for (int i = 0; i < graph->n_nodes; i++) {
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            if (!graph->nodes[i]->src[k]) continue;
            int64_t * count = tn_ptrset_put(&p->uses, graph->nodes[i]->src[k], NULL);
            if (!count) return false;
            ++*count;
        }
    }
    return true;
}

static bool start(struct tn_pieces * p, const struct ggml_cgraph * graph, int n) {
    p->first = 0;
    p->room = 0;
    p->actions.count = p->nodes.count = 0;
    return TN_ARRAY_RESERVE(&p->nodes, (size_t) graph->n_nodes * (size_t) n, TN_MEM_GRAPH) &&
           count_uses(p, graph);
}

// Results that nobody uses here are what the graph is for. Others that are still sums may have lost their
// memory; whoever reads one of them adds what the devices have.
static bool reduce_results(struct job * job) {
    for (int i = 0; i < job->graph->n_nodes; i++) {
        const struct ggml_tensor * node = job->graph->nodes[i];
        struct tn_slices * s = tn_slices_find(job->b->meta, node);
        if (!s || s->declared || !tn_partition_is_partial(s->partition)) continue;
        const bool kept = (node->flags & GGML_TENSOR_FLAG_OUTPUT) || !tn_ptrset_find(&job->p->uses, node);
        if (kept && !reduce(job->p, s, job->graph->n_nodes)) return false;
    }
    return true;
}

static bool prepare(struct tn_meta_backend * b, const struct ggml_cgraph * graph) {
    struct tn_pieces * p = b->pieces;
    struct job job = { .b = b, .p = p, .graph = graph };
    if (!start(p, graph, b->n)) return false;
    job.d.n = b->n;
    for (job.i = 0; job.i < graph->n_nodes; job.i++) {
        job.d.node = graph->nodes[job.i];
        if (add_node(&job)) continue;
        char reason[TN_ERROR_MAX];
        tn_str_copy(reason, sizeof(reason), tn_error_text());
        tn_error_set("%s '%s' cannot be computed: %s", ggml_op_desc(job.d.node), job.d.node->name, reason);
        return false;
    }
    return reduce_results(&job) && cut(p, graph->n_nodes) && tn_allreduce_reserve(b->allreduce, p->room);
}

// ---- execution --------------------------------------------------------------------------------------------

static enum ggml_status launch(struct tn_meta_backend * b, const struct ggml_cgraph * graph,
                               const struct action * a) {
    for (int j = 0; j < b->n; j++) {
        struct ggml_cgraph part = {
            .n_nodes = a->end - a->first,
            .nodes = b->pieces->nodes.items + (size_t) j * (size_t) graph->n_nodes + a->first,
        };
        tn_error_clear();
        const enum ggml_status status = ggml_backend_graph_compute_async(b->backends[j], &part);
        if (status == GGML_STATUS_SUCCESS) continue;
        char reason[TN_ERROR_MAX];
        const char * text = tn_error_text();
        tn_str_copy(reason, sizeof(reason), text[0] ? text : ggml_status_to_string(status));
        tn_error_set("device %s did not compute '%s' to '%s': %s", ggml_backend_dev_name(b->meta->devices[j]),
                     graph->nodes[a->first]->name, graph->nodes[a->end - 1]->name, reason);
        return status;
    }
    return GGML_STATUS_SUCCESS;
}

static void clear(struct tn_meta_backend * b, const struct action * a) {
    for (int j = 0; j < b->n; j++) {
        if (!(a->devices >> j & 1)) continue;
        ggml_backend_synchronize(b->backends[j]);
        ggml_backend_tensor_memset(a->s->of[j], 0, 0, ggml_nbytes(a->s->of[j]));
    }
}

static enum ggml_status act(struct tn_meta_backend * b, const struct ggml_cgraph * graph,
                            const struct action * a) {
    if (a->kind == COMPUTE) return launch(b, graph, a);
    if (a->kind == CLEAR) {
        clear(b, a);
        return GGML_STATUS_SUCCESS;
    }
    tn_error_clear();
    const enum ggml_status status = tn_allreduce_run(b->allreduce, a->s);
    if (status != GGML_STATUS_SUCCESS) {
        tn_error_prefix("the sum '%s' over the devices was not formed (%s)", a->s->tensor->name,
                        ggml_status_to_string(status));
    }
    return status;
}

// What was not reduced is still a sum.
static void take_back(struct tn_pieces * p, size_t from, int n) {
    for (size_t i = from; i < p->actions.count; i++) {
        struct tn_slices * s = p->actions.items[i].s;
        if (p->actions.items[i].kind == REDUCE && !s->declared)
            tn_partition_whole(s->partition, GGML_BACKEND_SPLIT_AXIS_PARTIAL, n);
    }
}

enum ggml_status tn_pieces_compute(struct tn_meta_backend * b, const struct ggml_cgraph * graph) {
    struct tn_pieces * p = b->pieces;
    if (!prepare(b, graph)) {
        take_back(p, 0, b->n);
        return GGML_STATUS_FAILED;
    }
    for (size_t i = 0; i < p->actions.count; i++) {
        const enum ggml_status status = act(b, graph, &p->actions.items[i]);
        if (status == GGML_STATUS_SUCCESS) continue;
        take_back(p, i, b->n);
        return status;
    }
    return GGML_STATUS_SUCCESS;
}
