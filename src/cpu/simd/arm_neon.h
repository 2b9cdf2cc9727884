// SPDX-License-Identifier: MIT
// The vocabulary of kernel bodies for 64-bit NEON: four f32 lanes.
#ifndef TN_CPU_SIMD_ARM_NEON_H
#define TN_CPU_SIMD_ARM_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

#define TN_FN(name) tn_##name##_arm_neon

// Accumulators of a tile of a product: 16 of 32 registers hide the latency of the multiplication.
enum { TN_V_LANES = 4, TN_V_TILE_ROWS = 4, TN_V_TILE_VECTORS = 4 };
typedef float32x4_t tn_v;
typedef uint32x4_t tn_m;

TN_INLINE tn_v tn_v_load(const float * p) {
    return vld1q_f32(p);
}

TN_INLINE void tn_v_store(float * p, tn_v v) {
    vst1q_f32(p, v);
}

// n < TN_V_LANES: the first n lanes, the others are zeros.
TN_INLINE tn_v tn_v_load_some(const float * p, int64_t n) {
    float lanes[4] = { 0 };
    memcpy(lanes, p, (size_t) n * sizeof(float));
    return vld1q_f32(lanes);
}

TN_INLINE void tn_v_store_some(float * p, tn_v v, int64_t n) {
    float lanes[4];
    vst1q_f32(lanes, v);
    memcpy(p, lanes, (size_t) n * sizeof(float));
}

TN_INLINE tn_v tn_v_all(float x) {
    return vdupq_n_f32(x);
}

// a*b + c, rounded once
TN_INLINE tn_v tn_v_mul_add(tn_v a, tn_v b, tn_v c) {
    return vfmaq_f32(c, a, b);
}

TN_INLINE tn_m tn_v_greater(tn_v a, tn_v b) {
    return vcgtq_f32(a, b);
}

TN_INLINE tn_v tn_v_choose(tn_m m, tn_v yes, tn_v no) {
    return vbslq_f32(m, yes, no);
}

// a < b ? a : b, and a > b ? a : b: the second one if either is NaN.
TN_INLINE tn_v tn_v_min(tn_v a, tn_v b) {
    return tn_v_choose(vcltq_f32(a, b), a, b);
}

TN_INLINE tn_v tn_v_max(tn_v a, tn_v b) {
    return tn_v_choose(tn_v_greater(a, b), a, b);
}

TN_INLINE tn_v tn_v_sqrt(tn_v x) {
    return vsqrtq_f32(x);
}

// To the nearest integer, even if in the middle.
TN_INLINE tn_v tn_v_round(tn_v x) {
    return vrndnq_f32(x);
}

// v * 2^n for v near 1 and an integer n of -200 .. 200. In two factors, so that subnormals come out rounded
// once.
TN_INLINE tn_v tn_v_scale(tn_v v, tn_v n) {
    const int32x4_t e = vcvtnq_s32_f32(n), half = vshrq_n_s32(e, 1), bias = vdupq_n_s32(127);
    const int32x4_t low = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t high = vshlq_n_s32(vaddq_s32(vsubq_s32(e, half), bias), 23);
    return vmulq_f32(vmulq_f32(v, vreinterpretq_f32_s32(low)), vreinterpretq_f32_s32(high));
}

// Of a positive normal number: the largest integer e with 2^e <= x.
TN_INLINE tn_v tn_v_exponent(tn_v x) {
    const int32x4_t bits = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_f32(x), 23));
    return vcvtq_f32_s32(vsubq_s32(bits, vdupq_n_s32(127)));
}

TN_INLINE float tn_v_sum(tn_v v) {
    return vaddvq_f32(v);
}

TN_INLINE tn_v tn_v_load_f16(const uint16_t * p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

TN_INLINE tn_v tn_v_load_bf16(const uint16_t * p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}

// Every NaN becomes 0x7e00 with its sign.
TN_INLINE void tn_v_store_f16(uint16_t * p, tn_v v) {
    const uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(v), vdupq_n_u32(0x80000000u));
    const tn_v nan = vreinterpretq_f32_u32(vorrq_u32(sign, vdupq_n_u32(0x7fc00000u)));
    v = tn_v_choose(vceqq_f32(v, v), v, nan);
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}

#endif
