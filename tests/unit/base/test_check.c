// SPDX-License-Identifier: MIT
// base/check.c: ggml_abort and assertions, each in a process of its own.
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "ggml.h"

static char text[65536];

// Runs in a child; what it writes to stderr is in `text`. Returns the signal that ended it, 0 if none did.
static int signal_of(void (*run)(void)) {
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n; (n = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0;)
        used += (size_t) n;
    text[used] = '\0';
    char * of_emulator = strstr(text, "qemu: uncaught target signal"); // comes last, where one runs this
    if (of_emulator) *of_emulator = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void plain(void) {
    ggml_abort("some_file.c", 42, "it is %d", 7);
}

static void without_backtrace(void) {
    setenv("GGML_NO_BACKTRACE", "1", 1);
    plain();
}

static void long_text(void) {
    char longer[4000];
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    setenv("GGML_NO_BACKTRACE", "1", 1);
    ggml_abort("f.c", 1, "%s", longer);
}

static void from_macro(void) {
    GGML_ASSERT(1 + 1 == 3);
}

static void in_strict_mode(void) {
    TN_ABORT("strict %d", 1);
}

static void call_back(const char * message) {
    fprintf(stderr, "callback: %s\n", message);
}

static void with_callback(void) {
    ggml_set_abort_callback(call_back);
    plain();
}

static void everything_is_fine(void) {
    TN_ASSERT(1 + 1 == 2);
    GGML_ASSERT(1 + 1 == 2);
}

static void broken_assertion(void) {
    TN_ASSERT(1 + 1 == 3);
}

static void an_abort_says_where_and_why(void ** state) {
    (void) state;
    assert_int_equal(signal_of(plain), SIGABRT);
    assert_memory_equal(text, "some_file.c:42: it is 7\n", 24);
    assert_true(strlen(text) > 40); // a backtrace follows
    assert_int_equal(signal_of(without_backtrace), SIGABRT);
    assert_string_equal(text, "some_file.c:42: it is 7\n");
    assert_int_equal(signal_of(from_macro), SIGABRT);
    assert_contains(text, "test_check.c:");
    assert_contains(text, "1 + 1 == 3");
    assert_int_equal(signal_of(in_strict_mode), SIGABRT);
    assert_contains(text, "strict 1");
    assert_int_equal(signal_of(long_text), SIGABRT);
    assert_int_equal(strlen(text), 2048); // 2047 bytes and the end of the line
}

static void a_callback_replaces_the_text_but_not_the_end(void ** state) {
    (void) state;
    assert_int_equal(signal_of(with_callback), SIGABRT);
    assert_string_equal(text, "callback: some_file.c:42: it is 7\n");
    assert_null((void *) ggml_set_abort_callback(call_back));
    assert_ptr_equal((void *) ggml_set_abort_callback(NULL), (void *) call_back);
}

static void assertions(void ** state) {
    (void) state;
    assert_int_equal(signal_of(everything_is_fine), 0);
#ifdef NDEBUG
    assert_int_equal(signal_of(broken_assertion), 0);
#else
    assert_int_equal(signal_of(broken_assertion), SIGABRT);
    assert_contains(text, "broken: 1 + 1 == 3");
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abort_says_where_and_why),
        cmocka_unit_test(a_callback_replaces_the_text_but_not_the_end),
        cmocka_unit_test(assertions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
