// SPDX-License-Identifier: MIT
// quant/block_scale.c on a quantiser of the test's own: values -4 .. 3.
#include "harness.h"

#include <math.h>

#include "base/half.h"
#include "quant/block_scale.h"

enum { LEN = 256 };

struct trial {
    struct tn_block_input in;
    int n_subs;
    float scales[TN_BLOCK_SCALE_SUBS]; // of the last fit of each
    int n_fits;
};

static float round_to_value(float t) {
    const float v = roundf(t);
    return v < -4 ? -4 : v > 3 ? 3 : v;
}

static struct tn_block_scale_fit fit(void * self, int s, float scale) {
    struct trial * t = self;
    const int len = LEN / t->n_subs;
    struct tn_block_scale_fit sum = { 0, 0 };
    for (int i = s * len; i < (s + 1) * len; i++) {
        const float v = scale == 0 ? 0 : round_to_value(t->in.x[i] / scale);
        sum.p += t->in.w[i] * t->in.x[i] * v;
        sum.q += t->in.w[i] * v * v;
    }
    t->scales[s] = scale;
    t->n_fits++;
    return sum;
}

static double error_of_sub(const struct trial * t, int s, float scale) {
    const int len = LEN / t->n_subs;
    double error = 0;
    for (int i = s * len; i < (s + 1) * len; i++) {
        const double r = (double) t->in.x[i] - (scale == 0 ? 0 : scale * round_to_value(t->in.x[i] / scale));
        error += t->in.w[i] * r * r;
    }
    return error;
}

static double error_of(const struct trial * t, const float * scales) {
    double error = 0;
    for (int s = 0; s < t->n_subs; s++)
        error += error_of_sub(t, s, scales[s]);
    return error;
}

// By a fine scan of the block's scale, every code for every sub-block.
static double least_error(const struct trial * t) {
    double least = INFINITY;
    for (float d = 0.01f; d < 4; d *= 1.01f) {
        double sum = 0;
        for (int s = 0; s < t->n_subs; s++) {
            double sub = INFINITY;
            for (int c = 0; c < 8; c++)
                sub = fmin(sub, error_of_sub(t, s, d * (float) (1 + 2 * c)));
            sum += sub;
        }
        least = fmin(least, sum);
    }
    return least;
}

static uint16_t choose(struct trial * t, int n_codes, float first, float step, uint8_t * codes) {
    const struct tn_block_scale job = {
        .in = &t->in,
        .n_subs = t->n_subs,
        .n_codes = n_codes,
        .first = first,
        .step = step,
        .largest = 4,
        .reach = 1.5f,
        .rung = 1.1f,
        .fit = fit,
        .self = t,
    };
    t->n_fits = 0;
    const uint16_t d = tn_block_scale_choose(&job, codes);
    for (int s = 0; s < t->n_subs; s++) { // the last fits are those of the result
        assert_in_range(codes[s], 0, n_codes - 1);
        assert_true(t->scales[s] == tn_f16_to_f32(d) / t->in.unit * (first + step * (float) codes[s]));
    }
    return d;
}

// Values that some scale and codes give exactly. Where a sub-block does not use -4, its sign is ambiguous,
// and the range of codes has one sign more: a few rounds miss that.
static void finds_what_is_exact(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    double error = 0, energy = 0;
    for (int64_t round = 0; round < test_rounds(500); round++) {
        struct trial t = { .n_subs = test_rng_below(&rng, 2) ? 8 : 16 };
        const bool both = test_rng_below(&rng, 2);
        const float d = tn_f16_to_f32(tn_f16_from_f32(test_rng_float(&rng, 0.001f, 1)));
        float x[LEN], m = 0;
        for (int i = 0; i < LEN; i++) {
            if (i % (LEN / t.n_subs) == 0)
                m = (float) (both ? test_rng_below(&rng, 16) - 8 : 1 + test_rng_below(&rng, 16));
            x[i] = d * m * (float) (test_rng_below(&rng, 8) - 4);
        }
        tn_block_input_set(&t.in, x, NULL, LEN, LEN / t.n_subs);
        uint8_t codes[TN_BLOCK_SCALE_SUBS];
        choose(&t, 16, both ? -8 : 1, 1, codes);
        error += error_of(&t, t.scales);
        energy += tn_block_input_stats(&t.in, 0, LEN).energy;
        assert_true(t.n_fits < 150 * t.n_subs); // it is a search, not a scan
    }
    if (!(error < 5e-4 * energy)) fail_msg("error %g of %g", error, energy);
}

// Not far above the best of a fine scan of block scales with every code.
static void is_near_the_best(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    double ours = 0, best = 0;
    for (int round = 0; round < 4; round++) {
        struct trial t = { .n_subs = 8 };
        float x[LEN], w[LEN];
        for (int i = 0; i < LEN; i++) {
            x[i] = test_rng_float(&rng, -1, 1) + test_rng_float(&rng, -1, 1) + test_rng_float(&rng, -1, 1);
            w[i] = test_rng_float(&rng, 0.1f, 1);
        }
        tn_block_input_set(&t.in, x, w, LEN, 32);
        uint8_t codes[TN_BLOCK_SCALE_SUBS];
        choose(&t, 8, 1, 2, codes);
        ours += error_of(&t, t.scales);
        best += least_error(&t);
    }
    if (!(ours <= 1.01 * best)) fail_msg("error %g, a scan finds %g", ours, best);
}

// A zero sub-block among others, and a block whose scale no half can hold.
static void ends_of_the_range(void ** state) {
    (void) state;
    struct trial t = { .n_subs = 16 };
    float x[LEN] = { 0 };
    uint8_t codes[TN_BLOCK_SCALE_SUBS];
    for (int i = 0; i < 16; i++) {
        x[i] = (float) (i % 7 - 3);
    }
    tn_block_input_set(&t.in, x, NULL, LEN, 16);
    choose(&t, 16, 1, 1, codes);
    assert_true(error_of(&t, t.scales) < 1e-6 * (double) tn_block_input_stats(&t.in, 0, LEN).energy);
    for (int i = 0; i < LEN; i++) {
        x[i] = 3e38f * ((float) (i % 7 - 3) / 3);
    }
    tn_block_input_set(&t.in, x, NULL, LEN, 16);
    assert_int_equal(choose(&t, 16, 1, 1, codes), 0x7bff);
    for (int i = 0; i < LEN; i++) {
        x[i] = 1e-40f * (float) (i % 7 - 3);
    }
    tn_block_input_set(&t.in, x, NULL, LEN, 16);
    assert_int_equal(choose(&t, 16, 1, 1, codes), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(finds_what_is_exact),
                                        cmocka_unit_test(is_near_the_best),
                                        cmocka_unit_test(ends_of_the_range) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
