// SPDX-License-Identifier: MIT
// The part of cmocka's interface that the tests here use, for processors that no package of it is at hand
// for: tests that are built for another machine find this header in its place.
#ifndef TN_TESTS_CROSS_CMOCKA_H
#define TN_TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*CMFixtureFunction)(void ** state);

struct CMUnitTest {
    const char * name;
    void (*test_func)(void ** state);
    CMFixtureFunction setup_func, teardown_func;
};

// Where a failed assertion goes: the end of its test. One of all objects of a program.
__attribute__((weak)) jmp_buf cross_end;

__attribute__((noreturn, format(printf, 3, 4))) static inline void cross_fail(const char * file, int line,
                                                                              const char * format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    longjmp(cross_end, 1);
}

static inline void cross_check_int(intmax_t a, intmax_t b, const char * text, const char * file, int line) {
    if (a != b) cross_fail(file, line, "%s: %#jx is not %#jx", text, (uintmax_t) a, (uintmax_t) b);
}

static inline void cross_check_range(uintmax_t x, uintmax_t low, uintmax_t high, const char * text,
                                     const char * file, int line) {
    if (x < low || x > high) cross_fail(file, line, "%s: %ju is not in %ju .. %ju", text, x, low, high);
}

static inline void cross_check_string(const char * a, const char * b, const char * file, int line) {
    if (!a || !b || strcmp(a, b) != 0) cross_fail(file, line, "\"%s\" is not \"%s\"", a, b);
}

static inline void cross_check_memory(const void * a, const void * b, size_t size, const char * file,
                                      int line) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size; i++) {
        if (x[i] != y[i]) cross_fail(file, line, "byte %zu of %zu is %#x, not %#x", i, size, x[i], y[i]);
    }
}

static inline void cross_check_near(double a, double b, double tolerance, const char * file, int line) {
    const double difference = a > b ? a - b : b - a;
    if (!(difference <= tolerance)) cross_fail(file, line, "%.9g is not %.9g within %g", a, b, tolerance);
}

#define fail()           cross_fail(__FILE__, __LINE__, "failed")
#define fail_msg(...)    cross_fail(__FILE__, __LINE__, __VA_ARGS__)
#define print_error(...) fprintf(stderr, __VA_ARGS__)

#define assert_true(x)                                                                                       \
    do {                                                                                                     \
        if (!(x)) cross_fail(__FILE__, __LINE__, "not so: %s", #x);                                          \
    } while (0)
#define assert_false(x)                  assert_true(!(x))
#define assert_null(p)                   assert_true((p) == NULL)
#define assert_non_null(p)               assert_true((p) != NULL)
#define assert_ptr_equal(a, b)           assert_true((const void *) (a) == (const void *) (b))
#define assert_ptr_not_equal(a, b)       assert_true((const void *) (a) != (const void *) (b))
#define assert_int_equal(a, b) cross_check_int((intmax_t) (a), (intmax_t) (b), #a, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)       assert_true((intmax_t) (a) != (intmax_t) (b))
#define assert_string_equal(a, b)        cross_check_string(a, b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, n)     cross_check_memory(a, b, n, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, n) assert_true(memcmp(a, b, n) != 0)
#define assert_in_range(x, low, high)                                                                        \
    cross_check_range((uintmax_t) (x), (uintmax_t) (low), (uintmax_t) (high), #x, __FILE__, __LINE__)
#define assert_float_equal(a, b, e)                                                                          \
    cross_check_near((double) (a), (double) (b), (double) (e), __FILE__, __LINE__)

#define cmocka_unit_test(f)                                                                                  \
    { #f, f, NULL, NULL }
#define cmocka_unit_test_setup(f, up)                                                                        \
    { #f, f, up, NULL }
#define cmocka_unit_test_setup_teardown(f, up, down)                                                         \
    { #f, f, up, down }
#define cmocka_run_group_tests(tests, up, down) cmocka_run_group_tests_name(#tests, tests, up, down)
#define cmocka_run_group_tests_name(name, tests, up, down)                                                   \
    cross_run(name, tests, sizeof(tests) / sizeof((tests)[0]), up, down)

// One test between its fixtures. Whether all three went well.
static inline int cross_run_test(const struct CMUnitTest * test, void * state) {
    if (test->setup_func && test->setup_func(&state) != 0) return 0;
    const int passed = setjmp(cross_end) == 0 ? (test->test_func(&state), 1) : 0;
    return (!test->teardown_func || test->teardown_func(&state) == 0) && passed;
}

// The number of tests that failed; -1 if a fixture of the group did.
static inline int cross_run(const char * name, const struct CMUnitTest * tests, size_t n,
                            CMFixtureFunction up, CMFixtureFunction down) {
    void * state = NULL;
    int failed = 0;
    if (up && up(&state) != 0) return -1;
    for (size_t i = 0; i < n; i++) {
        const int passed = cross_run_test(&tests[i], state);
        fprintf(stderr, "[ %s ] %s\n", passed ? "    OK" : "FAILED", tests[i].name);
        failed += !passed;
    }
    fprintf(stderr, "[ %s: %zu tests, %d failed ]\n", name, n, failed);
    return down && down(&state) != 0 ? -1 : failed;
}

#endif
