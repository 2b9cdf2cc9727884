// SPDX-License-Identifier: MIT
// The vocabulary of kernel bodies for AVX2 with FMA and F16C: eight f32 lanes.
#ifndef TN_CPU_SIMD_X86_AVX2_H
#define TN_CPU_SIMD_X86_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#include "base/compiler.h"

#define TN_FN(name) tn_##name##_x86_avx2

// Accumulators of a tile of a product: 8 of 16 registers hide the latency of the multiplication.
enum { TN_V_LANES = 8, TN_V_TILE_ROWS = 4, TN_V_TILE_VECTORS = 2 };
typedef __m256 tn_v;
typedef __m256 tn_m; // all bits of a lane, or none

TN_INLINE tn_v tn_v_load(const float * p) {
    return _mm256_loadu_ps(p);
}

TN_INLINE void tn_v_store(float * p, tn_v v) {
    _mm256_storeu_ps(p, v);
}

TN_INLINE __m256i tn_v_first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int) n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// n < TN_V_LANES: the first n lanes, the others are zeros.
TN_INLINE tn_v tn_v_load_some(const float * p, int64_t n) {
    return _mm256_maskload_ps(p, tn_v_first(n));
}

TN_INLINE void tn_v_store_some(float * p, tn_v v, int64_t n) {
    _mm256_maskstore_ps(p, tn_v_first(n), v);
}

TN_INLINE tn_v tn_v_all(float x) {
    return _mm256_set1_ps(x);
}

// a*b + c, rounded once
TN_INLINE tn_v tn_v_mul_add(tn_v a, tn_v b, tn_v c) {
    return _mm256_fmadd_ps(a, b, c);
}

// a < b ? a : b, and a > b ? a : b: the second one if either is NaN.
TN_INLINE tn_v tn_v_min(tn_v a, tn_v b) {
    return _mm256_min_ps(a, b);
}

TN_INLINE tn_v tn_v_max(tn_v a, tn_v b) {
    return _mm256_max_ps(a, b);
}

TN_INLINE tn_m tn_v_greater(tn_v a, tn_v b) {
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}

TN_INLINE tn_v tn_v_choose(tn_m m, tn_v yes, tn_v no) {
    return _mm256_blendv_ps(no, yes, m);
}

TN_INLINE tn_v tn_v_sqrt(tn_v x) {
    return _mm256_sqrt_ps(x);
}

// To the nearest integer, even if in the middle.
TN_INLINE tn_v tn_v_round(tn_v x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// v * 2^n for v near 1 and an integer n of -200 .. 200. In two factors, so that subnormals come out rounded
// once.
TN_INLINE tn_v tn_v_scale(tn_v v, tn_v n) {
    const __m256i e = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(e, 1), bias = _mm256_set1_epi32(127);
    const __m256i low = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i high = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(e, half), bias), 23);
    return v * _mm256_castsi256_ps(low) * _mm256_castsi256_ps(high);
}

// Of a positive normal number: the largest integer e with 2^e <= x.
TN_INLINE tn_v tn_v_exponent(tn_v x) {
    const __m256i bits = _mm256_srli_epi32(_mm256_castps_si256(x), 23);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(bits, _mm256_set1_epi32(127)));
}

TN_INLINE float tn_v_sum(tn_v v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

TN_INLINE tn_v tn_v_load_f16(const uint16_t * p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p));
}

TN_INLINE tn_v tn_v_load_bf16(const uint16_t * p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *) p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

// Every NaN becomes 0x7e00 with its sign.
TN_INLINE void tn_v_store_f16(uint16_t * p, tn_v v) {
    const __m256 nan = _mm256_or_ps(_mm256_and_ps(v, _mm256_set1_ps(-0.0f)),
                                    _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
    v = _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    _mm_storeu_si128((__m128i *) p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

#endif
