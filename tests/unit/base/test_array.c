// SPDX-License-Identifier: MIT
// base/array.c: growth, contents, overflow, no memory.
#include "harness.h"

#include "base/array.h"
#include "base/error.h"

static void grows_and_keeps_contents(void ** state) {
    (void) state;
    TN_ARRAY(int) a = { 0 };
    size_t moves = 0, capacity = 0;
    for (int i = 0; i < 10000; i++) {
        assert_true(TN_ARRAY_RESERVE(&a, 1, TN_MEM_WORK));
        moves += a.capacity != capacity;
        capacity = a.capacity;
        a.items[a.count++] = i;
    }
    for (int i = 0; i < 10000; i++)
        assert_int_equal(a.items[i], i);
    assert_true(moves < 20); // doubles
    assert_true(TN_ARRAY_RESERVE(&a, 50000, TN_MEM_WORK));
    assert_true(a.capacity >= 60000);
    assert_int_equal(a.items[9999], 9999);
    TN_ARRAY_FREE(&a);
    assert_null(a.items);
    assert_int_equal(a.count, 0);
    assert_int_equal(a.capacity, 0);
}

static void what_does_not_fit_leaves_it_alone(void ** state) {
    (void) state;
    TN_ARRAY(int64_t) a = { 0 };
    assert_true(TN_ARRAY_RESERVE(&a, 4, TN_MEM_WORK));
    a.items[a.count++] = 42;
    int64_t * const items = a.items;
    const size_t capacity = a.capacity;
    assert_false(TN_ARRAY_RESERVE(&a, SIZE_MAX / 2, TN_MEM_WORK));
    assert_contains(tn_error_text(), "too large");
    tn_mem_fail_nth(1);
    assert_false(TN_ARRAY_RESERVE(&a, 1000, TN_MEM_WORK));
    assert_contains(tn_error_text(), "out of memory");
    tn_mem_fail_nth(0);
    assert_ptr_equal(a.items, items);
    assert_int_equal(a.capacity, capacity);
    assert_int_equal(a.items[0], 42);
    TN_ARRAY_FREE(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_keeps_contents),
        cmocka_unit_test(what_does_not_fit_leaves_it_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
