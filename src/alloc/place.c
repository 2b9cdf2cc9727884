// SPDX-License-Identifier: MIT
// Placing intervals, in two ways. A pool is packed with all of time in view (pack.c); what is placed over
// another shares its span there. A pool that needs several chunks, or that may take less than it was packed
// into, is placed as time goes as well (stream.c). The smaller plan is taken.
//
// Invariants, which the tests check with an implementation of their own:
//
// - Two intervals of one pool and chunk that have a time in common have no byte in common, unless one lies
//   over the other; those share exactly the time at which the one ends and the other begins. So a node's
//   result never lies on its sources, but where it is `over` one.
// - Offsets are sums of sizes, so they are aligned when the sizes are.
// - No chunk but the last is above the pool's largest size, unless it holds one interval only.
// - The result depends on the arguments alone. Equal graphs get equal places, on every machine.
#include "alloc/place.h"

#include "alloc/pack.h"
#include "alloc/stream.h"
#include "base/bits.h"
#include "base/mem.h"

struct packed {
    struct tn_pack_span * spans; // of one pool after the other
    int32_t * span_of;           // of each interval
    struct tn_pack_result * results;
    bool loose; // a span is not needed whole to its end
};

static void packed_fini(struct packed * p) {
    tn_mem_free(p->results);
    tn_mem_free(p->span_of);
    tn_mem_free(p->spans);
}

static bool packed_init(struct packed * p, size_t n, int n_pools) {
    p->spans = tn_mem_alloc(n * sizeof(*p->spans), TN_MEM_GRAPH);
    p->span_of = tn_mem_alloc(n * sizeof(*p->span_of), TN_MEM_GRAPH);
    p->results = tn_mem_alloc((size_t) n_pools * sizeof(*p->results), TN_MEM_GRAPH);
    return p->spans && p->span_of && p->results;
}

// The spans of one pool, from `first` on. Returns their end.
static int32_t make_spans(struct packed * p, const struct tn_place_interval * intervals, size_t n, int pool,
                          int32_t first) {
    for (size_t i = 0; i < n; i++) {
        const struct tn_place_interval * v = &intervals[i];
        if (v->pool != pool) continue;
        p->span_of[i] = v->over >= 0 ? p->span_of[v->over] : first++;
        struct tn_pack_span * span = &p->spans[p->span_of[i]];
        if (v->over < 0) *span = (struct tn_pack_span){ .size = v->size, .begin = v->begin };
        span->end = v->end;
        p->loose = p->loose || v->size < span->size;
    }
    return first;
}

static bool pack(struct packed * p, const struct tn_place_interval * intervals, size_t n, int n_pools) {
    int32_t first = 0;
    for (int pool = 0; pool < n_pools; pool++) {
        const int32_t end = make_spans(p, intervals, n, pool, first);
        if (!tn_pack_spans(p->spans + first, (size_t) (end - first), &p->results[pool])) return false;
        first = end;
    }
    return true;
}

static bool fits(const struct packed * p, const struct tn_place_pool * pools, int pool) {
    return p->results[pool].peak <= pools[pool].max_size && p->results[pool].peak < SIZE_MAX;
}

static bool all_are_tight(const struct packed * p, const struct tn_place_pool * pools, int n_pools) {
    for (int i = 0; i < n_pools; i++) {
        if (!fits(p, pools, i) || p->results[i].peak > p->results[i].bound) return false;
    }
    return !p->loose;
}

static size_t sum_of_chunks(const struct tn_place_pool * pool) {
    size_t sum = 0;
    for (int c = 0; c < pool->n_chunks; c++) {
        if (!tn_size_add(sum, pool->chunk_size[c], &sum)) return SIZE_MAX;
    }
    return sum;
}

static void take_packed(const struct packed * p, const struct tn_place_interval * intervals, size_t n,
                        int pool, struct tn_place_spot * spots) {
    for (size_t i = 0; i < n; i++) {
        if (intervals[i].pool != pool) continue;
        spots[i] = (struct tn_place_spot){ .chunk = 0, .offset = p->spans[p->span_of[i]].offset };
    }
}

bool tn_place_intervals(const struct tn_place_interval * intervals, size_t n, struct tn_place_pool * pools,
                        int n_pools, struct tn_place_spot * spots) {
    struct packed p = { 0 };
    bool done = packed_init(&p, n, n_pools) && pack(&p, intervals, n, n_pools);
    const bool tight = done && all_are_tight(&p, pools, n_pools);
    if (done && !tight) done = tn_stream_intervals(intervals, n, pools, n_pools, spots);
    for (int i = 0; done && i < n_pools; i++) {
        const size_t peak = p.results[i].peak;
        if (!tight && !(fits(&p, pools, i) && peak < sum_of_chunks(&pools[i]))) continue;
        take_packed(&p, intervals, n, i, spots);
        pools[i].n_chunks = peak > 0;
        pools[i].chunk_size[0] = peak;
    }
    packed_fini(&p);
    return done;
}
