// SPDX-License-Identifier: MIT
// alloc/place.c and blocks.c: random intervals against the invariants, checked pair by pair; chunks; costs.
#include "harness.h"

#include "alloc/place.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

static bool share_a_time(const struct tn_place_interval * a, const struct tn_place_interval * b) {
    return a->begin <= b->end && b->begin <= a->end;
}

static bool share_a_byte(const struct tn_place_interval * a, struct tn_place_spot at_a,
                         const struct tn_place_interval * b, struct tn_place_spot at_b) {
    return a->pool == b->pool && at_a.chunk == at_b.chunk && at_a.offset < at_b.offset + b->size &&
           at_b.offset < at_a.offset + a->size;
}

static void check_places(const struct tn_place_interval * v, size_t n, const struct tn_place_pool * pools,
                         const struct tn_place_spot * spots, size_t alignment) {
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
            if (!handed_over && share_a_time(&v[i], &v[j]) &&
                share_a_byte(&v[i], spots[i], &v[j], spots[j])) {
                fail_msg("intervals %zu and %zu overlap", j, i);
            }
        }
    }
}

// Sorted intervals, some handed over, some for ever.
static size_t make(struct test_rng * rng, struct tn_place_interval * v, size_t max, int n_pools) {
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

static void random_intervals_do_not_overlap(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    struct tn_place_interval v[300];
    struct tn_place_spot spots[300], again[300];
    size_t handed_over = 0, chunks = 0;
    const int64_t rounds = test_rounds(3000);
    for (int64_t round = rounds; round > 0; round--) {
        const int n_pools = 1 + (int) test_rng_below(&rng, 3);
        const size_t n = make(&rng, v, 30 + (size_t) test_rng_below(&rng, 270), n_pools);
        struct tn_place_pool pools[3], same[3];
        for (int p = 0; p < n_pools; p++) {
            pools[p] = (struct tn_place_pool){ .max_size = 1000u << test_rng_below(&rng, 10) };
            same[p] = pools[p];
        }
        assert_true(tn_place_intervals(v, n, pools, n_pools, spots));
        check_places(v, n, pools, spots, 32);
        assert_true(tn_place_intervals(v, n, same, n_pools, again));
        assert_memory_equal(pools, same, (size_t) n_pools * sizeof(pools[0]));
        for (size_t i = 0; i < n; i++) {
            assert_true(spots[i].chunk == again[i].chunk && spots[i].offset == again[i].offset);
            handed_over += v[i].over >= 0;
            chunks += spots[i].chunk > 0;
        }
    }
    assert_true((int64_t) handed_over > rounds); // the test meets what it is for
    assert_true((int64_t) chunks > rounds);
}

static struct tn_place_interval interval(size_t size, int32_t begin, int32_t end, int32_t over) {
    return (struct tn_place_interval){ .size = size, .begin = begin, .end = end, .over = over };
}

static void the_smallest_hole_is_taken(void ** state) {
    (void) state;
    const struct tn_place_interval v[] = {
        interval(320, 0, 1, -1), interval(32, 0, 9, -1), interval(128, 0, 1, -1), interval(32, 0, 9, -1),
        interval(192, 0, 1, -1), interval(32, 0, 9, -1), interval(128, 2, 9, -1), // the hole of 128
        interval(160, 2, 9, -1),                                                  // that of 192
        interval(64, 2, 9, -1),  // what is left of 320 is the only one
        interval(320, 3, 9, -1), // none: at the end
    };
    struct tn_place_spot spots[10];
    struct tn_place_pool pool = { .max_size = SIZE_MAX };
    assert_true(tn_place_intervals(v, 10, &pool, 1, spots));
    assert_int_equal(spots[6].offset, 352);
    assert_int_equal(spots[7].offset, 512);
    assert_int_equal(spots[8].offset, 0);
    assert_int_equal(spots[9].offset, 736);
    assert_int_equal(pool.chunk_size[0], 1056);
}

static void neighbours_merge_and_the_end_grows(void ** state) {
    (void) state;
    const struct tn_place_interval v[] = {
        interval(64, 0, 0, -1),  interval(64, 0, 0, -1),  interval(64, 0, 0, -1), // all free at time 1
        interval(192, 1, 1, -1), interval(256, 2, 2, -1), // 192 free at the end, 64 more
    };
    struct tn_place_spot spots[5];
    struct tn_place_pool pool = { .max_size = SIZE_MAX };
    assert_true(tn_place_intervals(v, 5, &pool, 1, spots));
    assert_int_equal(spots[3].offset, 0);
    assert_int_equal(spots[4].offset, 0);
    assert_int_equal(pool.chunk_size[0], 256);
}

static void what_is_over_another_frees_the_rest(void ** state) {
    (void) state;
    const struct tn_place_interval v[] = {
        interval(256, 0, 1, -1),
        interval(64, 1, 5, 0),
        interval(192, 2, 5, -1),
        interval(64, 5, 5, 1),
    };
    struct tn_place_spot spots[4];
    struct tn_place_pool pool = { .max_size = SIZE_MAX };
    assert_true(tn_place_intervals(v, 4, &pool, 1, spots));
    assert_int_equal(spots[1].offset, 0);
    assert_int_equal(spots[2].offset, 64);
    assert_int_equal(spots[3].offset, 0);
    assert_int_equal(pool.chunk_size[0], 256);
}

static void chunks_stay_below_the_largest_size(void ** state) {
    (void) state;
    struct tn_place_interval v[40];
    struct tn_place_spot spots[40];
    for (int i = 0; i < 40; i++)
        v[i] = interval(320, 0, TN_PLACE_FOREVER, -1);
    v[3].size = 4096; // above it: a chunk of its own
    struct tn_place_pool pool = { .max_size = 1000 };
    assert_true(tn_place_intervals(v, 40, &pool, 1, spots));
    assert_int_equal(pool.n_chunks, 14);
    assert_int_equal(pool.chunk_size[0], 960);
    assert_int_equal(pool.chunk_size[1], 4096);
    assert_int_equal(spots[3].offset, 0);
    assert_int_equal(spots[4].chunk, 2);
    check_places(v, 40, &pool, spots, 32);
}

static void the_last_chunk_has_no_limit(void ** state) {
    (void) state;
    struct tn_place_interval v[40];
    struct tn_place_spot spots[40];
    for (int i = 0; i < 40; i++)
        v[i] = interval(640, 0, TN_PLACE_FOREVER, -1);
    struct tn_place_pool pool = { .max_size = 1000 };
    assert_true(tn_place_intervals(v, 40, &pool, 1, spots));
    assert_int_equal(pool.n_chunks, 16);
    assert_int_equal(pool.chunk_size[14], 640);
    assert_int_equal(pool.chunk_size[15], 25 * 640);
    check_places(v, 40, &pool, spots, 32);
}

static void the_chunk_that_grows_least_grows(void ** state) {
    (void) state;
    const struct tn_place_interval v[] = {
        interval(320, 0, 9, -1), interval(320, 0, 0, -1), // chunk 0, whose end is free at time 1
        interval(640, 0, 9, -1),                          // chunk 1
        interval(384, 1, 9, -1),                          // 64 more here, 384 there
    };
    struct tn_place_spot spots[4];
    struct tn_place_pool pool = { .max_size = 1200 };
    assert_true(tn_place_intervals(v, 4, &pool, 1, spots));
    assert_int_equal(spots[2].chunk, 1);
    assert_int_equal(spots[3].chunk, 0);
    assert_int_equal(spots[3].offset, 320);
    assert_int_equal(pool.chunk_size[0], 704);
}

static void sizes_that_overflow_are_refused(void ** state) {
    (void) state;
    struct tn_place_interval v[18];
    struct tn_place_spot spots[18];
    for (int i = 0; i < 18; i++)
        v[i] = interval((SIZE_MAX / 2 + 1), 0, 1, -1);
    struct tn_place_pool pool = { .max_size = SIZE_MAX };
    assert_false(tn_place_intervals(v, 18, &pool, 1, spots));
    assert_contains(tn_error_text(), "overflow");
}

static void nothing_to_place(void ** state) {
    (void) state;
    struct tn_place_pool pool = { .max_size = 10, .n_chunks = 3 };
    assert_true(tn_place_intervals(NULL, 0, &pool, 1, NULL));
    assert_int_equal(pool.n_chunks, 0);
}

static void no_memory_is_reported_and_nothing_leaks(void ** state) {
    (void) state;
    struct test_rng rng = { 7 };
    struct tn_place_interval v[300];
    struct tn_place_spot spots[300];
    struct tn_place_pool pools[2] = { { .max_size = 4000 }, { .max_size = 4000 } };
    const size_t n = make(&rng, v, 300, 2);
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_GRAPH, &before);
    int failures = 0;
    for (int nth = 1; nth < 1000; nth++, failures++) {
        tn_mem_fail_nth(nth);
        const bool done = tn_place_intervals(v, n, pools, 2, spots);
        const bool struck = tn_mem_fail_nth(0);
        assert_true(done == !struck);
        tn_mem_stats_get(TN_MEM_GRAPH, &after);
        assert_int_equal(after.live_bytes, before.live_bytes);
        if (done) break;
    }
    assert_true(failures > 5);
    check_places(v, n, pools, spots, 32);
}

// Half of the blocks are holes of different sizes: a search through a list would take minutes.
static void many_holes_cost_no_search(void ** state) {
    (void) state;
    const int32_t n = 200000;
    struct tn_place_interval * v = calloc((size_t) n, sizeof(*v));
    struct tn_place_spot * spots = calloc((size_t) n, sizeof(*spots));
    for (int32_t i = 0; i < n / 2; i++) {
        v[i] = interval(32 * (1 + ((size_t) i * 7919) % 65536), 0, i % 2 ? 0 : TN_PLACE_FOREVER, -1);
    }
    for (int32_t i = n / 2; i < n; i++) {
        v[i] = interval(32 * (1 + ((size_t) i * 104729) % 65536), 1 + i - n / 2, i, -1);
    }
    struct tn_place_pool pool = { .max_size = SIZE_MAX };
    const int64_t start = tn_clock_us();
    assert_true(tn_place_intervals(v, (size_t) n, &pool, 1, spots));
    const int64_t took = tn_clock_us() - start;
    printf("placing %d intervals among holes: %.1f ms\n", n, (double) took / 1000);
    assert_true(took < 5000000);
    free(spots);
    free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_intervals_do_not_overlap),
        cmocka_unit_test(the_smallest_hole_is_taken),
        cmocka_unit_test(neighbours_merge_and_the_end_grows),
        cmocka_unit_test(what_is_over_another_frees_the_rest),
        cmocka_unit_test(chunks_stay_below_the_largest_size),
        cmocka_unit_test(the_last_chunk_has_no_limit),
        cmocka_unit_test(the_chunk_that_grows_least_grows),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(nothing_to_place),
        cmocka_unit_test(no_memory_is_reported_and_nothing_leaks),
        cmocka_unit_test(many_holes_cost_no_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
