// SPDX-License-Identifier: MIT
// base/ptrset.c: insertion, look-up, growth, clearing, no memory.
#include "harness.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/ptrset.h"

enum { N = 5000 };
static char objects[2 * N * 16];

static const void * key(int i) {
    return &objects[i * 16];
}

static void values_by_pointer(void ** state) {
    (void) state;
    struct tn_ptrset set = { 0 };
    bool is_new;
    assert_null(tn_ptrset_find(&set, key(0)));
    for (int i = 0; i < N; i++) {
        int64_t * value = tn_ptrset_put(&set, key(i), &is_new);
        assert_true(is_new);
        assert_int_equal(*value, 0);
        *value = i * INT64_C(1000000007);
    }
    assert_int_equal(set.count, N);
    assert_true(set.slots >= 2 * N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(*tn_ptrset_find(&set, key(i)), i * INT64_C(1000000007));
        assert_null(tn_ptrset_find(&set, key(N + i)));
    }
    assert_int_equal(*tn_ptrset_put(&set, key(3), &is_new), 3 * INT64_C(1000000007));
    assert_false(is_new);
    assert_non_null(tn_ptrset_put(&set, key(4), NULL));
    assert_int_equal(set.count, N);
    tn_ptrset_clear(&set);
    assert_int_equal(set.count, 0);
    assert_null(tn_ptrset_find(&set, key(3)));
    tn_ptrset_free(&set);
    tn_ptrset_clear(&set);
    assert_int_equal(set.slots, 0);
}

// Whichever allocation fails, the map keeps what it had.
static void growth_without_memory(void ** state) {
    (void) state;
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_GRAPH, &before);
    struct tn_ptrset set = { 0 };
    int n = 0;
    for (; n < 16; n++)
        *tn_ptrset_put(&set, key(n), NULL) = n;
    for (int nth = 1; nth <= 2; nth++) {
        tn_mem_fail_nth(nth);
        assert_null(tn_ptrset_put(&set, key(n), NULL));
        assert_contains(tn_error_text(), "out of memory");
        assert_int_equal(tn_mem_fail_nth(0), 1);
        assert_int_equal(set.count, 16);
        for (int i = 0; i < n; i++)
            assert_int_equal(*tn_ptrset_find(&set, key(i)), i);
    }
    assert_non_null(tn_ptrset_put(&set, key(n), NULL));
    tn_ptrset_free(&set);
    tn_mem_stats_get(TN_MEM_GRAPH, &after);
    assert_int_equal(after.live_blocks, before.live_blocks);
}

// What was reserved is inserted without another allocation; what cannot be reserved changes nothing.
static void room_in_advance(void ** state) {
    (void) state;
    struct tn_ptrset set = { 0 };
    *tn_ptrset_put(&set, key(0), NULL) = 7;
    for (int nth = 1; nth <= 2; nth++) {
        tn_mem_fail_nth(nth);
        assert_false(tn_ptrset_reserve(&set, 1000));
        assert_int_equal(tn_mem_fail_nth(0), 1);
        assert_int_equal(set.slots, 32);
    }
    assert_false(tn_ptrset_reserve(&set, SIZE_MAX));
    assert_contains(tn_error_text(), "too large");
    for (int n = 1; n <= 1024; n++) {
        struct tn_ptrset other = { 0 };
        assert_true(tn_ptrset_reserve(&other, (size_t) n));
        tn_mem_fail_nth(1);
        for (int i = 0; i < n; i++)
            assert_non_null(tn_ptrset_put(&other, key(i), NULL));
        assert_int_equal(tn_mem_fail_nth(0), 0);
        tn_ptrset_free(&other);
    }
    assert_true(tn_ptrset_reserve(&set, 1000));
    const size_t slots = set.slots;
    assert_true(tn_ptrset_reserve(&set, 10));
    assert_int_equal(set.slots, slots);
    assert_int_equal(*tn_ptrset_find(&set, key(0)), 7);
    tn_ptrset_free(&set);
}

// Neighbouring objects must not pile up in one place.
static void addresses_are_spread(void ** state) {
    (void) state;
    for (size_t step = 16; step <= 4096; step *= 2) {
        int used[256] = { 0 }, most = 0;
        for (size_t i = 0; i < 1024; i++) {
            int * slot = &used[tn_ptrset_hash((const void *) (UINT64_C(0x7f0000000000) + i * step)) & 255];
            if (++*slot > most) most = *slot;
        }
        assert_true(most <= 24); // 4 on average
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_pointer),
        cmocka_unit_test(growth_without_memory),
        cmocka_unit_test(room_in_advance),
        cmocka_unit_test(addresses_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
