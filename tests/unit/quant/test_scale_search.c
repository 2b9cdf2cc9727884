// SPDX-License-Identifier: MIT
// quant/scale_search.c: what can be exact is exact, the search beats the plain choice, codes stay within
// bounds.
#include "unit/quant/bits.h"

#include "quant/scale_search.h"

static const struct tn_scale_shape shapes[] = {
    { .n_subs = 16, .sub_len = 16, .q_max = 3, .s_max = 15, .m_max = 15 },
    { .n_subs = 16, .sub_len = 16, .q_min = -4, .q_max = 3, .s_min = -32, .s_max = 31 },
    { .n_subs = 8, .sub_len = 32, .q_max = 15, .s_max = 63, .m_max = 63 },
    { .n_subs = 16, .sub_len = 16, .q_min = -32, .q_max = 31, .s_min = -128, .s_max = 127 },
    { .n_subs = 1, .sub_len = 32, .q_min = -8, .q_max = 7, .s_min = 1, .s_max = 1 },
    { .n_subs = 1, .sub_len = 32, .q_max = 31, .s_min = 1, .s_max = 1, .m_min = 1, .m_max = 1 },
};
enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static float value(const struct tn_scale_shape * shape, const struct tn_scale_fit * fit, int j) {
    const int k = j / shape->sub_len;
    return half_value(fit->d) * (float) fit->s[k] * fit->q[j] - half_value(fit->dmin) * (float) fit->m[k];
}

static double error_of(const struct tn_scale_shape * shape, const struct tn_scale_fit * fit, const float * x,
                       const float * w) {
    double error = 0;
    for (int j = 0; j < shape->n_subs * shape->sub_len; j++) {
        const double r = (double) x[j] - value(shape, fit, j);
        error += (w ? w[j] : 1) * r * r;
    }
    return error;
}

static void check_bounds(const struct tn_scale_shape * shape, const struct tn_scale_fit * fit) {
    assert_true((fit->d & 0x7c00) != 0x7c00);
    assert_true((fit->dmin & 0x7c00) != 0x7c00);
    for (int k = 0; k < shape->n_subs; k++) {
        const bool off = fit->d == 0 && fit->s[k] == 0;
        if (!off) assert_in_range(fit->s[k] + 1000, shape->s_min + 1000, shape->s_max + 1000);
        if (fit->dmin != 0 || fit->m[k] != 0)
            assert_in_range(fit->m[k] + 1000, shape->m_min + 1000, shape->m_max + 1000);
    }
    for (int j = 0; j < shape->n_subs * shape->sub_len; j++) {
        assert_in_range(fit->q[j] + 1000, shape->q_min + 1000, shape->q_max + 1000);
    }
}

// Data that the shape can express come back almost exactly: from random codes with all ends in use.
static void finds_what_was_made(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int64_t round = 0; round < test_rounds(400); round++) {
        const struct tn_scale_shape * shape = &shapes[round % N_SHAPES];
        struct tn_scale_fit made = { .d = 0x2c00, .dmin = shape->m_max ? 0x2c00 : 0 }, found;
        float x[TN_SCALE_LEN];
        for (int k = 0; k < shape->n_subs; k++) { // the extremes, so that the start is right at once
            made.s[k] = shape->s_min < 0 && k % 2 == 0 ? shape->s_min : shape->s_max;
            made.m[k] = shape->m_max;
        }
        double energy = 0;
        for (int j = 0; j < shape->n_subs * shape->sub_len; j++) {
            const int span = shape->q_max - shape->q_min + 1;
            made.q[j] = (int8_t) (j % 16 == 0   ? shape->q_min
                                  : j % 16 == 1 ? shape->q_max
                                                : shape->q_min + test_rng_below(&rng, span));
            x[j] = value(shape, &made, j);
            energy += x[j] * x[j];
        }
        tn_scale_search(shape, x, NULL, &found);
        check_bounds(shape, &found);
        if (error_of(shape, &found, x, NULL) > 1e-5 * energy) {
            fail_msg("shape %d: %g of %g", (int) (round % N_SHAPES), error_of(shape, &found, x, NULL),
                     energy);
        }
    }
}

// Only some elements have weight: they come out well, whatever the others are.
static void follows_the_weights(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int i = 0; i < N_SHAPES; i++) {
        const struct tn_scale_shape * shape = &shapes[i];
        const int n = shape->n_subs * shape->sub_len;
        float x[TN_SCALE_LEN], w[TN_SCALE_LEN];
        double energy = 0;
        for (int j = 0; j < n; j++) {
            const bool counts = j % 16 == 3;
            x[j] = counts ? -0.5f : 10 * gaussian(&rng);
            w[j] = counts ? 1 : 0;
            energy += w[j] * x[j] * x[j];
        }
        struct tn_scale_fit fit;
        tn_scale_search(shape, x, w, &fit);
        check_bounds(shape, &fit);
        if (error_of(shape, &fit, x, w) > 1e-3 * energy)
            fail_msg("shape %d: %g of %g", i, error_of(shape, &fit, x, w), energy);
    }
}

// A power of two in the data or the weights changes nothing but d and dmin.
static void scales_with_the_data(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int i = 0; i < N_SHAPES; i++) {
        const int n = shapes[i].n_subs * shapes[i].sub_len;
        float x[TN_SCALE_LEN], w[TN_SCALE_LEN], x2[TN_SCALE_LEN], w2[TN_SCALE_LEN];
        for (int j = 0; j < n; j++) {
            x[j] = 4 * gaussian(&rng);
            w[j] = test_rng_float(&rng, 0.5f, 4);
            x2[j] = x[j] * 64;
            w2[j] = w[j] * 0x1p100f;
        }
        struct tn_scale_fit a, b;
        memset(&a, 0, sizeof(a));
        memset(&b, 0, sizeof(b));
        tn_scale_search(&shapes[i], x, w, &a);
        tn_scale_search(&shapes[i], x2, w2, &b);
        assert_memory_equal(a.q, b.q, n);
        assert_memory_equal(a.s, b.s, shapes[i].n_subs * sizeof(a.s[0]));
        assert_memory_equal(a.m, b.m, shapes[i].n_subs * sizeof(a.m[0]));
        assert_true(half_value(b.d) == 64 * half_value(a.d));
    }
}

// Never worse than zeros, not even where no half is small enough.
static void tiny_data(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int e = -149; e < 0; e++) {
        for (int i = 0; i < N_SHAPES; i++) {
            const int n = shapes[i].n_subs * shapes[i].sub_len;
            float x[TN_SCALE_LEN];
            double energy = 0;
            for (int j = 0; j < n; j++) {
                x[j] = ldexpf(gaussian(&rng), e);
                energy += (double) x[j] * x[j];
            }
            struct tn_scale_fit fit;
            tn_scale_search(&shapes[i], x, NULL, &fit);
            check_bounds(&shapes[i], &fit);
            if (error_of(&shapes[i], &fit, x, NULL) > 1.001 * energy) fail_msg("shape %d, 2^%d", i, e);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_made),
        cmocka_unit_test(follows_the_weights),
        cmocka_unit_test(scales_with_the_data),
        cmocka_unit_test(tiny_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
