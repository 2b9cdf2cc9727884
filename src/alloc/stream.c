// SPDX-License-Identifier: MIT
// Placing intervals as time goes: each takes the best place that is free when it begins.
//
//      offset
//        ^   +-------------------+
//        |   | c                 |          d: a hole of its size or more, the smallest there is
//        |   +-----------+-------+----+
//        |   | a         | d     | e  |     e: there was none; c had ended, the chunk's end was nearest
//        |   |           +-------+----+
//        |   |           | b: over a  |     b: computed in place; it begins when a ends, at a's offset, and
//        |   +-----------+------------+        a had more than b needs is free from then on
//        +-----------------------------> time
//
// At one time everything that begins is placed before anything that ends is freed. Chunks are filled up to
// the largest size of the pool; one interval above it gets a chunk of its own; the last chunk takes what is
// left, and it is for the buffer type to refuse that.
//
// Costs: n intervals take O(n log n), the logarithm being that of the free blocks at one time.
#include "alloc/stream.h"

#include "alloc/blocks.h"
#include "base/check.h"
#include "base/mem.h"

struct stream {
    const struct tn_place_interval * intervals;
    struct tn_blocks * pools;
    int32_t * block;   // of each interval; ~i: handed over to interval i
    int32_t * next;    // interval that ends at the same time
    int32_t * ends_at; // first interval that ends at a time, -1: none
    int32_t last_time; // the last begin
};

static bool setup(struct stream * p, size_t n, const struct tn_place_pool * pools, int n_pools) {
    p->last_time = n > 0 ? p->intervals[n - 1].begin : 0;
    const size_t n_times = (size_t) p->last_time + 1;
    p->pools = tn_mem_alloc((size_t) n_pools * sizeof(*p->pools), TN_MEM_GRAPH);
    p->block = tn_mem_calloc(n, sizeof(*p->block), TN_MEM_GRAPH);
    p->next = tn_mem_calloc(n, sizeof(*p->next), TN_MEM_GRAPH);
    p->ends_at = tn_mem_calloc(n_times, sizeof(*p->ends_at), TN_MEM_GRAPH);
    for (int i = 0; p->pools && i < n_pools; i++)
        tn_blocks_init(&p->pools[i], pools[i].max_size);
    if (!p->pools || !p->block || !p->next || !p->ends_at) return false;
    for (size_t t = 0; t < n_times; t++)
        p->ends_at[t] = -1;
    return true;
}

static void cleanup(struct stream * p, int n_pools) {
    for (int i = 0; p->pools && i < n_pools; i++)
        tn_blocks_fini(&p->pools[i]);
    tn_mem_free(p->ends_at);
    tn_mem_free(p->next);
    tn_mem_free(p->block);
    tn_mem_free(p->pools);
}

// The heir of a place needs perhaps less of it. If it ends at this time as well, its own end sees to that.
static bool leave_to_heir(struct stream * p, int32_t heir, int32_t time) {
    const struct tn_place_interval * v = &p->intervals[heir];
    return v->end == time || tn_blocks_shrink(&p->pools[v->pool], p->block[heir], v->size);
}

static bool free_what_ends_at(struct stream * p, int32_t time) {
    for (int32_t i = p->ends_at[time]; i >= 0; i = p->next[i]) {
        if (p->block[i] >= 0) {
            tn_blocks_release(&p->pools[p->intervals[i].pool], p->block[i]);
        } else if (!leave_to_heir(p, ~p->block[i], time)) {
            return false;
        }
    }
    return true;
}

static void take_over(struct stream * p, int32_t i, int32_t from) {
    const struct tn_place_interval *v = &p->intervals[i], *w = &p->intervals[from];
    TN_ASSERT(from < i && w->end == v->begin && w->pool == v->pool && w->size >= v->size);
    TN_ASSERT(p->block[from] >= 0);
    p->block[i] = p->block[from];
    p->block[from] = ~i;
}

static bool place(struct stream * p, int32_t i, struct tn_place_spot * spot) {
    const struct tn_place_interval * v = &p->intervals[i];
    struct tn_blocks * pool = &p->pools[v->pool];
    if (v->over >= 0) {
        take_over(p, i, v->over);
    } else {
        p->block[i] = tn_blocks_take(pool, v->size);
        if (p->block[i] < 0) return false;
    }
    const struct tn_block * block = &pool->items.items[p->block[i]];
    *spot = (struct tn_place_spot){ .chunk = block->chunk, .offset = block->offset };
    if (v->end > p->last_time) return true;
    p->next[i] = p->ends_at[v->end];
    p->ends_at[v->end] = i;
    return true;
}

static bool place_all(struct stream * p, size_t n, struct tn_place_spot * spots) {
    int32_t now = 0;
    for (size_t i = 0; i < n; i++) {
        TN_ASSERT(p->intervals[i].begin >= now && p->intervals[i].end >= p->intervals[i].begin);
        while (now < p->intervals[i].begin)
            free_what_ends_at(p, now++);
        if (!place(p, (int32_t) i, &spots[i])) return false;
    }
    return true;
}

bool tn_stream_intervals(const struct tn_place_interval * intervals, size_t n, struct tn_place_pool * pools,
                         int n_pools, struct tn_place_spot * spots) {
    struct stream p = { .intervals = intervals };
    const bool done = setup(&p, n, pools, n_pools) && place_all(&p, n, spots);
    for (int i = 0; done && i < n_pools; i++) {
        pools[i].n_chunks = p.pools[i].n_chunks;
        for (int c = 0; c < pools[i].n_chunks; c++)
            pools[i].chunk_size[c] = p.pools[i].chunk_size[c];
    }
    cleanup(&p, n_pools);
    return done;
}
