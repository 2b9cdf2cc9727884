// SPDX-License-Identifier: MIT
// Intervals of memory for tests: random ones, and a check of places pair by pair.
#ifndef TN_TESTS_UNIT_ALLOC_INTERVALS_H
#define TN_TESTS_UNIT_ALLOC_INTERVALS_H

#include "harness.h"

#include "alloc/place.h"

static inline bool intervals_share_a_time(const struct tn_place_interval * a,
                                          const struct tn_place_interval * b) {
    return a->begin <= b->end && b->begin <= a->end;
}

static inline bool intervals_share_a_byte(const struct tn_place_interval * a, struct tn_place_spot at_a,
                                          const struct tn_place_interval * b, struct tn_place_spot at_b) {
    return a->pool == b->pool && at_a.chunk == at_b.chunk && at_a.offset < at_b.offset + b->size &&
           at_b.offset < at_a.offset + a->size;
}

static inline void intervals_check(const struct tn_place_interval * v, size_t n,
                                   const struct tn_place_pool * pools, const struct tn_place_spot * spots,
                                   size_t alignment) {
    for (size_t i = 0; i < n; i++) {
        const struct tn_place_pool * pool = &pools[v[i].pool];
        assert_true(spots[i].chunk >= 0 && spots[i].chunk < pool->n_chunks);
        assert_true(spots[i].offset % alignment == 0);
        assert_true(spots[i].offset + v[i].size <= pool->chunk_size[spots[i].chunk]);
        if (v[i].over >= 0) {
            assert_int_equal(spots[i].chunk, spots[v[i].over].chunk);
            assert_int_equal(spots[i].offset, spots[v[i].over].offset);
        }
        for (size_t j = 0; j < i; j++) {
            const bool handed_over = v[i].over == (int32_t) j;
            if (!handed_over && intervals_share_a_time(&v[i], &v[j]) &&
                intervals_share_a_byte(&v[i], spots[i], &v[j], spots[j])) {
                fail_msg("intervals %zu and %zu overlap", j, i);
            }
        }
    }
}

// Sorted intervals, some handed over, some for ever.
static inline size_t intervals_make(struct test_rng * rng, struct tn_place_interval * v, size_t max,
                                    int n_pools) {
    size_t n = 0;
    for (int32_t t = 0; n + 4 < max; t++) {
        const int64_t count = test_rng_below(rng, 4);
        for (int64_t k = 0; k < count; k++) {
            const int64_t kind = test_rng_below(rng, 10);
            v[n] = (struct tn_place_interval){
                .size = (size_t) (1 + test_rng_below(rng, kind == 0 ? 100 : 8)) * 32,
                .begin = t,
                .end = kind == 1 ? TN_PLACE_FOREVER : t + (int32_t) test_rng_below(rng, kind == 2 ? 100 : 6),
                .pool = (int32_t) test_rng_below(rng, n_pools),
                .over = -1,
            };
            for (size_t j = 0; j < n && kind > 5; j++) {
                bool taken =
                    v[j].begin == t || v[j].end != t || v[j].pool != v[n].pool || v[j].size < v[n].size;
                for (size_t m = j + 1; m < n; m++)
                    taken = taken || v[m].over == (int32_t) j;
                if (!taken) v[n].over = (int32_t) j;
            }
            n++;
        }
    }
    return n;
}

static inline struct tn_place_interval interval(size_t size, int32_t begin, int32_t end, int32_t over) {
    return (struct tn_place_interval){ .size = size, .begin = begin, .end = end, .over = over };
}

#endif
