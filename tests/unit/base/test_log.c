// SPDX-License-Identifier: MIT
// base/log.c: the callback, its user data, the default, long lines, many threads.
#include "harness.h"

#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"

struct seen {
    enum ggml_log_level level;
    char text[4096];
    int calls;
};

static void note(enum ggml_log_level level, const char * text, void * user_data) {
    struct seen * seen = user_data;
    seen->level = level;
    seen->calls++;
    snprintf(seen->text, sizeof(seen->text), "%s", text);
}

static void the_callback_gets_level_text_and_data(void ** state) {
    (void) state;
    struct seen seen = { 0 };
    ggml_log_callback callback;
    void * user_data;
    ggml_log_set(note, &seen);
    ggml_log_get(&callback, &user_data);
    assert_ptr_equal((void *) callback, (void *) note);
    assert_ptr_equal(user_data, &seen);
    ggml_log_get(NULL, NULL);
    TN_LOG_WARN("%d of %s\n", 3, "x");
    assert_int_equal(seen.level, GGML_LOG_LEVEL_WARN);
    assert_string_equal(seen.text, "3 of x\n");
    TN_LOG_ERROR("e\n");
    assert_int_equal(seen.level, GGML_LOG_LEVEL_ERROR);
    TN_LOG_INFO("i\n");
    assert_int_equal(seen.level, GGML_LOG_LEVEL_INFO);
    TN_LOG_DEBUG("d\n");
    assert_int_equal(seen.level, GGML_LOG_LEVEL_DEBUG);
    assert_int_equal(seen.calls, 4);
    ggml_log_set(NULL, NULL);
    ggml_log_get(&callback, &user_data);
    assert_ptr_not_equal((void *) callback, (void *) note);
    assert_null(user_data);
}

static void long_lines_are_cut_and_end(void ** state) {
    (void) state;
    struct seen seen = { 0 };
    char text[4000];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    ggml_log_set(note, &seen);
    TN_LOG_INFO("%s\n", text);
    ggml_log_set(NULL, NULL);
    const size_t n = strlen(seen.text);
    assert_true(n > 1000 && n < 3000);
    assert_int_equal(seen.text[n - 1], '\n');
}

static void log_again(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) text;
    ggml_log_set(note, user_data);
    TN_LOG_INFO("inner\n");
}

static void a_callback_may_log_and_change_the_callback(void ** state) {
    (void) state;
    struct seen seen = { 0 };
    ggml_log_set(log_again, &seen);
    TN_LOG_INFO("outer\n");
    ggml_log_set(NULL, NULL);
    assert_int_equal(seen.calls, 1);
    assert_string_equal(seen.text, "inner\n");
}

static void the_default_writes_to_stderr(void ** state) {
    (void) state;
    int ends[2];
    char text[64] = { 0 };
    assert_int_equal(pipe(ends), 0);
    const int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    TN_LOG_WARN("to stderr %d\n", 5);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    close(ends[0]);
    assert_string_equal(text, "to stderr 5\n");
}

static void count(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) text;
    __atomic_fetch_add((int *) user_data, 1, __ATOMIC_RELAXED);
}

static void * log_a_lot(void * arg) {
    for (int i = 0; i < 1000; i++) {
        TN_LOG_INFO("%d\n", i);
        if (i % 100 == 0) ggml_log_set(count, arg);
    }
    return NULL;
}

static void many_threads(void ** state) {
    (void) state;
    struct tn_thread threads[4];
    int lines = 0;
    ggml_log_set(count, &lines);
    for (int i = 0; i < 4; i++)
        assert_true(tn_thread_start(&threads[i], log_a_lot, &lines));
    for (int i = 0; i < 4; i++)
        tn_thread_join(&threads[i]);
    ggml_log_set(NULL, NULL);
    assert_int_equal(lines, 4000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_callback_gets_level_text_and_data),
        cmocka_unit_test(long_lines_are_cut_and_end),
        cmocka_unit_test(a_callback_may_log_and_change_the_callback),
        cmocka_unit_test(the_default_writes_to_stderr),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
