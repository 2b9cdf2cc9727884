// SPDX-License-Identifier: MIT
// What all tests share: cmocka in the right order, numbers from a printed seed, comparisons of rows.
#ifndef TN_TESTS_HARNESS_H
#define TN_TESTS_HARNESS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include <time.h>

// The seed of a run: TENON_SEED if set, else the clock; printed, so that a failure can be repeated.
static inline uint64_t test_seed(void) {
    const char * given = getenv("TENON_SEED");
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    const uint64_t now = (uint64_t) ts.tv_sec * 1000003u + (uint64_t) ts.tv_nsec;
    const uint64_t seed = given ? strtoull(given, NULL, 0) : now;
    printf("seed: TENON_SEED=%llu\n", (unsigned long long) seed);
    return seed;
}

struct test_rng {
    uint64_t state;
};

static inline uint64_t test_rng_u64(struct test_rng * rng) {
    uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// 0 .. n - 1
static inline int64_t test_rng_below(struct test_rng * rng, int64_t n) {
    return (int64_t) (test_rng_u64(rng) % (uint64_t) n);
}

// lo .. hi
static inline float test_rng_float(struct test_rng * rng, float lo, float hi) {
    return lo + (hi - lo) * (float) (test_rng_u64(rng) >> 40) * 0x1p-24f;
}

// How many rounds a random test runs: `full` with TENON_FULL=1, else a tenth, at least 1. Where runs are slow
// (sanitizers, TENON_SLOW=1) a hundredth instead of a tenth; an emulated processor is too slow for more than
// a tenth of `full`.
static inline int64_t test_rounds(int64_t full) {
    const char *all = getenv("TENON_FULL"), *slow = getenv("TENON_SLOW");
    const bool is_all = all && all[0] == '1';
    int64_t part = full / (is_all ? 1 : 10);
    if (slow && slow[0] == '1' && (TENON_EMULATED || !is_all)) part /= 10;
    return part > 0 ? part : 1;
}

// The template of a name below TMPDIR, or /tmp, for mkstemp and mkdtemp.
enum { TEST_PATH = 512 };
static inline char * test_path(char path[TEST_PATH], const char * name) {
    const char * folder = getenv("TMPDIR");
    snprintf(path, TEST_PATH, "%s/tenon-%s-XXXXXX", folder && folder[0] ? folder : "/tmp", name);
    return path;
}

#define assert_contains(text, part)                                                              \
    do {                                                                                         \
        const char * text_ = (text);                                                             \
        if (!text_ || !strstr(text_, part)) fail_msg("'%s' does not contain '%s'", text_, part); \
    } while (0)

#endif
