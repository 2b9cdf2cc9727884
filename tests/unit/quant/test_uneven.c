// SPDX-License-Identifier: MIT
// quant/uneven.c: codes against a look at all sixteen values.
#include "harness.h"

#include <float.h>
#include <math.h>

#include "quant/codebook_tables.h"
#include "quant/uneven.h"

static double least_distance(double t) {
    double least = INFINITY;
    for (int c = 0; c < 16; c++) {
        least = fmin(least, fabs(t - tn_codebook_iq4nl[c]));
    }
    return least;
}

static void check(const float * x, const float * w, float scale) {
    uint8_t codes[16];
    double p = 0, q = 0, size = 0;
    tn_uneven_codes(x, scale, codes);
    for (int i = 0; i < TN_UNEVEN_LEN; i++) {
        const int v = tn_codebook_iq4nl[codes[i % 16] >> (4 * (i / 16)) & 15];
        const double t = (double) x[i] / scale;
        assert_true(fabs(t - v) <= least_distance(t) * (1 + 1e-6) + 1e-4);
        p += (double) w[i] * x[i] * v;
        q += (double) w[i] * v * v;
        size += fabs((double) w[i] * x[i] * v);
    }
    const struct tn_block_scale_fit fit = tn_uneven_fit(x, w, scale);
    assert_true(fabs(fit.p - p) <= 1e-5 * size + 1e-6);
    assert_true(fabs(fit.q - q) <= 1e-5 * q);
}

static void nearest_values(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    assert_true(tn_uneven_prepare());
    for (int64_t round = 0; round < test_rounds(10000); round++) {
        float x[TN_UNEVEN_LEN], w[TN_UNEVEN_LEN];
        const float scale = test_rng_float(&rng, 0.01f, 0.2f) * (test_rng_below(&rng, 2) ? 1.0f : -1.0f);
        for (int i = 0; i < TN_UNEVEN_LEN; i++) {
            x[i] = test_rng_float(&rng, -16, 16);
            w[i] = test_rng_float(&rng, 0, 1);
        }
        check(x, w, scale);
    }
}

// Every value and every border between two.
static void exact_values(void ** state) {
    (void) state;
    assert_true(tn_uneven_prepare());
    float x[TN_UNEVEN_LEN] = { 0 }, w[TN_UNEVEN_LEN];
    for (int i = 0; i < 16; i++) {
        x[i] = 0.5f * (float) tn_codebook_iq4nl[i];
        x[i + 16] = x[i] + 0.125f; // still nearest to it
    }
    for (int i = 0; i < TN_UNEVEN_LEN; i++) {
        w[i] = 1;
    }
    uint8_t codes[16];
    tn_uneven_codes(x, 0.5f, codes);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(codes[i], i | i << 4);
    }
    check(x, w, 0.5f);
}

// Scales that no division survives do no harm.
static void odd_scales(void ** state) {
    (void) state;
    assert_true(tn_uneven_prepare());
    const float scales[] = { 0, -0.0f, 1e-45f, FLT_MAX, INFINITY, NAN };
    float x[TN_UNEVEN_LEN], w[TN_UNEVEN_LEN];
    for (int i = 0; i < TN_UNEVEN_LEN; i++) {
        x[i] = (float) i - 16;
        w[i] = 1;
    }
    for (size_t k = 0; k < sizeof(scales) / sizeof(scales[0]); k++) {
        uint8_t codes[16];
        tn_uneven_codes(x, scales[k], codes);
        const struct tn_block_scale_fit fit = tn_uneven_fit(x, w, scales[k]);
        assert_true(isfinite(fit.p) && isfinite(fit.q) && fit.q > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(nearest_values), cmocka_unit_test(exact_values),
                                        cmocka_unit_test(odd_scales) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
