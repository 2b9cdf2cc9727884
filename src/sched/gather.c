// SPDX-License-Identifier: MIT
// A graph as numbers: every tensor it reaches gets an id, leafs first, then nodes, then what only sources and
// views name. Here a graph is refused that cannot be scheduled at all.
#include "base/error.h"
#include "core/context.h"
#include "core/graph.h"
#include "sched/sched_int.h"

// ---- sources that an earlier split replaced --------------------------------------------------------------

static bool refuse_rewired(const struct ggml_tensor * node) {
    return tn_refuse("the graph was split before, by another scheduler or before another graph: '%s' has "
                     "sources that were copies; build it anew",
                     node->name);
}

// First wire of each node.
static bool index_wires(struct ggml_backend_sched * s, struct tn_ptrset * index) {
    for (size_t i = 0; i < s->wires.count; i++) {
        bool is_new;
        int64_t * place = tn_ptrset_put(index, s->wires.items[i].node, &is_new);
        if (!place) return false;
        if (is_new) *place = (int64_t) i;
    }
    return true;
}

static bool restore(struct ggml_backend_sched * s, const struct tn_ptrset * index,
                    struct ggml_tensor * node) {
    const int64_t * first = tn_ptrset_find(index, node);
    if (!first) return refuse_rewired(node);
    for (size_t i = (size_t) *first; i < s->wires.count && s->wires.items[i].node == node; i++) {
        const struct tn_sched_wire * w = &s->wires.items[i];
        if (node->src[w->slot] != w->copy) return refuse_rewired(node);
        node->src[w->slot] = w->original;
    }
    node->flags &= ~TN_TENSOR_REWIRED;
    return true;
}

// A graph that comes a second time, if none came in between, is what it was before the first time. Only nodes
// of the graph that is given are touched: those of the last one may be gone.
static bool restore_sources(struct ggml_backend_sched * s, const struct ggml_cgraph * g) {
    struct tn_ptrset index = { 0 };
    bool good = true;
    for (int i = 0; good && i < g->n_nodes; i++) {
        if (!(g->nodes[i]->flags & TN_TENSOR_REWIRED)) continue;
        if (index.count == 0) good = index_wires(s, &index);
        good = good && restore(s, &index, g->nodes[i]);
    }
    tn_ptrset_free(&index);
    return good;
}

// ---- ids -------------------------------------------------------------------------------------------------

static void forget_graph(struct ggml_backend_sched * s) {
    s->types.count = (size_t) s->n_types;
    tn_index_clear(s);
    tn_ptrset_clear(&s->keeps_until);
    s->keeps_lost = false;
    s->tensors.count = s->nodes.count = s->edges.count = 0;
    s->order.count = s->order_ids.count = 0;
    s->splits.count = s->copies.count = s->wires.count = s->keeps.count = 0;
    s->pool.used = 0;
}

static int32_t root_of(struct ggml_backend_sched * s, struct ggml_tensor * t, int32_t self);

// The id of a tensor, a new one if it has none. -1: refused.
static int32_t id_of(struct ggml_backend_sched * s, struct ggml_tensor * t) {
    int32_t * place = tn_index_put(s, t);
    if (!place) return -1;
    if (*place) return *place - 1;
    if (t->flags & TN_TENSOR_POISONED) {
        tn_error_set("a tensor was refused: %s", tn_context_poison_text(t));
        return -1;
    }
    const int32_t id = (int32_t) s->tensors.count;
    if (!TN_ARRAY_RESERVE(&s->tensors, 1, TN_MEM_GRAPH)) return -1;
    *place = id + 1;
    s->tensors.items[s->tensors.count++] = (struct tn_sched_tensor){
        .tensor = t,
        .root = id,
        .copies = -1,
        .memory = -1,
        .backend = -1,
        .is_work = tn_sched_is_work(t),
        .is_input = (t->flags & GGML_TENSOR_FLAG_INPUT) != 0,
        .has_memory = t->buffer || t->data,
    };
    const int32_t root = root_of(s, t, id);
    if (root >= 0) tn_sched_at(s, id)->root = root;
    return root >= 0 ? id : -1;
}

static int32_t root_of(struct ggml_backend_sched * s, struct ggml_tensor * t, int32_t self) {
    if (!t->view_src) return self;
    struct ggml_tensor * base = t->view_src;
    while (base->view_src)
        base = base->view_src;
    return id_of(s, base);
}

// Graphs are larger than caches: what is looked at soon is asked for before.
enum { AHEAD = 8 };

static void expect_node(const struct ggml_cgraph * g, size_t i) {
    if (i + AHEAD >= (size_t) g->n_nodes) return;
    const struct ggml_tensor * t = g->nodes[i + AHEAD];
    TN_PREFETCH(&t->buffer);
    TN_PREFETCH(&t->src[0]); // and the flags
    TN_PREFETCH(&t->data);
}

static bool gather_edges(struct ggml_backend_sched * s, const struct ggml_tensor * node) {
    if (!TN_ARRAY_RESERVE(&s->edges, GGML_MAX_SRC, TN_MEM_GRAPH)) return false;
    for (int slot = 0; slot < GGML_MAX_SRC; slot++) {
        if (!node->src[slot] || node->src[slot] == node) continue;
        const int32_t id = id_of(s, node->src[slot]);
        if (id < 0) return false;
        s->edges.items[s->edges.count++] = (struct tn_sched_edge){ id, slot };
    }
    return true;
}

static bool gather_nodes(struct ggml_backend_sched * s, const struct ggml_cgraph * g) {
    const size_t n = (size_t) g->n_nodes;
    if (!TN_ARRAY_RESERVE(&s->nodes, n + 1, TN_MEM_GRAPH)) return false;
    for (size_t i = 0; i < n; i++) {
        expect_node(g, i);
        const int32_t id = id_of(s, g->nodes[i]);
        if (id < 0) return false;
        tn_sched_at(s, id)->is_node = true;
        s->nodes.items[i] = (struct tn_sched_node){ .id = id };
    }
    for (size_t i = 0; i < n; i++) {
        expect_node(g, i);
        s->nodes.items[i].first_edge = (int32_t) s->edges.count;
        if (!gather_edges(s, g->nodes[i])) return false;
    }
    s->nodes.items[n] = (struct tn_sched_node){ .id = -1, .first_edge = (int32_t) s->edges.count };
    s->nodes.count = n;
    return true;
}

static bool gather_leafs(struct ggml_backend_sched * s, const struct ggml_cgraph * g) {
    for (int i = 0; i < g->n_leafs; i++) {
        if (id_of(s, g->leafs[i]) < 0) return false;
    }
    return true;
}

// ---- memory that is there --------------------------------------------------------------------------------

// Its place in `types`, -1: no memory.
static int type_index(struct ggml_backend_sched * s, ggml_backend_buffer_type_t buft) {
    for (size_t i = 0; i < s->types.count; i++) {
        if (s->types.items[i].buft == buft) return (int) i;
    }
    if (s->types.count >= INT16_MAX || !TN_ARRAY_RESERVE(&s->types, 1, TN_MEM_GRAPH)) return -1;
    struct tn_sched_type * type = &s->types.items[s->types.count];
    *type = (struct tn_sched_type){ .buft = buft };
    for (int b = 0; b < s->n_backends; b++) {
        if (ggml_backend_supports_buft(s->queues[b].backend, buft)) type->readers |= (uint16_t) (1u << b);
    }
    return (int) s->types.count++;
}

// Buffers of this graph that were found to exist, the latest ones.
struct seen {
    struct seen_buffer {
        ggml_backend_buffer_t buffer;
        bool is_own; // of this scheduler
        bool is_weights;
        int16_t type; // -1: there was no memory to note it
    } buffers[16];
    int n, last;
};

// NULL: it was freed.
static const struct seen_buffer * look_at(struct ggml_backend_sched * s, struct seen * seen,
                                          ggml_backend_buffer_t buffer) {
    if (seen->buffers[seen->last].buffer == buffer) return &seen->buffers[seen->last];
    for (int i = 0; i < 16; i++) {
        if (seen->buffers[i].buffer != buffer) continue;
        seen->last = i;
        return &seen->buffers[i];
    }
    if (!tn_buffer_is_live(buffer)) return NULL;
    seen->last = seen->n++ % 16;
    seen->buffers[seen->last] = (struct seen_buffer){
        .buffer = buffer,
        .is_own = tn_galloc_owns(s->main, buffer) || tn_galloc_owns(s->inputs, buffer),
        .is_weights = buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS,
        .type = (int16_t) type_index(s, buffer->buft),
    };
    return &seen->buffers[seen->last];
}

// Memory that this scheduler gave out with an earlier graph is given out again. What is not of this graph has
// lost its value then.
static bool take_back(struct tn_sched_tensor * t) {
    if (t->is_work && !t->is_node) {
        return tn_refuse(
            "'%s' was computed by an earlier graph of this scheduler, whose memory is used again",
            t->tensor->name);
    }
    t->tensor->buffer = NULL;
    t->tensor->data = NULL;
    return true;
}

static bool find_memory(struct ggml_backend_sched * s, int32_t id, struct seen * seen) {
    struct tn_sched_tensor * t = tn_sched_at(s, id);
    ggml_backend_buffer_t buffer = t->tensor->buffer;
    const struct seen_buffer * known = buffer ? look_at(s, seen, buffer) : NULL;
    if (buffer && !known) return tn_refuse("'%s' lies in a buffer that was freed", t->tensor->name);
    if (known && known->is_own) return take_back(t);
    if (t->root != id) return true;
    // Data without a buffer is the program's own.
    t->memory = known ? known->type : (int16_t) type_index(s, ggml_backend_cpu_buffer_type());
    t->is_weight = known && known->is_weights;
    return t->memory >= 0 || tn_refuse("there is no memory to note the buffer type of '%s'", t->tensor->name);
}

static bool find_memories(struct ggml_backend_sched * s) {
    struct seen seen = { 0 };
    for (int32_t id = 0; id < (int32_t) s->tensors.count; id++) {
        if (tn_sched_at(s, id)->has_memory && !find_memory(s, id, &seen)) return false;
    }
    return true;
}

// ---- what the caller said --------------------------------------------------------------------------------

static void take_placements(struct ggml_backend_sched * s) {
    for (int32_t id = 0; s->placed.count > 0 && id < (int32_t) s->tensors.count; id++) {
        struct tn_sched_tensor * t = tn_sched_at(s, id);
        const int64_t * backend = tn_ptrset_find(&s->placed, t->tensor);
        if (!backend) continue;
        t->backend = (int8_t) *backend;
        t->cause = TN_CAUSE_CALLER;
    }
}

// Inputs of which each graph in flight has its own.
static void find_instanced(struct ggml_backend_sched * s, const struct ggml_cgraph * g) {
    for (int i = 0; s->n_copies > 1 && i < g->n_leafs; i++) {
        if (!(g->leafs[i]->flags & GGML_TENSOR_FLAG_INPUT)) continue;
        const int32_t id = tn_index_find(s, g->leafs[i]);
        struct tn_sched_tensor * root = tn_sched_at(s, tn_sched_at(s, id)->root);
        root->instanced = root->memory < 0 && root->tensor->op == GGML_OP_NONE;
    }
}

static bool check_size(struct ggml_backend_sched * s, const struct ggml_cgraph * g) {
    const size_t n = (size_t) g->n_nodes + (size_t) g->n_leafs;
    return n <= s->max_tensors ||
           tn_refuse("the graph has %zu nodes and leafs, the scheduler was made for %zu", n, s->max_tensors);
}

bool tn_gather_graph(struct ggml_backend_sched * s, struct ggml_cgraph * g) {
    if (!tn_graph_usable(g) || !check_size(s, g) || !restore_sources(s, g)) return false;
    forget_graph(s);
    if (!gather_leafs(s, g) || !gather_nodes(s, g) || !find_memories(s)) return false;
    s->graph = *g;
    take_placements(s);
    find_instanced(s, g);
    return true;
}
