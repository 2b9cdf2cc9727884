// SPDX-License-Identifier: MIT
// quant/block_input.c: sizes are tamed, ratios are kept.
#include "harness.h"

#include <float.h>
#include <math.h>

#include "quant/block_input.h"

enum { LEN = 32, SUB = 16 };

static struct tn_block_input input_of(const float * x, const float * w) {
    struct tn_block_input in;
    tn_block_input_set(&in, x, w, LEN, SUB);
    return in;
}

static void values(void ** state) {
    (void) state;
    const float largest[] = { 1, 1e30f, FLT_MAX, 3e-5f, FLT_MIN, 1e-45f, 65504 };
    for (size_t k = 0; k < sizeof(largest) / sizeof(largest[0]); k++) {
        float x[LEN];
        for (int i = 0; i < LEN; i++) {
            x[i] = largest[k] * ((float) (i - 16) / 16);
        }
        const struct tn_block_input in = input_of(x, NULL);
        int exponent;
        assert_true(frexpf(in.unit, &exponent) == 0.5f);
        assert_false(in.is_zero);
        const struct tn_block_input_stats stats = tn_block_input_stats(&in, 0, LEN);
        assert_true(stats.largest < 16 && (stats.largest >= 8 || largest[k] < 0x1p-120f));
        assert_true(stats.energy > 0 && stats.rms > 0 && isfinite(stats.energy));
        for (int i = 0; i < LEN; i++) {
            assert_true((double) in.x[i] * in.unit == x[i]); // exact
            assert_true(in.w[i] == 1);
        }
    }
}

static void zero_and_non_finite(void ** state) {
    (void) state;
    const float odd[] = { 0, -0.0f, NAN, INFINITY, -INFINITY };
    for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
        float x[LEN] = { 0 };
        x[5] = odd[k];
        if (k >= 2) x[6] = 1;
        const struct tn_block_input in = input_of(x, NULL);
        assert_true(in.is_zero);
        for (int i = 0; i < LEN; i++) {
            assert_true(in.x[i] == 0);
        }
    }
}

static void weights(void ** state) {
    (void) state;
    float x[LEN], w[LEN];
    for (int i = 0; i < LEN; i++) {
        x[i] = 1;
        w[i] = ldexpf(1, i - 20);
    }
    w[3] = 0;
    w[4] = -1;
    w[5] = NAN;
    const struct tn_block_input in = input_of(x, w);
    assert_true(in.w[LEN - 1] == 1);
    assert_true(in.w[LEN - 1] == 8 * in.w[LEN - 4]);
    for (int i = 0; i < SUB; i++) { // a millionth of the largest of the sub-block
        assert_true(in.w[i] >= 0.99e-6f * in.w[SUB - 1]);
    }
    assert_true(in.w[4] == in.w[3] && in.w[5] == in.w[3] && in.w[3] < in.w[SUB - 1]);
}

// Weights that tell nothing apart: all count the same.
static void flat_weights(void ** state) {
    (void) state;
    const float all[] = { 0, 1e-45f, FLT_MAX, INFINITY, NAN, -1 };
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
        float x[LEN], w[LEN];
        for (int i = 0; i < LEN; i++) {
            x[i] = (float) i;
            w[i] = all[k];
        }
        const struct tn_block_input in = input_of(x, w);
        for (int i = 0; i < LEN; i++) {
            assert_true(in.w[i] == 1);
        }
    }
}

static void stats(void ** state) {
    (void) state;
    float x[LEN] = { 0 }, w[LEN] = { 0 };
    x[16] = 3;
    x[17] = -4;
    w[16] = 1;
    w[17] = 0.5f;
    struct tn_block_input in = input_of(x, w);
    in.unit = 1;
    memcpy(in.x, x, sizeof(x));
    memcpy(in.w, w, sizeof(w));
    const struct tn_block_input_stats s = tn_block_input_stats(&in, 16, 16);
    assert_true(s.energy == 9 + 8);
    assert_true(fabsf(s.rms - sqrtf(17 / 1.5f)) < 1e-6f);
    assert_true(s.largest == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(zero_and_non_finite),
                                        cmocka_unit_test(weights), cmocka_unit_test(flat_weights),
                                        cmocka_unit_test(stats) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
