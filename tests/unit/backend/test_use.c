// SPDX-License-Identifier: MIT
// backend/use.c: only objects of watched families are counted, each until it ends.
#include "harness.h"

#include "backend/use.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ggml-backend-impl.h"

static struct ggml_backend_reg a, b;

static void told(ggml_backend_reg_t reg, const char * want) {
    char text[256];
    assert_int_equal(tn_use_tell(reg, text, sizeof(text)), want[0] != '\0');
    assert_string_equal(text, want);
}

static void objects_are_told_by_kind(void ** state) {
    (void) state;
    static char objects[6];
    assert_true(tn_use_begin(&a, TN_USE_BUFFER, &objects[0])); // nobody watches
    assert_true(tn_use_watch(&a) && tn_use_watch(&a));
    told(&a, "");
    assert_true(tn_use_begin(&b, TN_USE_BUFFER, &objects[1]));
    told(&b, "");
    assert_true(tn_use_begin(&a, TN_USE_EVENT, &objects[2]));
    assert_true(tn_use_begin(&a, TN_USE_BACKEND, &objects[3]));
    assert_true(tn_use_begin(&a, TN_USE_THREADPOOL, &objects[4]));
    assert_true(tn_use_begin(&a, TN_USE_EVENT, &objects[5]));
    told(&a, "1 back end, 2 events, 1 thread pool");
    tn_use_end(&objects[0]); // was never entered
    tn_use_end(&objects[3]);
    tn_use_end(&objects[3]);
    assert_true(tn_use_watch(&b));
    assert_true(tn_use_begin(&b, TN_USE_BUFFER, &objects[1]));
    told(&a, "2 events, 1 thread pool");
    told(&b, "1 buffer");
    tn_use_forget(&a);
    told(&a, "");
    told(&b, "1 buffer");
    tn_use_end(&objects[1]);
    told(&b, "");
    tn_use_forget(&b);
    tn_use_forget(&b);
}

static void without_memory_nothing_is_entered(void ** state) {
    (void) state;
    static char objects[200];
    int refused = 0, n = 0;
    assert_true(tn_use_watch(&a));
    for (int i = 0; i < 200; i++) {
        tn_mem_fail_nth(1);
        const bool ok = tn_use_begin(&a, TN_USE_BUFFER, &objects[i]);
        refused += tn_mem_fail_nth(0);
        n += ok;
    }
    assert_true(refused > 0);
    char want[32];
    assert_int_equal(n + refused, 200);
    if (n > 1) {
        snprintf(want, sizeof(want), "%d buffers", n);
        told(&a, want);
    }
    tn_use_forget(&a);
}

static void * come_and_go(void * arg) {
    char object = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(tn_use_begin(arg, TN_USE_BUFFER, &object));
        tn_use_end(&object);
    }
    return NULL;
}

static void threads_count_right(void ** state) {
    (void) state;
    struct tn_thread threads[4];
    assert_true(tn_use_watch(&a));
    for (int i = 0; i < 4; i++)
        assert_true(tn_thread_start(&threads[i], come_and_go, &a));
    for (int i = 0; i < 4; i++)
        tn_thread_join(&threads[i]);
    told(&a, "");
    tn_use_forget(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_told_by_kind),
        cmocka_unit_test(without_memory_nothing_is_entered),
        cmocka_unit_test(threads_count_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
