// SPDX-License-Identifier: MIT
// base/error.c: texts, prefixes, cutting, one text a thread.
#include "harness.h"

#include "base/error.h"
#include "base/thread.h"

static void texts_are_built_from_both_ends(void ** state) {
    (void) state;
    tn_error_clear();
    assert_string_equal(tn_error_text(), "");
    tn_error_set("size %d", 7);
    tn_error_prefix("file %s", "x");
    tn_error_append(" at %d", 9);
    assert_string_equal(tn_error_text(), "file x: size 7 at 9");
    tn_error_set("again: %s", tn_error_text()); // the present text as argument
    assert_string_equal(tn_error_text(), "again: file x: size 7 at 9");
    assert_false(tn_refuse("no: %s", tn_error_text()));
    assert_string_equal(tn_error_text(), "no: again: file x: size 7 at 9");
}

static void long_texts_are_cut(void ** state) {
    (void) state;
    char text[2 * TN_ERROR_MAX];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    tn_error_set("%s", text);
    assert_int_equal(strlen(tn_error_text()), TN_ERROR_MAX - 1);
    tn_error_append("%s", "end");
    assert_int_equal(strlen(tn_error_text()), TN_ERROR_MAX - 1);
    tn_error_prefix("start");
    assert_int_equal(strlen(tn_error_text()), TN_ERROR_MAX - 1);
    assert_memory_equal(tn_error_text(), "start: xxx", 10);
    assert_false(tn_refuse("%s", text));
    assert_int_equal(strlen(tn_error_text()), TN_ERROR_MAX - 1);
}

static enum ggml_status failing(int n) {
    if (n < 0) TN_FAIL(GGML_STATUS_FAILED, "%d is negative", n);
    return n == 0 ? GGML_STATUS_ABORTED : GGML_STATUS_SUCCESS;
}

static enum ggml_status trying(int a, int b, int * reached) {
    TN_TRY(failing(a));
    *reached = 1;
    TN_TRY(failing(b));
    *reached = 2;
    return GGML_STATUS_SUCCESS;
}

static void statuses_travel_upwards(void ** state) {
    (void) state;
    int reached = 0;
    assert_int_equal(trying(-5, 1, &reached), GGML_STATUS_FAILED);
    assert_int_equal(reached, 0);
    assert_string_equal(tn_error_text(), "-5 is negative");
    assert_int_equal(trying(1, 0, &reached), GGML_STATUS_ABORTED);
    assert_int_equal(reached, 1);
    assert_int_equal(trying(1, 1, &reached), GGML_STATUS_SUCCESS);
    assert_int_equal(reached, 2);
    for (int s = -3; s <= 2; s++)
        assert_non_null(ggml_status_to_string((enum ggml_status) s));
    assert_string_equal(ggml_status_to_string(GGML_STATUS_SUCCESS), "success");
    assert_string_equal(ggml_status_to_string(GGML_STATUS_ALLOC_FAILED), "out of memory");
}

static void * other_thread(void * arg) {
    const bool empty = tn_error_text()[0] == '\0';
    tn_error_set("of the other thread");
    *(bool *) arg = empty;
    return NULL;
}

static void each_thread_has_its_own(void ** state) {
    (void) state;
    struct tn_thread thread;
    bool empty = false;
    tn_error_set("mine");
    assert_true(tn_thread_start(&thread, other_thread, &empty));
    tn_thread_join(&thread);
    assert_true(empty);
    assert_string_equal(tn_error_text(), "mine");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_built_from_both_ends),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(statuses_travel_upwards),
        cmocka_unit_test(each_thread_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
