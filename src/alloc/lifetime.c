// SPDX-License-Identifier: MIT
// Graph to intervals, in two steps: the description, which is all that planning sees of the graph (so that
// equal descriptions may share a plan), and the times of first and last use that follow from it.
//
// The rules:
//
// - A tensor with data or a buffer is external and stays where it is. A view lies in its base, at any depth
// the
//   same one, and using the view is using the base. A skipped tensor gets no memory.
// - Leafs and inputs, also through views, begin at time 0, a node's result when the node runs, any other
// source when its first user
//   runs. An input that was read for the last time is handed on like any result.
// - What is used ends at its last use. What no node uses ends never, nor do outputs; a view that no node uses
//   keeps its base for ever. Nodes of operator NONE that are views only order others: they hold nothing.
// - A skipped node runs inside its last user: what it reads is needed until then. A node that reads a skipped
// one
//   takes no place: what a fused step reads when is its own matter.
// - A node takes the place of the first source that its operator may write over, if type, sizes and strides
// are
//   the same, both are of one pool, the place is large enough, and nobody needs the source from then on:
//   neither a later node, nor this one through another slot or view. A source that is a view from the start
//   of its base gives the base's place under the same conditions.
// - A tensor that is in the list of nodes twice, or used before its node, is kept from its first use to the
// end.
#include "alloc/lifetime.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/graph.h"
#include "core/op.h"
#include "core/shape.h"

void tn_lifetime_fini(struct tn_lifetime * life) {
    TN_ARRAY_FREE(&life->items);
    TN_ARRAY_FREE(&life->nodes);
    TN_ARRAY_FREE(&life->edges);
    TN_ARRAY_FREE(&life->leafs);
    TN_ARRAY_FREE(&life->tensors);
    TN_ARRAY_FREE(&life->intervals);
    TN_ARRAY_FREE(&life->interval_of);
    tn_ptrset_free(&life->index);
}

// ---- the description -------------------------------------------------------------------------------------

struct describing {
    struct tn_lifetime * life;
    const struct tn_lifetime_request * request;
};

static const struct ggml_tensor * base_of(const struct ggml_tensor * t) {
    const struct ggml_tensor * base = t->view_src;
    while (base && base->view_src)
        base = base->view_src;
    return base;
}

static uint32_t traits_of(const struct describing * d, const struct ggml_tensor * t) {
    uint32_t traits = 0;
    if (t->data || t->buffer) traits |= TN_LIFETIME_EXTERNAL;
    if (t->flags & GGML_TENSOR_FLAG_INPUT) traits |= TN_LIFETIME_EARLY | TN_LIFETIME_INPUT;
    if (t->flags & GGML_TENSOR_FLAG_OUTPUT) traits |= TN_LIFETIME_KEPT | TN_LIFETIME_OUTPUT;
    if (t->op == GGML_OP_NONE) traits |= TN_LIFETIME_ORDERS;
    if (t->view_src) traits |= TN_LIFETIME_HOLDS_BASE;
    if (d->request->skipped && tn_ptrset_find(d->request->skipped, t)) traits |= TN_LIFETIME_SKIPPED;
    return traits;
}

static bool find_pool(const struct describing * d, const struct ggml_tensor * t, int id,
                      struct tn_lifetime_item * item) {
    const struct tn_lifetime_ids * ids = &d->request->ids;
    if (id < 0 || id >= ids->n_ids) {
        return tn_refuse("'%s' has the buffer id %d: there are %d", t->name, id, ids->n_ids);
    }
    item->pool = ids->pool_of_id[id];
    return true;
}

// What the tensor takes in its pool.
static bool measure(const struct describing * d, const struct ggml_tensor * t,
                    struct tn_lifetime_item * item) {
    ggml_backend_buffer_type_t type = d->request->ids.type_of_pool[item->pool];
    const size_t size = ggml_backend_buft_get_alloc_size(type, t);
    if (size == SIZE_MAX) return false;
    if (tn_size_align(size, ggml_backend_buft_get_alignment(type), &item->size)) return true;
    return tn_refuse("'%s' of %zu bytes is too large", t->name, size);
}

// Appends without a look at whether it is there.
static bool append(struct describing * d, struct ggml_tensor * t, int id) {
    struct tn_lifetime * life = d->life;
    if (tn_tensor_is_poisoned(t)) return tn_refuse("a tensor was refused: %s", tn_context_poison_text(t));
    struct tn_lifetime_item item = { .pool = -1, .base = -1, .traits = traits_of(d, t) };
    const bool placed = !t->view_src && !(item.traits & (TN_LIFETIME_EXTERNAL | TN_LIFETIME_SKIPPED));
    if (placed && !(find_pool(d, t, id, &item) && measure(d, t, &item))) return false;
    if (!TN_ARRAY_RESERVE(&life->items, 1, TN_MEM_GRAPH)) return false;
    if (!TN_ARRAY_RESERVE(&life->tensors, 1, TN_MEM_GRAPH)) return false;
    life->items.items[life->items.count++] = item;
    life->tensors.items[life->tensors.count++] = t;
    return true;
}

// The item of a tensor, appended if it is new, before that of its base. -1: refused.
static int32_t item_of(struct describing * d, const struct ggml_tensor * t, int id) {
    struct tn_lifetime * life = d->life;
    bool is_new;
    int64_t * place = tn_ptrset_put(&life->index, t, &is_new);
    if (!place) return -1;
    if (!is_new) return (int32_t) *place;
    const int32_t at = (int32_t) life->items.count;
    *place = at;
    if (!append(d, (struct ggml_tensor *) t, id)) return -1;
    if (!t->view_src) return at;
    const int32_t base = item_of(d, base_of(t), id);
    if (base < 0) return -1;
    life->items.items[at].base = base;
    life->items.items[base].traits |= life->items.items[at].traits & TN_LIFETIME_KEPT;
    return at;
}

// Where the memory of an item is: the item itself, or the base of a view.
static int32_t root_of(const struct tn_lifetime * life, int32_t item) {
    const int32_t base = life->items.items[item].base;
    return base >= 0 ? base : item;
}

static void keep(struct tn_lifetime * life, int32_t item) {
    life->items.items[root_of(life, item)].traits |= TN_LIFETIME_KEPT;
}

static bool describe_leafs(struct describing * d) {
    const struct tn_lifetime_request * r = d->request;
    struct tn_lifetime * life = d->life;
    if (!TN_ARRAY_RESERVE(&life->leafs, (size_t) r->graph->n_leafs, TN_MEM_GRAPH)) return false;
    for (int i = 0; i < r->graph->n_leafs; i++) {
        const int32_t item = item_of(d, r->graph->leafs[i], r->leaf_ids ? r->leaf_ids[i] : 0);
        if (item < 0) return false;
        life->items.items[item].traits |= TN_LIFETIME_EARLY;
        life->leafs.items[life->leafs.count++] = item;
    }
    return true;
}

// All nodes first, so that each has its own buffer id even if something earlier names it.
static bool describe_nodes(struct describing * d) {
    const struct tn_lifetime_request * r = d->request;
    struct tn_lifetime * life = d->life;
    const size_t n = (size_t) r->graph->n_nodes;
    if (!TN_ARRAY_RESERVE(&life->nodes, n + 1, TN_MEM_GRAPH)) return false;
    for (size_t i = 0; i < n; i++) {
        const struct ggml_tensor * t = r->graph->nodes[i];
        const int32_t known = (int32_t) life->items.count;
        const int32_t item = item_of(d, t, r->node_ids ? r->node_ids[i] : 0);
        if (item < 0) return false;
        if (item < known) keep(life, item);
        life->items.items[item].traits |= TN_LIFETIME_NODE;
        if (t->op == GGML_OP_NONE) life->items.items[item].traits &= ~(uint32_t) TN_LIFETIME_HOLDS_BASE;
        life->nodes.items[life->nodes.count++] = (struct tn_lifetime_node){ .item = item };
    }
    life->nodes.items[n] = (struct tn_lifetime_node){ .item = -1 };
    life->nodes.count = n + 1;
    return true;
}

static bool may_take(const struct ggml_tensor * node, int slot) {
    const struct tn_op * op = tn_op_get(node->op);
    const struct ggml_tensor * src = node->src[slot];
    return op && slot < op->may_reuse && src->type == node->type && tn_shape_same(src, node) &&
           tn_shape_same_strides(src, node) && (!src->view_src || src->view_offs == 0);
}

static bool describe_sources_of(struct describing * d, int i) {
    const struct tn_lifetime_request * r = d->request;
    struct tn_lifetime * life = d->life;
    const struct ggml_tensor * node = r->graph->nodes[i];
    if (!TN_ARRAY_RESERVE(&life->edges, GGML_MAX_SRC, TN_MEM_GRAPH)) return false;
    life->nodes.items[i].first_edge = (int32_t) life->edges.count;
    const int32_t before = i > 0 ? life->nodes.items[i - 1].item : -1; // the likeliest of all
    for (int s = 0; s < GGML_MAX_SRC; s++) {
        if (!node->src[s] || node->src[s] == node) continue;
        const bool is_before = before >= 0 && life->tensors.items[before] == node->src[s];
        const int32_t item = is_before ? before : item_of(d, node->src[s], r->node_ids ? r->node_ids[i] : 0);
        if (item < 0) return false;
        const uint32_t traits = life->items.items[item].traits;
        if ((traits & TN_LIFETIME_NODE) && !(traits & TN_LIFETIME_DEFINED)) keep(life, item);
        life->edges.items[life->edges.count++] = (struct tn_lifetime_edge){ item, may_take(node, s) };
    }
    life->items.items[life->nodes.items[i].item].traits |= TN_LIFETIME_DEFINED;
    return true;
}

// Room for leafs and nodes, and for as many sources as nodes usually have; others make room one by one.
static bool make_room(struct describing * d) {
    struct tn_lifetime * life = d->life;
    const size_t n_nodes = (size_t) d->request->graph->n_nodes;
    const size_t n = n_nodes + (size_t) d->request->graph->n_leafs;
    return TN_ARRAY_RESERVE(&life->items, n, TN_MEM_GRAPH) &&
           TN_ARRAY_RESERVE(&life->tensors, n, TN_MEM_GRAPH) &&
           TN_ARRAY_RESERVE(&life->edges, 2 * n_nodes, TN_MEM_GRAPH) && tn_ptrset_reserve(&life->index, n);
}

static bool describe(struct describing * d) {
    if (!tn_graph_usable(d->request->graph) || !make_room(d)) return false;
    if (!describe_leafs(d) || !describe_nodes(d)) return false;
    const int n = d->request->graph->n_nodes;
    for (int i = 0; i < n; i++) {
        if (!describe_sources_of(d, i)) return false;
    }
    d->life->nodes.items[n].first_edge = (int32_t) d->life->edges.count;
    return true;
}

bool tn_lifetime_describe(struct tn_lifetime * life, const struct tn_lifetime_request * request) {
    life->items.count = life->nodes.count = life->edges.count = life->tensors.count = 0;
    life->leafs.count = 0;
    tn_ptrset_clear(&life->index);
    struct describing d = { life, request };
    return describe(&d);
}

static bool item_covers(const struct tn_lifetime_item * a, const struct tn_lifetime_item * b) {
    const uint32_t compared = ~(uint32_t) (TN_LIFETIME_EXTERNAL | TN_LIFETIME_SPOKEN);
    if ((a->traits & compared) != (b->traits & compared) || a->base != b->base) return false;
    return (b->traits & TN_LIFETIME_EXTERNAL) || (a->pool == b->pool && a->size >= b->size);
}

bool tn_lifetime_covers(const struct tn_lifetime * plan, const struct tn_lifetime * other) {
    const struct tn_lifetime *a = plan, *b = other;
    if (a->items.count != b->items.count || a->nodes.count != b->nodes.count ||
        a->edges.count != b->edges.count || a->leafs.count != b->leafs.count ||
        memcmp(a->nodes.items, b->nodes.items, a->nodes.count * sizeof(a->nodes.items[0])) != 0) {
        return false;
    }
    for (size_t i = 0; i < a->edges.count; i++) {
        const struct tn_lifetime_edge *x = &a->edges.items[i], *y = &b->edges.items[i];
        if (x->item != y->item || x->may_take != y->may_take) return false;
    }
    for (size_t i = 0; i < a->items.count; i++) {
        if (!item_covers(&a->items.items[i], &b->items.items[i])) return false;
    }
    return true;
}

// ---- along another description ---------------------------------------------------------------------------
//
// The references of both graphs, to leafs, nodes and sources, are walked side by side. The plan says which
// item each of its own is: where it names an item for the first time, a tensor not seen before has to stand,
// and later the same one. "Not seen before" needs no table: a tensor that needs memory is marked in the field
// that is about to be written anyway. One with memory may stand for two items, for neither gets a place. Back
// ends that have an opinion on sizes are asked when the marks are gone.
//
// A node's sources are looked at with the node, so a node that was named before, be it as a source or in the
// list, is not followed: its buffer id would not be its own.

static struct ggml_backend_buffer mark; // only its address is used

struct following {
    struct tn_lifetime * life;
    const struct tn_lifetime * plan;
    const struct tn_lifetime_request * request;
    struct describing d;
    bool asks; // there are sizes to ask for
};

static bool follow(struct following * f, int32_t at, struct ggml_tensor * t, int id);

// A tensor that needs no place of its own: with memory, or a view.
static bool follow_base(struct following * f, int32_t at, struct ggml_tensor * t, int id, bool external) {
    const int32_t base = f->plan->items.items[at].base;
    if (!t->view_src) return base < 0;
    if (base < 0 || !follow(f, base, (struct ggml_tensor *) base_of(t), id)) return false;
    return !external || (f->life->items.items[base].traits & TN_LIFETIME_EXTERNAL);
}

// Sizes that back ends are not asked for are compared at once.
static bool size_may_fit(struct following * f, const struct tn_lifetime_item * planned,
                         const struct ggml_tensor * t, struct tn_lifetime_item * item) {
    if (f->request->ids.type_of_pool[item->pool]->iface.get_alloc_size) {
        f->asks = true;
        return true;
    }
    return measure(&f->d, t, item) && item->size <= planned->size;
}

// The first reference to an item.
static bool follow_new(struct following * f, int32_t at, struct ggml_tensor * t, int id) {
    const struct tn_lifetime_item * planned = &f->plan->items.items[at];
    if (t->buffer == &mark || tn_tensor_is_poisoned(t)) return false;
    struct tn_lifetime_item item = { .pool = -1, .base = planned->base, .traits = traits_of(&f->d, t) };
    const uint32_t compared = TN_LIFETIME_SPOKEN;
    const bool external = item.traits & TN_LIFETIME_EXTERNAL, places = !external && !t->view_src;
    if ((item.traits & compared) != (planned->traits & compared)) return false;
    if (places && !(find_pool(&f->d, t, id, &item) && item.pool == planned->pool)) return false;
    if (places && !size_may_fit(f, planned, t, &item)) return false;
    f->life->items.items[at] = item;
    f->life->tensors.items[at] = t;
    if (!external) t->buffer = &mark;
    return follow_base(f, at, t, id, external);
}

static bool follow(struct following * f, int32_t at, struct ggml_tensor * t, int id) {
    struct ggml_tensor * known = f->life->tensors.items[at];
    return known ? known == t : follow_new(f, at, t, id);
}

static bool follow_sources_of(struct following * f, int i) {
    const struct tn_lifetime_node * planned = &f->plan->nodes.items[i];
    const struct ggml_tensor * node = f->request->graph->nodes[i];
    const int id = f->request->node_ids ? f->request->node_ids[i] : 0;
    int32_t e = planned->first_edge;
    for (int s = 0; s < GGML_MAX_SRC; s++) {
        if (!node->src[s] || node->src[s] == node) continue;
        const struct tn_lifetime_edge * edge = &f->plan->edges.items[e];
        if (e++ >= planned[1].first_edge || !follow(f, edge->item, node->src[s], id) ||
            edge->may_take != may_take(node, s)) {
            return false;
        }
    }
    return e == planned[1].first_edge;
}

static bool follow_all(struct following * f) {
    const struct tn_lifetime_request * r = f->request;
    const struct ggml_cgraph * g = r->graph;
    for (int i = 0; i < g->n_leafs; i++) {
        if (!follow(f, f->plan->leafs.items[i], g->leafs[i], r->leaf_ids ? r->leaf_ids[i] : 0)) return false;
    }
    for (int i = 0; i < g->n_nodes; i++) {
        const int32_t at = f->plan->nodes.items[i].item;
        if (f->life->tensors.items[at]) return false;
        if (!follow_new(f, at, g->nodes[i], r->node_ids ? r->node_ids[i] : 0)) return false;
        if (!follow_sources_of(f, i)) return false;
    }
    return true;
}

static void remove_marks(const struct tn_lifetime * life) {
    for (size_t i = 0; i < life->tensors.count; i++) {
        struct ggml_tensor * t = life->tensors.items[i];
        if (t && t->buffer == &mark) t->buffer = NULL;
    }
}

static bool sizes_fit(const struct following * f) {
    for (size_t i = 0; i < f->life->items.count; i++) {
        struct tn_lifetime_item * item = &f->life->items.items[i];
        if (item->pool < 0) continue;
        if (!measure(&f->d, f->life->tensors.items[i], item)) return false;
        if (item->size > f->plan->items.items[i].size) return false;
    }
    return true;
}

bool tn_lifetime_follow(struct tn_lifetime * life, const struct tn_lifetime * plan,
                        const struct tn_lifetime_request * request) {
    const struct ggml_cgraph * g = request->graph;
    const size_t n = plan->items.count;
    if (!g || !tn_graph_usable(g) || (request->skipped && request->skipped->count > 0)) return false;
    if (plan->nodes.count != (size_t) g->n_nodes + 1) return false;
    if (plan->leafs.count != (size_t) g->n_leafs) return false;
    life->items.count = life->tensors.count = life->nodes.count = life->edges.count = 0;
    if (!TN_ARRAY_RESERVE(&life->items, n, TN_MEM_GRAPH)) return false;
    if (!TN_ARRAY_RESERVE(&life->tensors, n, TN_MEM_GRAPH)) return false;
    life->items.count = life->tensors.count = n;
    if (n > 0) memset(life->tensors.items, 0, n * sizeof(life->tensors.items[0]));
    struct following f = { life, plan, request, { life, request }, false };
    const bool same = follow_all(&f);
    remove_marks(life);
    return same && (!f.asks || sizes_fit(&f));
}

// ---- the intervals ---------------------------------------------------------------------------------------

struct planning {
    struct tn_lifetime * life;
    int32_t * last; // time of the last use of an item; 0: not used
};

static void use(struct planning * p, int32_t item, int32_t time) {
    const int32_t root = root_of(p->life, item);
    const bool holds = root == item || (p->life->items.items[item].traits & TN_LIFETIME_HOLDS_BASE);
    if (p->last[item] < time) p->last[item] = time;
    if (holds && p->last[root] < time) p->last[root] = time;
}

// From the last node to the first: when a node is reached, all uses of its result are known.
static void find_last_uses(struct planning * p) {
    const struct tn_lifetime * life = p->life;
    for (size_t i = life->nodes.count - 1; i-- > 0;) {
        const struct tn_lifetime_node * node = &life->nodes.items[i];
        const struct tn_lifetime_item * item = &life->items.items[node->item];
        int32_t time = (int32_t) i + 1;
        if ((item->traits & TN_LIFETIME_SKIPPED) && p->last[node->item] > time) time = p->last[node->item];
        for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
            use(p, life->edges.items[e].item, time);
        }
    }
    for (size_t i = 0; i < life->items.count; i++) {
        const struct tn_lifetime_item * item = &life->items.items[i];
        const bool unused_view = p->last[i] == 0 && (item->traits & TN_LIFETIME_HOLDS_BASE);
        if (item->traits & TN_LIFETIME_KEPT) p->last[i] = TN_PLACE_FOREVER;
        if (unused_view) p->last[item->base] = TN_PLACE_FOREVER;
    }
}

static void begin(struct planning * p, int32_t item, int32_t time, int32_t over) {
    struct tn_lifetime * life = p->life;
    const struct tn_lifetime_item * it = &life->items.items[item];
    if (it->size == 0 || life->interval_of.items[item] >= 0) return;
    life->interval_of.items[item] = (int32_t) life->intervals.count;
    life->intervals.items[life->intervals.count++] = (struct tn_place_interval){
        .size = it->size,
        .begin = time,
        .end = p->last[item] > 0 ? p->last[item] : TN_PLACE_FOREVER,
        .pool = it->pool,
        .over = over,
    };
}

static bool used_once_by(const struct tn_lifetime * life, const struct tn_lifetime_node * node,
                         int32_t root) {
    int uses = 0;
    for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
        uses += root_of(life, life->edges.items[e].item) == root;
    }
    return uses == 1;
}

static bool ends_fused_step(const struct tn_lifetime * life, const struct tn_lifetime_node * node) {
    for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
        const int32_t item = life->edges.items[e].item;
        const uint32_t traits =
            life->items.items[item].traits | life->items.items[root_of(life, item)].traits;
        if (traits & TN_LIFETIME_SKIPPED) return true;
    }
    return false;
}

// The interval whose place the node takes, -1: none.
static int32_t find_place_to_take(const struct planning * p, const struct tn_lifetime_node * node,
                                  int32_t time) {
    const struct tn_lifetime * life = p->life;
    const struct tn_lifetime_item * item = &life->items.items[node->item];
    if (ends_fused_step(life, node)) return -1;
    for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
        const int32_t root = root_of(life, life->edges.items[e].item);
        const struct tn_lifetime_item * source = &life->items.items[root];
        if (life->edges.items[e].may_take && life->interval_of.items[root] >= 0 && p->last[root] == time &&
            source->pool == item->pool && source->size >= item->size && used_once_by(life, node, root)) {
            return life->interval_of.items[root];
        }
    }
    return -1;
}

static void make_intervals(struct planning * p) {
    struct tn_lifetime * life = p->life;
    for (size_t i = 0; i < life->items.count; i++)
        life->interval_of.items[i] = -1;
    for (int32_t i = 0; i < (int32_t) life->items.count; i++) {
        const int32_t root = root_of(life, i);
        const bool computed = root != i && (life->items.items[root].traits & TN_LIFETIME_NODE);
        if ((life->items.items[i].traits & TN_LIFETIME_EARLY) && !computed) begin(p, root, 0, -1);
    }
    for (size_t i = 0; i + 1 < life->nodes.count; i++) {
        const struct tn_lifetime_node * node = &life->nodes.items[i];
        const int32_t time = (int32_t) i + 1;
        for (int32_t e = node->first_edge; e < node[1].first_edge; e++) {
            begin(p, root_of(life, life->edges.items[e].item), time, -1);
        }
        const int32_t root = root_of(life, node->item);
        begin(p, root, time, root == node->item ? find_place_to_take(p, node, time) : -1);
    }
}

bool tn_lifetime_plan(struct tn_lifetime * life) {
    const size_t n = life->items.count;
    struct planning p = { .life = life };
    life->intervals.count = life->interval_of.count = 0;
    p.last = tn_mem_calloc(n, sizeof(*p.last), TN_MEM_GRAPH);
    const bool ready = p.last && TN_ARRAY_RESERVE(&life->intervals, n, TN_MEM_GRAPH) &&
                       TN_ARRAY_RESERVE(&life->interval_of, n, TN_MEM_GRAPH);
    if (ready) {
        find_last_uses(&p);
        make_intervals(&p);
        life->interval_of.count = n;
    }
    tn_mem_free(p.last);
    return ready;
}
