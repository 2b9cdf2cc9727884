// SPDX-License-Identifier: MIT
// Scalar conversions between f32 and the small floats, exact and without tables.
//
// Rounding is to nearest even. They use integer arithmetic only where a flush-to-zero mode or a contraction
// could change a bit, so that every instruction-set level gives the same result.
#ifndef TN_BASE_HALF_H
#define TN_BASE_HALF_H

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

#define TN_F16_MAX 65504.0f

TN_INLINE float tn_f32_from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof(f));
    return f;
}

TN_INLINE uint32_t tn_f32_to_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof(u));
    return u;
}

// Both directions choose between results by masks instead of branching, so that loops over rows vectorise.
TN_INLINE uint32_t tn_half_choose(int yes, uint32_t a, uint32_t b) {
    const uint32_t mask = 0u - (uint32_t) yes;
    return (a & mask) | (b & ~mask);
}

TN_INLINE float tn_f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t) (h & 0x8000u) << 16;
    const uint32_t mag = h & 0x7fffu;
    // infinity and NaN keep the top exponent
    const uint32_t normal = (mag << 13) + tn_half_choose(mag >= 0x7c00u, 224u << 23, 112u << 23);
    const uint32_t subnormal = tn_f32_to_bits((float) (int32_t) mag * 0x1p-24f); // exact
    return tn_f32_from_bits(sign | tn_half_choose(mag < 0x400u, subnormal, normal));
}

// A NaN becomes 0x7e00 with its sign; what is too large becomes infinity.
TN_INLINE uint16_t tn_f16_from_f32(float f) {
    const uint32_t u = tn_f32_to_bits(f);
    const uint32_t sign = (u >> 16) & 0x8000u;
    const uint32_t mag = u & 0x7fffffffu;
    // rebias, round to nearest even
    const uint32_t normal = (mag - 0x38000000u + 0xfffu + ((mag >> 13) & 1u)) >> 13;
    // beside 0.5 a float counts in units of the smallest half
    const uint32_t subnormal = tn_f32_to_bits(tn_f32_from_bits(mag) + 0.5f) - 0x3f000000u;
    const uint32_t huge = tn_half_choose(mag > 0x7f800000u, 0x7e00u, 0x7c00u);
    const uint32_t finite = tn_half_choose(mag < 0x38800000u, subnormal, normal);
    return (uint16_t) (sign | tn_half_choose(mag >= 0x477ff000u, huge, finite)); // 65520 rounds to infinity
}

// For scales of blocks: saturates at the largest finite half instead of becoming infinite.
TN_INLINE uint16_t tn_f16_scale(float f) {
    if (f > TN_F16_MAX) f = TN_F16_MAX;
    if (f < -TN_F16_MAX) f = -TN_F16_MAX;
    return tn_f16_from_f32(f);
}

TN_INLINE float tn_bf16_to_f32(uint16_t h) {
    return tn_f32_from_bits((uint32_t) h << 16);
}

// A NaN keeps its upper bits and gets bit 6, so that it stays one; subnormals are kept.
TN_INLINE uint16_t tn_bf16_from_f32(float f) {
    const uint32_t u = tn_f32_to_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t) (u >> 16 | 64u);
    return (uint16_t) ((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

// E8M0: 2^(e - 127); codes are powers of two without sign. Code 255 is not a NaN here.
TN_INLINE float tn_e8m0_half_to_f32(uint8_t e) {
    return e < 2 ? tn_f32_from_bits(0x00200000u << e) : tn_f32_from_bits((uint32_t) (e - 1) << 23);
}

// Unsigned E4M3, halved. Codes 0x00 and 0x7f are 0; bit 7 is ignored.
TN_INLINE float tn_ue4m3_half_to_f32(uint8_t c) {
    const uint32_t expo = (c >> 3) & 15u;
    const uint32_t mant = c & 7u;
    if ((c & 0x7fu) == 0x7fu) return 0.0f;
    if (expo == 0) return (float) mant * 0x1p-10f;
    return tn_f32_from_bits((expo + 119u) << 23 | mant << 20);
}

#endif
