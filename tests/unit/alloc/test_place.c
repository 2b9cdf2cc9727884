// SPDX-License-Identifier: MIT
// alloc/place.c: random intervals against the invariants, and which of both ways is taken.
#include "intervals.h"

#include "alloc/stream.h"
#include "base/error.h"
#include "base/mem.h"

static size_t total(const struct tn_place_pool * pools, int n_pools) {
    size_t sum = 0;
    for (int p = 0; p < n_pools; p++) {
        for (int c = 0; c < pools[p].n_chunks; c++)
            sum += pools[p].chunk_size[c];
    }
    return sum;
}

static void random_intervals_do_not_overlap(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    struct tn_place_interval v[300];
    struct tn_place_spot spots[300], again[300];
    size_t handed_over = 0, chunks = 0, smaller = 0;
    const int64_t rounds = test_rounds(3000);
    for (int64_t round = rounds; round > 0; round--) {
        const int n_pools = 1 + (int) test_rng_below(&rng, 3);
        const size_t n = intervals_make(&rng, v, 30 + (size_t) test_rng_below(&rng, 270), n_pools);
        struct tn_place_pool pools[3], same[3];
        for (int p = 0; p < n_pools; p++) {
            pools[p] = (struct tn_place_pool){ .max_size = 1000u << test_rng_below(&rng, 10) };
            same[p] = pools[p];
        }
        assert_true(tn_place_intervals(v, n, pools, n_pools, spots));
        intervals_check(v, n, pools, spots, 32);
        assert_true(tn_place_intervals(v, n, same, n_pools, again));
        assert_memory_equal(pools, same, (size_t) n_pools * sizeof(pools[0]));
        for (size_t i = 0; i < n; i++) {
            assert_true(spots[i].chunk == again[i].chunk && spots[i].offset == again[i].offset);
            handed_over += v[i].over >= 0;
            chunks += spots[i].chunk > 0;
        }
        assert_true(tn_stream_intervals(v, n, same, n_pools, again));
        assert_true(total(pools, n_pools) <= total(same, n_pools));
        smaller += total(pools, n_pools) < total(same, n_pools);
    }
    assert_true((int64_t) handed_over > rounds); // the test meets what it is for
    assert_true((int64_t) chunks > rounds);
    assert_true((int64_t) smaller > rounds / 4);
}

// As time goes the third one lands between the others, and the last one finds no hole.
static void what_comes_later_is_foreseen(void ** state) {
    (void) state;
    const struct tn_place_interval v[] = {
        interval(256, 0, 0, -1),
        interval(64, 0, 2, -1),
        interval(32, 1, 3, -1),
        interval(256, 2, 3, -1),
    };
    struct tn_place_spot spots[4];
    struct tn_place_pool pool = { .max_size = 352 };
    assert_true(tn_stream_intervals(v, 4, &pool, 1, spots));
    assert_true(total(&pool, 1) > 352);
    assert_true(tn_place_intervals(v, 4, &pool, 1, spots));
    intervals_check(v, 4, &pool, spots, 32);
    assert_int_equal(pool.n_chunks, 1);
    assert_int_equal(pool.chunk_size[0], 352);
    pool.max_size = 351; // it does not fit into one chunk
    assert_true(tn_place_intervals(v, 4, &pool, 1, spots));
    intervals_check(v, 4, &pool, spots, 32);
    assert_true(pool.n_chunks > 1);
}

// A span is as large as its first interval; as time goes the rest of it is used.
static void the_rest_of_a_place_that_was_taken_over_is_used(void ** state) {
    (void) state;
    const struct tn_place_interval v[] = {
        interval(256, 0, 1, -1),
        interval(64, 1, 5, 0),
        interval(192, 2, 5, -1),
    };
    struct tn_place_spot spots[3];
    struct tn_place_pool pool = { .max_size = SIZE_MAX };
    assert_true(tn_place_intervals(v, 3, &pool, 1, spots));
    intervals_check(v, 3, &pool, spots, 32);
    assert_int_equal(pool.chunk_size[0], 256);
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
    const size_t n = intervals_make(&rng, v, 300, 2);
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
    intervals_check(v, n, pools, spots, 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_intervals_do_not_overlap),
        cmocka_unit_test(what_comes_later_is_foreseen),
        cmocka_unit_test(the_rest_of_a_place_that_was_taken_over_is_used),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(nothing_to_place),
        cmocka_unit_test(no_memory_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
