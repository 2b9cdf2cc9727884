// SPDX-License-Identifier: MIT
// The graph allocator: descriptions (lifetime.c) become plans (place.c), plans become buffers, tensors get
// addresses.
//
// A plan belongs to a description, not to a graph: another graph is given the places of the present plan if
// its description is covered by the plan's (tn_lifetime_covers), and is planned anew if not. So planning and
// buffers are spared where they can be; and describing as well where following the plan's description
// (tn_lifetime_follow) shows that the graph is the same again.
#include "alloc/galloc.h"

#include <string.h>

#include "alloc/lifetime.h"
#include "alloc/place.h"
#include "backend/iface.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/graph.h"
#include "core/shape.h"

struct pool {
    ggml_backend_buffer_t chunks[TN_BLOCKS_CHUNKS]; // owned
    void * bases[TN_BLOCKS_CHUNKS];                 // their addresses, asked for at every allocation
};

struct plan {
    struct tn_lifetime life;
    TN_ARRAY(struct tn_place_spot) spots; // of the intervals
    struct tn_place_pool * pools;
};

struct ggml_gallocr {
    int n_ids, n_pools;
    int * pool_of_id;
    ggml_backend_buffer_type_t * type_of_pool;
    struct pool * pools;
    struct plan plans[2];   // the present one, and room for the next
    int present;            // which of them
    bool planned;           // there is a present one, and the buffers are as large as it says
    TN_ARRAY(int) node_ids; // of the present plan, where there are several ids
    TN_ARRAY(int) leaf_ids;
    struct tn_ptrset skipped;
};

// ---- life ------------------------------------------------------------------------------------------------

static void plan_fini(struct plan * plan) {
    tn_lifetime_fini(&plan->life);
    TN_ARRAY_FREE(&plan->spots);
    tn_mem_free(plan->pools);
}

void ggml_gallocr_free(ggml_gallocr_t galloc) {
    if (!galloc) return;
    for (int p = 0; galloc->pools && p < galloc->n_pools; p++) {
        for (int c = 0; c < TN_BLOCKS_CHUNKS; c++)
            ggml_backend_buffer_free(galloc->pools[p].chunks[c]);
    }
    tn_ptrset_free(&galloc->skipped);
    TN_ARRAY_FREE(&galloc->leaf_ids);
    TN_ARRAY_FREE(&galloc->node_ids);
    plan_fini(&galloc->plans[1]);
    plan_fini(&galloc->plans[0]);
    tn_mem_free(galloc->pools);
    tn_mem_free(galloc->type_of_pool);
    tn_mem_free(galloc->pool_of_id);
    tn_mem_free(galloc);
}

static int pool_of_type(struct ggml_gallocr * g, ggml_backend_buffer_type_t type) {
    for (int p = 0; p < g->n_pools; p++) {
        if (g->type_of_pool[p] == type) return p;
    }
    g->type_of_pool[g->n_pools] = type;
    return g->n_pools++;
}

static ggml_gallocr_t make(ggml_backend_buffer_type_t * bufts, int n) {
    struct ggml_gallocr * g = tn_mem_calloc(1, sizeof(*g), TN_MEM_OBJECT);
    if (!g) return NULL;
    g->n_ids = n;
    g->pool_of_id = tn_mem_calloc((size_t) n, sizeof(*g->pool_of_id), TN_MEM_OBJECT);
    g->type_of_pool = tn_mem_calloc((size_t) n, sizeof(*g->type_of_pool), TN_MEM_OBJECT);
    g->pools = tn_mem_calloc((size_t) n, sizeof(*g->pools), TN_MEM_OBJECT);
    for (int i = 0; i < 2; i++) {
        g->plans[i].pools = tn_mem_calloc((size_t) n, sizeof(*g->plans[i].pools), TN_MEM_OBJECT);
    }
    if (!g->pool_of_id || !g->type_of_pool || !g->pools || !g->plans[0].pools || !g->plans[1].pools) {
        ggml_gallocr_free(g);
        return NULL;
    }
    for (int i = 0; i < n; i++)
        g->pool_of_id[i] = pool_of_type(g, bufts[i]);
    return g;
}

ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t * bufts, int n_bufs) {
    if (!bufts || n_bufs < 1) {
        tn_iface_refuse(__func__, "there is no buffer type");
        return NULL;
    }
    for (int i = 0; i < n_bufs; i++) {
        if (bufts[i]) continue;
        tn_iface_refuse(__func__, "buffer type %d is NULL", i);
        return NULL;
    }
    return make(bufts, n_bufs);
}

ggml_gallocr_t ggml_gallocr_new(ggml_backend_buffer_type_t buft) {
    return ggml_gallocr_new_n(&buft, 1);
}

// ---- planning --------------------------------------------------------------------------------------------

static struct plan * present_plan(struct ggml_gallocr * g) {
    return &g->plans[g->present];
}

static struct plan * next_plan(struct ggml_gallocr * g) {
    return &g->plans[!g->present];
}

static struct tn_lifetime_request request_for(struct ggml_gallocr * g, const struct ggml_cgraph * graph,
                                              const int * node_ids, const int * leaf_ids) {
    return (struct tn_lifetime_request){
        .graph = graph,
        .node_ids = node_ids,
        .leaf_ids = leaf_ids,
        .ids = { g->n_ids, g->pool_of_id, g->type_of_pool },
        .skipped = &g->skipped,
    };
}

static bool describe(struct ggml_gallocr * g, const struct ggml_cgraph * graph, const int * node_ids,
                     const int * leaf_ids) {
    const struct tn_lifetime_request request = request_for(g, graph, node_ids, leaf_ids);
    return tn_lifetime_describe(&next_plan(g)->life, &request);
}

// The same graph as the present plan's, which then has been described as far as giving places needs it.
static bool is_present_graph(struct ggml_gallocr * g, const struct ggml_cgraph * graph, const int * node_ids,
                             const int * leaf_ids) {
    const struct tn_lifetime_request request = request_for(g, graph, node_ids, leaf_ids);
    return g->planned && tn_lifetime_follow(&next_plan(g)->life, &present_plan(g)->life, &request);
}

// Places for what was described.
static bool plan_next(struct ggml_gallocr * g) {
    struct plan * plan = next_plan(g);
    plan->spots.count = 0;
    if (!tn_lifetime_plan(&plan->life)) return false;
    const size_t n = plan->life.intervals.count;
    if (!TN_ARRAY_RESERVE(&plan->spots, n, TN_MEM_GRAPH)) return false;
    for (int p = 0; p < g->n_pools; p++) {
        plan->pools[p].max_size = ggml_backend_buft_get_max_size(g->type_of_pool[p]);
        plan->pools[p].n_chunks = 0;
    }
    plan->spots.count = n;
    return tn_place_intervals(plan->life.intervals.items, n, plan->pools, g->n_pools, plan->spots.items);
}

static bool pool_size(const struct tn_place_pool * pool, size_t * size) {
    *size = 0;
    for (int c = 0; c < pool->n_chunks; c++) {
        if (!tn_size_add(*size, pool->chunk_size[c], size))
            return tn_refuse("the sum of the sizes overflows");
    }
    return true;
}

// ---- buffers ---------------------------------------------------------------------------------------------

// Adds to the text of an allocation that failed what to look at first: the largest tensor.
static bool refuse_chunk(struct ggml_gallocr * g, int pool) {
    const struct tn_lifetime * life = &present_plan(g)->life;
    size_t largest = 0, found = 0;
    for (size_t i = 0; i < life->items.count; i++) {
        const struct tn_lifetime_item * item = &life->items.items[i];
        if (item->pool != pool || item->size <= largest) continue;
        largest = item->size;
        found = i;
    }
    if (largest == 0) return false;
    char text[TN_SHAPE_TENSOR_TEXT];
    return tn_refuse("%s; the largest tensor there is %s of %zu bytes", tn_error_text(),
                     tn_shape_tensor_text(text, life->tensors.items[found]), largest);
}

// The old buffer is freed first: both together may be more than there is.
static bool grow_chunk(struct ggml_gallocr * g, int pool, int chunk, size_t size) {
    ggml_backend_buffer_t * buffer = &g->pools[pool].chunks[chunk];
    if (*buffer && (*buffer)->size >= size) return true;
    ggml_backend_buffer_free(*buffer);
    *buffer = ggml_backend_buft_alloc_buffer(g->type_of_pool[pool], size);
    if (!*buffer) return refuse_chunk(g, pool);
    if (size > 0 && !ggml_backend_buffer_get_base(*buffer)) {
        ggml_backend_buffer_free(*buffer);
        *buffer = NULL;
        return tn_refuse("the back end of %s memory gave %zu bytes without an address",
                         ggml_backend_buft_name(g->type_of_pool[pool]), size);
    }
    ggml_backend_buffer_set_usage(*buffer, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
    return true;
}

// Every pool has at least one buffer, if of size 0: tensors without elements need one as well.
static bool grow_buffers(struct ggml_gallocr * g) {
    for (int p = 0; p < g->n_pools; p++) {
        const struct tn_place_pool * pool = &present_plan(g)->pools[p];
        if (pool->n_chunks == 0 && !grow_chunk(g, p, 0, 0)) return false;
        for (int c = 0; c < pool->n_chunks; c++) {
            if (!grow_chunk(g, p, c, pool->chunk_size[c])) return false;
        }
    }
    return true;
}

static bool plan_and_grow(struct ggml_gallocr * g) {
    if (!plan_next(g)) return false;
    g->present = !g->present;
    g->planned = grow_buffers(g);
    return g->planned;
}

static bool copy_ids(struct ggml_gallocr * g, const struct ggml_cgraph * graph, const int * node_ids,
                     const int * leaf_ids) {
    g->node_ids.count = g->leaf_ids.count = 0;
    const bool matter = g->n_ids > 1; // else all are 0, whatever the graph
    const size_t n_nodes = matter && node_ids ? (size_t) graph->n_nodes : 0;
    const size_t n_leafs = matter && leaf_ids ? (size_t) graph->n_leafs : 0;
    if (!TN_ARRAY_RESERVE(&g->node_ids, n_nodes, TN_MEM_GRAPH)) return false;
    if (!TN_ARRAY_RESERVE(&g->leaf_ids, n_leafs, TN_MEM_GRAPH)) return false;
    if (n_nodes > 0) memcpy(g->node_ids.items, node_ids, n_nodes * sizeof(int));
    if (n_leafs > 0) memcpy(g->leaf_ids.items, leaf_ids, n_leafs * sizeof(int));
    g->node_ids.count = n_nodes;
    g->leaf_ids.count = n_leafs;
    return true;
}

// The graph has been described with these ids.
static bool plan_with_ids(struct ggml_gallocr * g, const struct ggml_cgraph * graph, const int * node_ids,
                          const int * leaf_ids) {
    g->planned = false; // until the ids are those of the new plan
    return copy_ids(g, graph, node_ids, leaf_ids) && plan_and_grow(g);
}

bool ggml_gallocr_reserve_n(ggml_gallocr_t galloc, struct ggml_cgraph * graph, const int * node_buffer_ids,
                            const int * leaf_buffer_ids) {
    if (!galloc) return tn_iface_refuse(__func__, "the allocator is NULL");
    if (describe(galloc, graph, node_buffer_ids, leaf_buffer_ids) &&
        plan_with_ids(galloc, graph, node_buffer_ids, leaf_buffer_ids)) {
        return true;
    }
    return tn_iface_refuse(__func__, "%s", tn_error_text());
}

bool ggml_gallocr_reserve(ggml_gallocr_t galloc, struct ggml_cgraph * graph) {
    return ggml_gallocr_reserve_n(galloc, graph, NULL, NULL);
}

void ggml_gallocr_reserve_n_size(ggml_gallocr_t galloc, struct ggml_cgraph * graph,
                                 const int * node_buffer_ids, const int * leaf_buffer_ids, size_t * sizes) {
    if (!galloc || !sizes) {
        tn_iface_refuse(__func__, galloc ? "there is no place for the sizes" : "the allocator is NULL");
        return;
    }
    bool done = describe(galloc, graph, node_buffer_ids, leaf_buffer_ids) && plan_next(galloc);
    for (int i = 0; done && i < galloc->n_ids; i++) {
        done = pool_size(&next_plan(galloc)->pools[galloc->pool_of_id[i]], &sizes[i]);
    }
    if (done) return;
    for (int i = 0; i < galloc->n_ids; i++)
        sizes[i] = SIZE_MAX;
    tn_iface_refuse(__func__, "%s", tn_error_text());
}

size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t galloc, int buffer_id) {
    if (!galloc || buffer_id < 0 || buffer_id >= galloc->n_ids) return 0;
    const int pool = galloc->pool_of_id[buffer_id];
    for (int i = 0; i < buffer_id; i++) {
        if (galloc->pool_of_id[i] == pool) return 0; // counted there
    }
    size_t size = 0;
    for (int c = 0; c < TN_BLOCKS_CHUNKS; c++) {
        size += ggml_backend_buffer_get_size(galloc->pools[pool].chunks[c]);
    }
    return size;
}

void ggml_gallocr_set_skipped_tensors(ggml_gallocr_t galloc, struct ggml_tensor ** tensors, int n) {
    if (!galloc || n < 0 || (n > 0 && !tensors)) {
        tn_iface_refuse(__func__, galloc ? "the list is NULL" : "the allocator is NULL");
        return;
    }
    tn_ptrset_clear(&galloc->skipped);
    for (int i = 0; i < n; i++) {
        if (tensors[i] && !tn_ptrset_put(&galloc->skipped, tensors[i], NULL)) {
            // Those that are not noted get memory, which nobody writes.
            tn_iface_refuse(__func__, "%d of %d tensors are not noted: %s", n - i, n, tn_error_text());
            return;
        }
    }
}

// ---- addresses -------------------------------------------------------------------------------------------

static enum ggml_status give_place(struct ggml_gallocr * g, const struct tn_lifetime * described, size_t i) {
    const struct plan * plan = present_plan(g);
    const int32_t interval = plan->life.interval_of.items[i];
    // Without elements: any address will do.
    const struct tn_place_spot spot =
        interval >= 0 ? plan->spots.items[interval] : (struct tn_place_spot){ 0 };
    const struct pool * pool = &g->pools[described->items.items[i].pool];
    char * base = pool->bases[spot.chunk];
    return tn_buffer_settle(pool->chunks[spot.chunk], described->tensors.items[i],
                            base ? base + spot.offset : NULL);
}

static bool is_open_view(const struct ggml_tensor * t) {
    return t->view_src && !t->buffer && t->view_src->buffer;
}

static enum ggml_status give_to_views(const struct tn_lifetime * described) {
    for (size_t i = 0; i < described->items.count; i++) {
        const struct tn_lifetime_item * item = &described->items.items[i];
        if (item->base < 0 || (item->traits & TN_LIFETIME_SKIPPED)) continue;
        struct ggml_tensor * t = described->tensors.items[i];
        if (is_open_view(t)) TN_TRY(ggml_backend_view_init(t));
    }
    return GGML_STATUS_SUCCESS;
}

// A view may come before its base in the list; most do not, and are served on the way.
static enum ggml_status give_places(struct ggml_gallocr * g, const struct tn_lifetime * described) {
    bool views_left = false;
    for (size_t i = 0; i < described->items.count; i++) {
        const struct tn_lifetime_item * item = &described->items.items[i];
        struct ggml_tensor * t = described->tensors.items[i];
        if (item->pool >= 0) {
            TN_TRY(give_place(g, described, i));
        } else if (item->base >= 0 && !(item->traits & TN_LIFETIME_SKIPPED)) {
            if (is_open_view(t)) TN_TRY(ggml_backend_view_init(t));
            views_left = views_left || !t->buffer;
        }
    }
    return views_left ? give_to_views(described) : GGML_STATUS_SUCCESS;
}

// What had no memory when it was described has none again.
static void take_places_back(const struct tn_lifetime * described) {
    for (size_t i = 0; i < described->items.count; i++) {
        if (described->items.items[i].traits & (TN_LIFETIME_EXTERNAL | TN_LIFETIME_SKIPPED)) continue;
        described->tensors.items[i]->data = NULL;
        described->tensors.items[i]->buffer = NULL;
    }
}

static void reset_buffers(struct ggml_gallocr * g) {
    for (int p = 0; p < g->n_pools; p++) {
        struct pool * pool = &g->pools[p];
        for (int c = 0; c < TN_BLOCKS_CHUNKS; c++) {
            ggml_backend_buffer_reset(pool->chunks[c]);
            pool->bases[c] = ggml_backend_buffer_get_base(pool->chunks[c]);
        }
    }
}

static bool fits_present_plan(struct ggml_gallocr * g) {
    return g->planned && tn_lifetime_covers(&present_plan(g)->life, &next_plan(g)->life);
}

// The ids of the present plan serve by position, so the numbers of nodes and leafs have to be its own.
static bool ids_fit(const struct ggml_gallocr * g, const struct ggml_cgraph * graph) {
    const bool fit = (g->node_ids.count == 0 || g->node_ids.count == (size_t) graph->n_nodes) &&
                     (g->leaf_ids.count == 0 || g->leaf_ids.count == (size_t) graph->n_leafs);
    return fit || tn_refuse("the graph has %d nodes and %d leafs, the plan was for %zu and %zu",
                            graph->n_nodes, graph->n_leafs, g->node_ids.count, g->leaf_ids.count);
}

// The description of the graph, with places in the present plan. NULL with a text.
static const struct tn_lifetime * match(struct ggml_gallocr * g, const struct ggml_cgraph * graph) {
    if (graph && !ids_fit(g, graph)) return NULL;
    const int * node_ids = g->node_ids.count > 0 ? g->node_ids.items : NULL;
    const int * leaf_ids = g->leaf_ids.count > 0 ? g->leaf_ids.items : NULL;
    if (is_present_graph(g, graph, node_ids, leaf_ids)) return &next_plan(g)->life;
    if (!describe(g, graph, node_ids, leaf_ids)) return NULL;
    if (fits_present_plan(g)) return &next_plan(g)->life;
    if (g->n_ids > 1) {
        tn_error_set("the graph is not the one that was planned, and there are several buffer ids: "
                     "ggml_gallocr_reserve_n() first");
        return NULL;
    }
    return plan_and_grow(g) ? &present_plan(g)->life : NULL;
}

static bool place_described(struct ggml_gallocr * g, const struct tn_lifetime * described) {
    reset_buffers(g);
    if (give_places(g, described) != GGML_STATUS_SUCCESS) {
        take_places_back(described);
        return false;
    }
    tn_ptrset_clear(&g->skipped);
    return true;
}

bool ggml_gallocr_alloc_graph(ggml_gallocr_t galloc, struct ggml_cgraph * graph) {
    if (!galloc) return tn_iface_refuse(__func__, "the allocator is NULL");
    const struct tn_lifetime * described = match(galloc, graph);
    return (described && place_described(galloc, described)) ||
           tn_iface_refuse(__func__, "%s", tn_error_text());
}

bool tn_galloc_alloc(ggml_gallocr_t galloc, const struct tn_galloc_request * r) {
    if (is_present_graph(galloc, r->graph, r->node_ids, r->leaf_ids)) {
        return place_described(galloc, &next_plan(galloc)->life);
    }
    if (!describe(galloc, r->graph, r->node_ids, r->leaf_ids)) return false;
    if (fits_present_plan(galloc)) return place_described(galloc, &next_plan(galloc)->life);
    if (r->before_change) r->before_change(r->context);
    return plan_with_ids(galloc, r->graph, r->node_ids, r->leaf_ids) &&
           place_described(galloc, &present_plan(galloc)->life);
}

bool tn_galloc_owns(ggml_gallocr_t galloc, ggml_backend_buffer_t buffer) {
    for (int p = 0; galloc && p < galloc->n_pools; p++) {
        for (int c = 0; c < TN_BLOCKS_CHUNKS; c++) {
            if (buffer && galloc->pools[p].chunks[c] == buffer) return true;
        }
    }
    return false;
}
