// SPDX-License-Identifier: MIT
// alloc/stream.c and blocks.c: holes, ends, chunks, costs.
#include "intervals.h"

#include "alloc/stream.h"
#include "base/clock.h"

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
    assert_true(tn_stream_intervals(v, 10, &pool, 1, spots));
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
    assert_true(tn_stream_intervals(v, 5, &pool, 1, spots));
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
    assert_true(tn_stream_intervals(v, 4, &pool, 1, spots));
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
    assert_true(tn_stream_intervals(v, 40, &pool, 1, spots));
    assert_int_equal(pool.n_chunks, 14);
    assert_int_equal(pool.chunk_size[0], 960);
    assert_int_equal(pool.chunk_size[1], 4096);
    assert_int_equal(spots[3].offset, 0);
    assert_int_equal(spots[4].chunk, 2);
    intervals_check(v, 40, &pool, spots, 32);
}

static void the_last_chunk_has_no_limit(void ** state) {
    (void) state;
    struct tn_place_interval v[40];
    struct tn_place_spot spots[40];
    for (int i = 0; i < 40; i++)
        v[i] = interval(640, 0, TN_PLACE_FOREVER, -1);
    struct tn_place_pool pool = { .max_size = 1000 };
    assert_true(tn_stream_intervals(v, 40, &pool, 1, spots));
    assert_int_equal(pool.n_chunks, 16);
    assert_int_equal(pool.chunk_size[14], 640);
    assert_int_equal(pool.chunk_size[15], 25 * 640);
    intervals_check(v, 40, &pool, spots, 32);
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
    assert_true(tn_stream_intervals(v, 4, &pool, 1, spots));
    assert_int_equal(spots[2].chunk, 1);
    assert_int_equal(spots[3].chunk, 0);
    assert_int_equal(spots[3].offset, 320);
    assert_int_equal(pool.chunk_size[0], 704);
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
    assert_true(tn_stream_intervals(v, (size_t) n, &pool, 1, spots));
    const int64_t took = tn_clock_us() - start;
    printf("placing %d intervals among holes: %.1f ms\n", n, (double) took / 1000);
    assert_true(took < 5000000);
    free(spots);
    free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_hole_is_taken),
        cmocka_unit_test(neighbours_merge_and_the_end_grows),
        cmocka_unit_test(what_is_over_another_frees_the_rest),
        cmocka_unit_test(chunks_stay_below_the_largest_size),
        cmocka_unit_test(the_last_chunk_has_no_limit),
        cmocka_unit_test(the_chunk_that_grows_least_grows),
        cmocka_unit_test(many_holes_cost_no_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
