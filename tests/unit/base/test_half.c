// SPDX-License-Identifier: MIT
// base/half.h: every half float, and roundings, against arithmetic in double that shares nothing with it.
#include "harness.h"

#include <math.h>

#include "base/half.h"

// What sign, exponent and fraction of a small float mean, from the definition of the format.
static double value_of(uint32_t sign, int expo, int bias, uint32_t mant, int mant_bits) {
    const double fraction = ldexp(mant, -mant_bits);
    const double magnitude = expo == 0 ? ldexp(fraction, 1 - bias) : ldexp(1.0 + fraction, expo - bias);
    return sign ? -magnitude : magnitude;
}

static double half_value(uint16_t h) {
    return value_of(h >> 15, h >> 10 & 31, 15, h & 1023, 10);
}

// x rounded to `bits` significant bits, nearest even, exponents from `min_expo` on: multiples of one quantum.
static double rounded(double x, int bits, int min_expo, double limit) {
    if (x == 0) return x;
    int expo = ilogb(x);
    if (expo < min_expo) expo = min_expo;
    const double quantum = ldexp(1.0, expo - bits + 1);
    const double r = nearbyint(x / quantum) * quantum;
    return fabs(r) > limit ? copysign(INFINITY, x) : r;
}

static void every_half_float(void ** state) {
    (void) state;
    for (uint32_t h = 0; h < 65536; h++) {
        const float f = tn_f16_to_f32((uint16_t) h);
        if ((h & 0x7fff) > 0x7c00) {
            assert_true(isnan(f));
            assert_int_equal(tn_f16_from_f32(f), (h & 0x8000) | 0x7e00);
            continue;
        }
        if ((h & 0x7fff) == 0x7c00) {
            assert_true((double) f == (h >> 15 ? -INFINITY : INFINITY));
        } else {
            assert_true((double) f == half_value((uint16_t) h));
            assert_int_equal(signbit(f) != 0, h >> 15);
        }
        assert_int_equal(tn_f16_from_f32(f), h); // there and back
    }
}

static void check_rounding_to_half(float f) {
    const double wanted = rounded((double) f, 11, -14, 65504);
    const uint16_t h = tn_f16_from_f32(f);
    const double given = (h & 0x7fff) == 0x7c00 ? copysign(INFINITY, half_value(h)) : half_value(h);
    if (given != wanted || (h >> 15) != (signbit(f) != 0))
        fail_msg("%a gives %a, not %a", (double) f, given, wanted);
}

static void check_rounding_to_bf16(float f) {
    const double wanted = rounded((double) f, 8, -126, 0x1.fep127);
    const double given = (double) tn_bf16_to_f32(tn_bf16_from_f32(f));
    if (given != wanted) fail_msg("%a gives %a, not %a", (double) f, given, wanted);
}

// Between two neighbours: the middle, and one step of f32 to either side of it.
static void rounding_at_the_middles(void ** state) {
    (void) state;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        const double low = half_value((uint16_t) h);
        const double high = h == 0x7bff ? 65536.0 : half_value((uint16_t) (h + 1));
        const float middle = (float) ((low + high) / 2);
        const float near[3] = { nextafterf(middle, 0.0f), middle, nextafterf(middle, INFINITY) };
        for (int i = 0; i < 3; i++) {
            check_rounding_to_half(near[i]);
            check_rounding_to_half(-near[i]);
        }
    }
    for (uint32_t b = 0; b < 0x7f80; b++) {
        for (uint32_t low = 0x7fff; low <= 0x8001; low++) {
            check_rounding_to_bf16(tn_f32_from_bits(b << 16 | low));
            check_rounding_to_bf16(tn_f32_from_bits(0x80000000u | b << 16 | low));
        }
    }
}

static void rounding_at_random(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int64_t i = 0; i < test_rounds(20000000); i++) {
        const float f = tn_f32_from_bits((uint32_t) test_rng_u64(&rng));
        if (!isfinite(f)) continue;
        check_rounding_to_half(f);
        check_rounding_to_bf16(f);
    }
}

static void no_number_stays_no_number(void ** state) {
    (void) state;
    static const uint32_t nans[] = { 0x7f800001, 0x7fc00000, 0x7fffffff, 0xff800001, 0xffffffff, 0x7f80ffff };
    for (size_t i = 0; i < TN_COUNT(nans); i++) {
        const float f = tn_f32_from_bits(nans[i]);
        assert_true(isnan(tn_f16_to_f32(tn_f16_from_f32(f))));
        assert_true(isnan(tn_bf16_to_f32(tn_bf16_from_f32(f))));
        assert_int_equal(tn_f16_from_f32(f) >> 15, nans[i] >> 31);
        assert_int_equal(tn_bf16_from_f32(f) >> 15, nans[i] >> 31);
    }
    assert_int_equal(tn_f16_from_f32(INFINITY), 0x7c00);
    assert_int_equal(tn_f16_from_f32(-INFINITY), 0xfc00);
    assert_int_equal(tn_bf16_from_f32(-INFINITY), 0xff80);
}

static void scales_saturate(void ** state) {
    (void) state;
    assert_int_equal(tn_f16_scale(1e9f), 0x7bff);
    assert_int_equal(tn_f16_scale(-1e9f), 0xfbff);
    assert_int_equal(tn_f16_scale(INFINITY), 0x7bff);
    assert_int_equal(tn_f16_scale(65504.0f), 0x7bff);
    assert_int_equal(tn_f16_scale(65519.0f), 0x7bff);
    assert_int_equal(tn_f16_scale(1.0f), 0x3c00);
}

static void exponents_and_eight_bit_floats(void ** state) {
    (void) state;
    for (int e = 0; e < 256; e++) {
        assert_true((double) tn_e8m0_half_to_f32((uint8_t) e) == ldexp(1.0, e - 128));
    }
    for (int c = 0; c < 256; c++) {
        const bool none = (c & 0x7f) == 0x7f;
        const double wanted = none ? 0 : value_of(0, c >> 3 & 15, 7, c & 7, 3) / 2;
        assert_true((double) tn_ue4m3_half_to_f32((uint8_t) c) == wanted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_float),   cmocka_unit_test(rounding_at_the_middles),
        cmocka_unit_test(rounding_at_random), cmocka_unit_test(no_number_stays_no_number),
        cmocka_unit_test(scales_saturate),    cmocka_unit_test(exponents_and_eight_bit_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
