// SPDX-License-Identifier: MIT
// base/mem.c: alignment, accounting, overflow, faults.
#include "harness.h"

#include "base/error.h"
#include "base/mem.h"

static void alignment(void ** state) {
    (void) state;
    for (size_t align = 16; align <= 4096; align *= 2) {
        char * p = tn_mem_alloc_aligned(100, align, TN_MEM_WORK);
        assert_non_null(p);
        assert_int_equal((uintptr_t) p % align, 0);
        memset(p, 1, 100);
        tn_mem_free(p);
    }
}

static void accounting(void ** state) {
    (void) state;
    struct tn_mem_stats before, during, after;
    tn_mem_stats_get(TN_MEM_GGUF, &before);
    void * p = tn_mem_alloc(1000, TN_MEM_GGUF);
    tn_mem_stats_get(TN_MEM_GGUF, &during);
    tn_mem_free(p);
    tn_mem_stats_get(TN_MEM_GGUF, &after);
    assert_int_equal(during.live_bytes - before.live_bytes, 1000);
    assert_int_equal(during.live_blocks - before.live_blocks, 1);
    assert_int_equal(after.live_bytes, before.live_bytes);
    assert_true(after.peak_bytes >= before.live_bytes + 1000);
}

static void overflow_is_refused(void ** state) {
    (void) state;
    assert_null(tn_mem_calloc(SIZE_MAX / 2, 3, TN_MEM_WORK));
    assert_contains(tn_error_text(), "out of memory");
    assert_null(tn_mem_alloc(SIZE_MAX - 8, TN_MEM_WORK));
    assert_contains(tn_error_text(), "scratch");
}

static void realloc_keeps_contents(void ** state) {
    (void) state;
    char * p = tn_mem_realloc(NULL, 4, TN_MEM_WORK);
    memcpy(p, "abc", 4);
    p = tn_mem_realloc(p, 4000, TN_MEM_WORK);
    assert_string_equal(p, "abc");
    tn_mem_fail_nth(1);
    assert_null(tn_mem_realloc(p, 8000, TN_MEM_WORK));
    assert_string_equal(p, "abc");
    tn_mem_free(p);
}

static void the_nth_allocation_fails(void ** state) {
    (void) state;
    tn_mem_fail_nth(2);
    void * a = tn_mem_alloc(8, TN_MEM_WORK);
    void * b = tn_mem_alloc(8, TN_MEM_WORK);
    void * c = tn_mem_alloc(8, TN_MEM_WORK);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_int_equal(tn_mem_fail_nth(0), 1);
    tn_mem_free(a);
    tn_mem_free(c);
}

static void the_machine_has_memory(void ** state) {
    (void) state;
    const size_t size = tn_mem_physical();
    assert_true(size >= (size_t) 16 << 20);
    assert_int_equal(size % 4096, 0);
    assert_int_equal(tn_mem_physical(), size);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alignment),
        cmocka_unit_test(accounting),
        cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(realloc_keeps_contents),
        cmocka_unit_test(the_nth_allocation_fails),
        cmocka_unit_test(the_machine_has_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
