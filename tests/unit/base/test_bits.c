// SPDX-License-Identifier: MIT
// base/bits.h: arithmetic that says when it overflows, alignment, bit sets.
#include "harness.h"

#include "base/bits.h"

static void sums_and_products(void ** state) {
    (void) state;
    size_t s = 7;
    int64_t i = 7;
    assert_true(tn_size_add(SIZE_MAX - 1, 1, &s));
    assert_true(s == SIZE_MAX);
    assert_false(tn_size_add(SIZE_MAX, 1, &s));
    assert_true(s == SIZE_MAX); // untouched
    assert_true(tn_size_mul(SIZE_MAX / 3, 3, &s));
    assert_true(s == SIZE_MAX / 3 * 3);
    assert_false(tn_size_mul(SIZE_MAX / 3 + 1, 3, &s));
    assert_true(tn_size_mul(0, SIZE_MAX, &s));
    assert_int_equal(s, 0);
    assert_true(tn_i64_add(INT64_MAX - 1, 1, &i));
    assert_true(i == INT64_MAX);
    assert_false(tn_i64_add(INT64_MAX, 1, &i));
    assert_false(tn_i64_add(INT64_MIN, -1, &i));
    assert_true(i == INT64_MAX);
    assert_true(tn_i64_mul(-4, 5, &i));
    assert_int_equal(i, -20);
    assert_false(tn_i64_mul(INT64_MIN, -1, &i));
    assert_false(tn_i64_mul(INT64_C(1) << 32, INT64_C(1) << 31, &i));
    assert_int_equal(i, -20);
}

static void alignment(void ** state) {
    (void) state;
    size_t s = 7;
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t x = 0; x < 3 * align; x += 1 + align / 5) {
            size_t wanted = x;
            while (wanted % align)
                wanted++;
            assert_true(tn_size_align(x, align, &s));
            assert_int_equal(s, wanted);
            assert_int_equal(tn_align_up(x, align), wanted);
        }
    }
    assert_true(tn_size_align(SIZE_MAX - 15, 16, &s));
    assert_true(s == SIZE_MAX - 15);
    assert_false(tn_size_align(SIZE_MAX - 14, 16, &s));
    assert_true(s == SIZE_MAX - 15);
}

static void small_functions(void ** state) {
    (void) state;
    int powers = 0;
    for (uint64_t x = 0; x <= 4096; x++)
        powers += tn_is_pow2(x);
    assert_int_equal(powers, 13);
    assert_true(tn_is_pow2(UINT64_C(1) << 63));
    assert_int_equal(tn_ceil_div(0, 4), 0);
    assert_int_equal(tn_ceil_div(1, 4), 1);
    assert_int_equal(tn_ceil_div(8, 4), 2);
    assert_int_equal(tn_ceil_div(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(tn_min_size(3, 5), 3);
    assert_int_equal(tn_max_size(3, 5), 5);
    assert_int_equal(tn_min_i64(-3, 5), -3);
    assert_int_equal(tn_max_i64(-3, 5), 5);
}

static void bit_sets(void ** state) {
    (void) state;
    uint32_t set[TN_BITSET_WORDS(100)] = { 0 };
    assert_int_equal(sizeof(set), 16);
    assert_int_equal(TN_BITSET_WORDS(0), 0);
    assert_int_equal(TN_BITSET_WORDS(32), 1);
    assert_int_equal(TN_BITSET_WORDS(33), 2);
    for (size_t i = 0; i < 100; i += 3)
        tn_bitset_set(set, i);
    for (size_t i = 0; i < 100; i += 6)
        tn_bitset_clear(set, i);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(tn_bitset_get(set, i), i % 3 == 0 && i % 6 != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products),
        cmocka_unit_test(alignment),
        cmocka_unit_test(small_functions),
        cmocka_unit_test(bit_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
