// SPDX-License-Identifier: MIT
// Graphs: their place in a context, the hash of their tensors, copies and views.
#include "core/graph.h"

#include <limits.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"
#include "core/context.h"

// Offsets of a graph's arrays in its object. The hash has half as many slots again as tensors can be added,
// so that probes stay short in a full graph too.
struct places {
    size_t slots, nodes, leafs, keys, grads, grad_accs, use_counts, used, total;
};

static bool lay_out(size_t size, bool grads, struct places * p) {
    if (size > INT_MAX) return tn_refuse("a graph of %zu nodes is too large", size);
    p->slots = 3 * size + 8;
    const size_t list = size * sizeof(struct ggml_tensor *), table = p->slots * sizeof(struct ggml_tensor *);
    p->nodes = tn_align_up(sizeof(struct ggml_cgraph), GGML_MEM_ALIGN);
    p->leafs = p->nodes + list;
    p->keys = p->leafs + list;
    p->grads = p->keys + table;
    p->grad_accs = p->grads + (grads ? table : 0);
    p->use_counts = p->grad_accs + (grads ? table : 0);
    p->used = p->use_counts + p->slots * sizeof(int32_t);
    p->total = p->used + TN_BITSET_WORDS(p->slots) * sizeof(ggml_bitset_t);
    return true;
}

static size_t used_bytes(const struct ggml_cgraph * g) {
    return TN_BITSET_WORDS(g->visited_hash_set.size) * sizeof(ggml_bitset_t);
}

size_t ggml_graph_overhead_custom(size_t size, bool grads) {
    struct places p = { 0 };
    if (!lay_out(size, grads, &p)) return SIZE_MAX;
    return sizeof(struct ggml_object) + tn_align_up(p.total, GGML_MEM_ALIGN);
}

size_t ggml_graph_overhead(void) {
    return ggml_graph_overhead_custom(GGML_DEFAULT_GRAPH_SIZE, false);
}

static struct ggml_cgraph * refuse(struct ggml_context * ctx, const char * function) {
    tn_error_prefix("%s", function);
    return tn_context_poison_graph(ctx);
}

static struct ggml_cgraph * make(struct ggml_context * ctx, const char * function, size_t size, bool grads) {
    struct places p = { 0 };
    if (!ctx) tn_error_set("the context is NULL");
    char * at = ctx && lay_out(size, grads, &p) ? tn_context_add(ctx, TN_OBJECT_GRAPH, p.total) : NULL;
    if (!at) return refuse(ctx, function);
    struct ggml_cgraph * g = (struct ggml_cgraph *) at;
    *g = (struct ggml_cgraph){
        .size = (int) size,
        .nodes = (struct ggml_tensor **) (at + p.nodes),
        .grads = grads ? (struct ggml_tensor **) (at + p.grads) : NULL,
        .grad_accs = grads ? (struct ggml_tensor **) (at + p.grad_accs) : NULL,
        .leafs = (struct ggml_tensor **) (at + p.leafs),
        .use_counts = (int32_t *) (at + p.use_counts),
        .visited_hash_set = { p.slots, (ggml_bitset_t *) (at + p.used),
                              (struct ggml_tensor **) (at + p.keys) },
    };
    ggml_graph_clear(g);
    return g;
}

struct ggml_cgraph * ggml_new_graph_custom(struct ggml_context * ctx, size_t size, bool grads) {
    return make(ctx, __func__, size, grads);
}

struct ggml_cgraph * ggml_new_graph(struct ggml_context * ctx) {
    return make(ctx, __func__, GGML_DEFAULT_GRAPH_SIZE, false);
}

// A graph without a hash is the one that a full context hands out; it stays as it is.
static bool is_set_aside(const struct ggml_cgraph * g) {
    return !g->visited_hash_set.keys;
}

void ggml_graph_clear(struct ggml_cgraph * g) {
    if (!g || is_set_aside(g)) return;
    g->n_nodes = 0;
    g->n_leafs = 0;
    g->uid = 0;
    if (g->order == TN_GRAPH_INVALID) g->order = GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT;
    memset(g->visited_hash_set.used, 0, used_bytes(g));
}

// The slot in which t is or would be; TN_GRAPH_ABSENT if it is not there and every slot is taken.
static size_t probe(const struct ggml_hash_set * set, const struct ggml_tensor * t) {
    // The hash's upper 32 bits, scaled to the number of slots.
    const size_t first = (size_t) (((uint64_t) (uint32_t) (tn_ptrset_hash(t) >> 12) * set->size) >> 32);
    size_t i = first;
    while (tn_bitset_get(set->used, i) && set->keys[i] != t) {
        if (++i == set->size) i = 0;
        if (i == first) return TN_GRAPH_ABSENT;
    }
    return i;
}

size_t tn_graph_find(const struct ggml_cgraph * g, const struct ggml_tensor * t) {
    const struct ggml_hash_set * set = &g->visited_hash_set;
    if (!set->size) return TN_GRAPH_ABSENT;
    const size_t i = probe(set, t);
    return i != TN_GRAPH_ABSENT && tn_bitset_get(set->used, i) ? i : TN_GRAPH_ABSENT;
}

size_t tn_graph_insert(struct ggml_cgraph * g, struct ggml_tensor * t, bool * is_new) {
    struct ggml_hash_set * set = &g->visited_hash_set;
    const size_t i = set->size ? probe(set, t) : TN_GRAPH_ABSENT;
    *is_new = i != TN_GRAPH_ABSENT && !tn_bitset_get(set->used, i);
    if (!*is_new) return i;
    tn_bitset_set(set->used, i);
    set->keys[i] = t;
    if (g->use_counts) g->use_counts[i] = 0;
    if (g->grads) g->grads[i] = NULL;
    if (g->grad_accs) g->grad_accs[i] = NULL;
    return i;
}

int32_t tn_graph_use_count(const struct ggml_cgraph * g, const struct ggml_tensor * t) {
    const size_t i = tn_graph_find(g, t);
    return i != TN_GRAPH_ABSENT && g->use_counts ? g->use_counts[i] : 0;
}

struct ggml_cgraph tn_graph_view(struct ggml_cgraph * g, int i0, int i1) {
    return (struct ggml_cgraph){
        .n_nodes = i1 - i0,
        .nodes = g->nodes + i0,
        .use_counts = g->use_counts,
        .visited_hash_set = g->visited_hash_set,
        .order = g->order,
    };
}

void tn_graph_set_invalid(struct ggml_cgraph * g) {
    g->order = TN_GRAPH_INVALID;
}

static bool refuse_copy(struct ggml_cgraph * dst, const char * room) {
    if (!is_set_aside(dst)) ggml_graph_clear(dst);
    tn_graph_set_invalid(dst);
    tn_error_set("ggml_graph_cpy: the destination has no room for %s", room);
    TN_LOG_ERROR("%s\n", tn_error_text());
    return false;
}

static bool has_gradient(const struct ggml_cgraph * g, size_t slot) {
    return g->grads && (g->grads[slot] || g->grad_accs[slot]);
}

static bool copy_slot(const struct ggml_cgraph * src, size_t from, struct ggml_cgraph * dst) {
    bool is_new;
    const size_t to = tn_graph_insert(dst, src->visited_hash_set.keys[from], &is_new);
    if (to == TN_GRAPH_ABSENT) return refuse_copy(dst, "all tensors");
    if (src->use_counts) dst->use_counts[to] = src->use_counts[from];
    if (!has_gradient(src, from)) return true;
    if (!dst->grads) return refuse_copy(dst, "gradients");
    dst->grads[to] = src->grads[from];
    dst->grad_accs[to] = src->grad_accs[from];
    return true;
}

void ggml_graph_cpy(struct ggml_cgraph * src, struct ggml_cgraph * dst) {
    if (!src || !dst || src == dst) return;
    if (is_set_aside(dst) || dst->size < src->n_nodes || dst->size < src->n_leafs) {
        refuse_copy(dst, "all nodes");
        return;
    }
    ggml_graph_clear(dst);
    for (size_t i = 0; i < src->visited_hash_set.size; i++) {
        if (tn_bitset_get(src->visited_hash_set.used, i) && !copy_slot(src, i, dst)) return;
    }
    for (int i = 0; i < src->n_nodes; i++)
        dst->nodes[i] = src->nodes[i];
    for (int i = 0; i < src->n_leafs; i++)
        dst->leafs[i] = src->leafs[i];
    dst->n_nodes = src->n_nodes;
    dst->n_leafs = src->n_leafs;
    dst->order = src->order;
}

struct ggml_cgraph * ggml_graph_dup(struct ggml_context * ctx, struct ggml_cgraph * g, bool force_grads) {
    if (!g) {
        tn_error_set("the graph is NULL");
        return refuse(ctx, __func__);
    }
    // A view has no room of its own, but the hash of the graph that it shows.
    const size_t size = g->size > 0 ? (size_t) g->size : g->visited_hash_set.size / 3;
    struct ggml_cgraph * copy = make(ctx, __func__, size, g->grads || force_grads);
    if (!is_set_aside(copy)) ggml_graph_cpy(g, copy);
    return copy;
}

int ggml_graph_size(struct ggml_cgraph * g) {
    return g ? g->size : 0;
}

int ggml_graph_n_nodes(struct ggml_cgraph * g) {
    return g ? g->n_nodes : 0;
}

struct ggml_tensor ** ggml_graph_nodes(struct ggml_cgraph * g) {
    return g ? g->nodes : NULL;
}

struct ggml_tensor * ggml_graph_node(struct ggml_cgraph * g, int i) {
    if (!g) return NULL;
    const int at = i < 0 ? g->n_nodes + i : i;
    if (at >= 0 && at < g->n_nodes) return g->nodes[at];
    // A refused graph may have no nodes at all; who asks for the last one gets what refusals hand out.
    return tn_graph_poisoned(g);
}

static struct ggml_tensor * find_name(struct ggml_tensor ** list, int n, const char * name) {
    for (int i = 0; i < n; i++) {
        if (strcmp(list[i]->name, name) == 0) return list[i];
    }
    return NULL;
}

struct ggml_tensor * ggml_graph_get_tensor(const struct ggml_cgraph * g, const char * name) {
    if (!g || !name) return NULL;
    struct ggml_tensor * leaf = find_name(g->leafs, g->n_leafs, name);
    return leaf ? leaf : find_name(g->nodes, g->n_nodes, name);
}

static struct ggml_tensor * gradient(const struct ggml_cgraph * g, struct ggml_tensor * const * table,
                                     const struct ggml_tensor * t) {
    const size_t i = table && t ? tn_graph_find(g, t) : TN_GRAPH_ABSENT;
    return i != TN_GRAPH_ABSENT ? table[i] : NULL;
}

struct ggml_tensor * ggml_graph_get_grad(const struct ggml_cgraph * g, const struct ggml_tensor * node) {
    return g ? gradient(g, g->grads, node) : NULL;
}

struct ggml_tensor * ggml_graph_get_grad_acc(const struct ggml_cgraph * g, const struct ggml_tensor * node) {
    return g ? gradient(g, g->grad_accs, node) : NULL;
}

struct ggml_tensor * tn_graph_poisoned(const struct ggml_cgraph * g) {
    for (int i = 0; g->order == TN_GRAPH_INVALID && i < g->n_leafs; i++) {
        if (tn_tensor_is_poisoned(g->leafs[i])) return g->leafs[i];
    }
    return NULL;
}

bool tn_graph_usable(const struct ggml_cgraph * g) {
    if (!g) return tn_refuse("the graph is NULL");
    if (g->order != TN_GRAPH_INVALID) return true;
    const struct ggml_tensor * poisoned = tn_graph_poisoned(g);
    if (poisoned) return tn_refuse("the graph was refused: %s", tn_context_poison_text(poisoned));
    return tn_refuse(
        "the graph was refused: room for %d nodes and as many leafs is not enough, or an addition failed",
        g->size);
}
