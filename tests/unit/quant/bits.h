// SPDX-License-Identifier: MIT
// Reading and making bits, halves and bell-shaped numbers, for oracles: shares no code with the library.
#ifndef TN_TESTS_BITS_H
#define TN_TESTS_BITS_H

#include "harness.h"

#include <float.h>
#include <math.h>

static inline unsigned bits(unsigned x, int first, int n) {
    return x >> first & ((1u << n) - 1);
}

static inline unsigned u16_at(const uint8_t * b) {
    return b[0] | (unsigned) b[1] << 8;
}

static inline unsigned u32_at(const uint8_t * b) {
    return u16_at(b) | u16_at(b + 2) << 16;
}

static inline float half_value(unsigned h) {
    const int expo = (int) bits(h, 10, 5);
    const double mant = bits(h, 0, 10);
    const double magnitude = expo == 31  ? (mant != 0 ? NAN : INFINITY)
                             : expo == 0 ? ldexp(mant, -24)
                                         : ldexp(1024 + mant, expo - 25);
    return (float) (h & 0x8000 ? -magnitude : magnitude);
}

static inline float half_at(const uint8_t * b) {
    return half_value(u16_at(b));
}

// The nearest half, ties to even, by arithmetic in double; infinity above the range.
static inline unsigned half_bits(float v) {
    const unsigned sign = signbit(v) ? 0x8000 : 0;
    const double a = fabs((double) v);
    if (a == 0) return sign;
    if (isnan(v)) return sign | 0x7e00;
    if (a >= 65520) return sign | 0x7c00;
    int expo;
    frexp(a, &expo);
    if (expo < -13) expo = -13; // subnormals share the exponent of the smallest normals
    const unsigned mant = (unsigned) nearbyint(ldexp(a, 11 - expo)); // 0 .. 2048
    return sign | (mant + (unsigned) (expo + 13) * 1024);
}

static inline void put_half(uint8_t * b, float v) {
    const unsigned h = half_bits(v);
    b[0] = (uint8_t) h;
    b[1] = (uint8_t) (h >> 8);
}

static inline uint32_t float_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof(u));
    return u;
}

static inline float gaussian(struct test_rng * rng) {
    float sum = 0;
    for (int i = 0; i < 12; i++) {
        sum += test_rng_float(rng, -0.5f, 0.5f);
    }
    return sum;
}

#endif
