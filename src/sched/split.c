// SPDX-License-Identifier: MIT
// Cutting the graph where the back end changes. Nodes keep their order:
//
//      nodes   a b c | d e | f g h i | j k          a split: a run of nodes on one back end
//      runs on 0 0 0   1 1   0 0 0 0   1 1
//      inputs          c'    e'        c' i'        copies, brought before the split's first node
//
// Invariants:
//
// - Splits are runs of nodes without gaps; views start none, as there is nothing to compute.
// - A source that the back end of a split cannot read is replaced, in the node, by a copy that it can. There
//   is one copy for a source and a back end, made for the first split that needs it, and used by later ones,
//   until a node writes over the memory of the source: readers behind it get a new copy.
// - What can be read is read in place; the order of the queues makes that safe (queue.c).
// - Any number of splits, and of inputs to one: the lists grow.
// - A split that has inputs ends before a node that needs weights copied: so the memory of one layer's copied
//   weights can serve the next layer.
//
// Back ends see their splits (graph_optimize) before memory is planned; they may change the order of nodes
// within one and ask for memory to be kept longer.
#include <stdatomic.h>

#include "base/error.h"
#include "core/context.h"
#include "sched/sched_int.h"

// ---- what a split touches --------------------------------------------------------------------------------

static int kind_of(struct ggml_backend_sched * s, int32_t id) {
    const struct tn_sched_tensor * root = tn_sched_at(s, tn_sched_at(s, id)->root);
    if (root->memory >= 0) return TN_MEMORY_OUTSIDE;
    return root->instanced ? TN_MEMORY_INSTANCE + s->cur : TN_MEMORY_MAIN;
}

void tn_split_touch_source(struct ggml_backend_sched * s, int32_t id, uint32_t * set) {
    set[kind_of(s, id)] |= tn_queue_bit(tn_sched_type_of(s, id));
}

void tn_split_touch_copy(struct ggml_backend_sched * s, const struct tn_sched_copy * copy, uint32_t * set) {
    const int kind = copy->instanced ? TN_MEMORY_INSTANCE + s->cur : TN_MEMORY_MAIN;
    set[kind] |= tn_queue_bit(s->type_of[copy->backend]);
}

// ---- splits ----------------------------------------------------------------------------------------------

static struct tn_sched_split * present(struct ggml_backend_sched * s) {
    return &s->splits.items[s->splits.count - 1];
}

static bool begin_split(struct ggml_backend_sched * s, int backend, int32_t node) {
    if (!TN_ARRAY_RESERVE(&s->splits, 1, TN_MEM_GRAPH)) return false;
    const int32_t n_copies = (int32_t) s->copies.count;
    s->splits.items[s->splits.count++] = (struct tn_sched_split){
        .backend = backend,
        .first = node,
        .end = node,
        .first_copy = n_copies,
        .end_copy = n_copies,
    };
    return true;
}

static bool has_inputs(const struct tn_sched_split * split) {
    return split->end_copy > split->first_copy;
}

static bool needs_weights(struct ggml_backend_sched * s, int backend, const struct tn_sched_node * node) {
    for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
        const int32_t source = s->edges.items[e].id;
        if (tn_sched_at(s, tn_sched_at(s, source)->root)->is_weight &&
            !tn_sched_reaches(s, backend, source) && tn_copies_find(s, source, backend) < 0) {
            return true;
        }
    }
    return false;
}

static bool starts_split(struct ggml_backend_sched * s, const struct tn_sched_node * node) {
    const int backend = tn_sched_at(s, node->id)->backend;
    if (backend != present(s)->backend) return true;
    return has_inputs(present(s)) && needs_weights(s, backend, node);
}

static bool wire(struct ggml_backend_sched * s, struct ggml_tensor * node, int32_t slot, int32_t copy) {
    if (!TN_ARRAY_RESERVE(&s->wires, 1, TN_MEM_GRAPH)) return false;
    struct tn_sched_copy * c = &s->copies.items[copy];
    struct ggml_tensor * instance = c->tensors[c->instanced ? s->cur : 0];
    s->wires.items[s->wires.count++] = (struct tn_sched_wire){
        .node = node,
        .original = node->src[slot],
        .copy = instance,
        .slot = slot,
    };
    node->src[slot] = instance;
    node->flags |= TN_TENSOR_REWIRED;
    c->n_uses++;
    return true;
}

// One source of a node of the present split.
static bool add_source(struct ggml_backend_sched * s, const struct tn_sched_node * node,
                       const struct tn_sched_edge * edge) {
    struct tn_sched_split * split = present(s);
    if (tn_sched_reaches(s, split->backend, edge->id)) {
        tn_split_touch_source(s, edge->id, split->touch.reads);
        return true;
    }
    const int32_t copy = tn_copies_get(s, edge->id, split->backend);
    if (copy < 0) return false;
    split->end_copy = (int32_t) s->copies.count;
    tn_split_touch_copy(s, &s->copies.items[copy], split->touch.reads);
    return wire(s, tn_sched_at(s, node->id)->tensor, edge->slot, copy);
}

static bool add_work(struct ggml_backend_sched * s, int32_t i) {
    const struct tn_sched_node * node = &s->nodes.items[i];
    const struct tn_sched_targets targets = tn_sched_targets_of(s, node->id); // before sources become copies
    if (starts_split(s, node) && !begin_split(s, tn_sched_at(s, node->id)->backend, i)) return false;
    for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
        if (!add_source(s, node, &s->edges.items[e])) return false;
    }
    for (int k = 0; k < targets.n; k++) {
        tn_split_touch_source(s, targets.roots[k], present(s)->touch.writes);
        if (targets.roots[k] != node->id) tn_sched_at(s, targets.roots[k])->version++;
    }
    return true;
}

// Views that come first belong to the first split that computes.
static int first_backend(struct ggml_backend_sched * s) {
    size_t i = 0;
    while (i < s->nodes.count && !tn_sched_at(s, s->nodes.items[i].id)->is_work)
        i++;
    return i < s->nodes.count ? tn_sched_at(s, s->nodes.items[i].id)->backend : s->n_backends - 1;
}

static bool cut(struct ggml_backend_sched * s) {
    const int32_t n = (int32_t) s->nodes.count;
    if (!TN_ARRAY_RESERVE(&s->order, (size_t) n, TN_MEM_GRAPH) ||
        !TN_ARRAY_RESERVE(&s->order_ids, (size_t) n, TN_MEM_GRAPH)) {
        return false;
    }
    if (n > 0 && !begin_split(s, first_backend(s), 0)) return false;
    for (int32_t i = 0; i < n; i++) {
        const int32_t id = s->nodes.items[i].id;
        if (tn_sched_at(s, id)->is_work && !add_work(s, i)) return false;
        s->order.items[s->order.count++] = tn_sched_at(s, id)->tensor;
        s->order_ids.items[s->order_ids.count++] = id;
        present(s)->end = i + 1;
    }
    return true;
}

// ---- the back ends' own order ----------------------------------------------------------------------------

static void keep_until(void * user_data, struct ggml_tensor * tensor, struct ggml_tensor * until) {
    struct ggml_backend_sched * s = user_data;
    bool is_new;
    int64_t * place = tensor && until && TN_ARRAY_RESERVE(&s->keeps, 1, TN_MEM_GRAPH)
                          ? tn_ptrset_put(&s->keeps_until, until, &is_new)
                          : NULL;
    if (!place) {
        s->keeps_lost = true;
        return;
    }
    s->keeps.items[s->keeps.count] = (struct tn_sched_keep){ tensor, until, is_new ? -1 : (int32_t) *place };
    *place = (int64_t) s->keeps.count++;
}

static void mark_nodes(struct ggml_backend_sched * s, const struct tn_sched_split * split, int32_t by) {
    for (int32_t i = split->first; i < split->end; i++) {
        const int32_t id = tn_index_find(s, s->order.items[i]);
        if (id >= 0) tn_sched_at(s, id)->mark += by;
    }
}

// The nodes that were there, each as often as before? Leaves all marks 0, and the ids in the new order.
static bool same_nodes(struct ggml_backend_sched * s, const struct tn_sched_split * split) {
    bool same = true;
    mark_nodes(s, split, -1);
    for (int32_t i = split->first; i < split->end; i++) {
        struct tn_sched_tensor * t = tn_sched_at(s, s->nodes.items[i].id);
        same = same && t->mark == 0;
        t->mark = 0;
    }
    for (int32_t i = split->first; same && i < split->end; i++)
        s->order_ids.items[i] = tn_index_find(s, s->order.items[i]);
    return same;
}

struct ggml_cgraph tn_split_graph_of(struct ggml_backend_sched * s, int32_t first, int32_t end) {
    return (struct ggml_cgraph){
        .n_nodes = end - first,
        .nodes = s->order.items + first,
        .use_counts = s->graph.use_counts,
        .visited_hash_set = s->graph.visited_hash_set,
        .order = s->graph.order,
    };
}

static bool optimise(struct ggml_backend_sched * s, const struct tn_sched_split * split) {
    ggml_backend_t backend = s->queues[split->backend].backend;
    if (!backend->iface.graph_optimize) return true;
    struct ggml_backend_graph_optimize_params params = { keep_until, s };
    struct ggml_cgraph graph = tn_split_graph_of(s, split->first, split->end);
    mark_nodes(s, split, 1);
    backend->iface.graph_optimize(backend, &graph, &params);
    const bool whole = graph.n_nodes == split->end - split->first && same_nodes(s, split);
    return whole || tn_refuse("back end %s changed the nodes of a graph that it was to order, around '%s'",
                              ggml_backend_name(backend), s->order.items[split->first]->name);
}

static bool optimise_all(struct ggml_backend_sched * s) {
    static _Atomic uint64_t uid = 1;
    for (size_t i = 0; i < s->splits.count; i++) {
        s->splits.items[i].uid = atomic_fetch_add(&uid, 1);
        if (!optimise(s, &s->splits.items[i])) return false;
    }
    return !s->keeps_lost ||
           tn_refuse("what back ends asked to keep could not be noted: %s", tn_error_text());
}

bool tn_split_graph(struct ggml_backend_sched * s) {
    if (cut(s) && optimise_all(s)) return true;
    tn_split_undo(s);
    return false;
}

void tn_split_undo(struct ggml_backend_sched * s) {
    for (size_t i = s->wires.count; i-- > 0;) {
        const struct tn_sched_wire * w = &s->wires.items[i];
        w->node->src[w->slot] = w->original;
        w->node->flags &= ~TN_TENSOR_REWIRED;
    }
    s->wires.count = 0;
}
