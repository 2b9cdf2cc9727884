// SPDX-License-Identifier: MIT
// Keys, sorted pairs and thresholds against qsort: rows of 0 to 130, of lengths around blocks and of 2^20,
// with equal values, zeros of both signs, NaN and infinity, between guard bytes.
#include "harness.h"

#include <math.h>

#include "base/bits.h"
#include "cpu/kernels/sort/sort.h"

enum { GUARD = 16, WORD = 0x5a5a5a5a };

static const float * compared;
static bool is_descending;

// NaN last in both orders, equals by index.
static int by_value(const void * a, const void * b) {
    const uint32_t i = *(const uint32_t *) a, j = *(const uint32_t *) b;
    const float x = compared[i], y = compared[j];
    if (isnan(x) || isnan(y)) return isnan(x) != isnan(y) ? (isnan(x) ? 1 : -1) : i < j ? -1 : 1;
    if (x != y) return (x < y) != is_descending ? -1 : 1;
    return i < j ? -1 : 1;
}

static void fill(struct test_rng * rng, int64_t n, float * x) {
    static const float special[] = { 0.0f, -0.0f, NAN, -NAN, INFINITY, -INFINITY, 1e-45f, -1e-45f, 1.0f };
    for (int64_t i = 0; i < n; i++) {
        x[i] = test_rng_below(rng, 4) ? test_rng_float(rng, -3.0f, 3.0f)
                                      : special[test_rng_below(rng, TN_COUNT(special))];
    }
}

// n words between guards.
static uint32_t * new_words(int64_t n) {
    uint32_t * w = malloc(((size_t) n + 2 * GUARD) * sizeof(*w));
    assert_non_null(w);
    for (int64_t i = 0; i < n + 2 * GUARD; i++)
        w[i] = WORD;
    return w + GUARD;
}

static void free_words(uint32_t * w, int64_t n) {
    for (int64_t i = 0; i < GUARD; i++) {
        assert_int_equal(w[-1 - i], WORD);
        assert_int_equal(w[n + i], WORD);
    }
    free(w - GUARD);
}

static void check_bound(int64_t n, const uint32_t * keys, const uint32_t * order, int64_t k) {
    const struct tn_sort_bound bound = tn_sort_select(n, keys, k);
    int64_t below = 0;
    for (int64_t i = 0; i < n; i++)
        below += keys[i] < bound.key;
    assert_int_equal(bound.key, keys[order[k - 1]]);
    assert_int_equal(bound.n_equal, k - below);
}

static void check(struct test_rng * rng, int64_t n, bool descending) {
    float * x = (float *) new_words(n);
    uint32_t *keys = new_words(n), *order = new_words(n);
    uint32_t *a = new_words(2 * n), *b = new_words(2 * n);
    fill(rng, n, x);
    for (int64_t i = 0; i < n; i++)
        order[i] = (uint32_t) i;
    compared = x;
    is_descending = descending;
    qsort(order, (size_t) n, sizeof(*order), by_value);
    tn_sort_keys(n, keys, x, descending);
    for (int64_t i = 0; i < n; i++)
        ((uint64_t *) (void *) a)[i] = (uint64_t) keys[i] << 32 | (uint64_t) i;
    const uint64_t * sorted = tn_sort_pairs(n, (uint64_t *) (void *) a, (uint64_t *) (void *) b);
    for (int64_t i = 0; i < n; i++) {
        if ((uint32_t) sorted[i] != order[i])
            fail_msg("n = %d: index %u at place %d, not %u", (int) n, (uint32_t) sorted[i], (int) i,
                     order[i]);
    }
    for (int k = 0; k < 4 && n > 0; k++)
        check_bound(n, keys, order, k == 0 ? 1 : k == 1 ? n : 1 + test_rng_below(rng, n));
    free_words((uint32_t *) x, n);
    free_words(keys, n);
    free_words(order, n);
    free_words(a, 2 * n);
    free_words(b, 2 * n);
}

static void every_length(void ** state) {
    static const int64_t lengths[] = { 255, 256, 257, 511, 512, 513, 1000, 4097, 1 << 20 };
    struct test_rng rng = { test_seed() };
    (void) state;
    for (int descending = 0; descending < 2; descending++) {
        for (int64_t n = 0; n <= 130; n++)
            check(&rng, n, descending);
        for (size_t k = 0; k < TN_COUNT(lengths); k++)
            check(&rng, lengths[k], descending);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_length) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
