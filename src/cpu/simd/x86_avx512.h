// SPDX-License-Identifier: MIT
// The vocabulary of kernel bodies for AVX-512 (F, BW, DQ, VL): sixteen f32 lanes.
#ifndef TN_CPU_SIMD_X86_AVX512_H
#define TN_CPU_SIMD_X86_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "base/compiler.h"

#define TN_FN(name) tn_##name##_x86_avx512

// Accumulators of a tile of a product: 8 hide the latency of the multiplication; more rows would not leave a
// register for each row's address.
enum { TN_V_LANES = 16, TN_V_TILE_ROWS = 8, TN_V_TILE_VECTORS = 1 };
typedef __m512 tn_v;
typedef __mmask16 tn_m;

TN_INLINE tn_v tn_v_load(const float * p) {
    return _mm512_loadu_ps(p);
}

TN_INLINE void tn_v_store(float * p, tn_v v) {
    _mm512_storeu_ps(p, v);
}

// n < TN_V_LANES: the first n lanes, the others are zeros.
TN_INLINE tn_v tn_v_load_some(const float * p, int64_t n) {
    return _mm512_maskz_loadu_ps((__mmask16) ((1u << n) - 1), p);
}

TN_INLINE void tn_v_store_some(float * p, tn_v v, int64_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16) ((1u << n) - 1), v);
}

TN_INLINE tn_v tn_v_all(float x) {
    return _mm512_set1_ps(x);
}

// a*b + c, rounded once
TN_INLINE tn_v tn_v_mul_add(tn_v a, tn_v b, tn_v c) {
    return _mm512_fmadd_ps(a, b, c);
}

// a < b ? a : b, and a > b ? a : b: the second one if either is NaN.
TN_INLINE tn_v tn_v_min(tn_v a, tn_v b) {
    return _mm512_min_ps(a, b);
}

TN_INLINE tn_v tn_v_max(tn_v a, tn_v b) {
    return _mm512_max_ps(a, b);
}

TN_INLINE tn_m tn_v_greater(tn_v a, tn_v b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

TN_INLINE tn_v tn_v_choose(tn_m m, tn_v yes, tn_v no) {
    return _mm512_mask_blend_ps(m, no, yes);
}

TN_INLINE tn_v tn_v_sqrt(tn_v x) {
    return _mm512_sqrt_ps(x);
}

// To the nearest integer, even if in the middle.
TN_INLINE tn_v tn_v_round(tn_v x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// v * 2^n, n an integer
TN_INLINE tn_v tn_v_scale(tn_v v, tn_v n) {
    return _mm512_scalef_ps(v, n);
}

// Of a positive normal number: the largest integer e with 2^e <= x.
TN_INLINE tn_v tn_v_exponent(tn_v x) {
    return _mm512_getexp_ps(x);
}

TN_INLINE float tn_v_sum(tn_v v) {
    const __m256 high = _mm512_extractf32x8_ps(v, 1);
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), high);
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

TN_INLINE tn_v tn_v_load_f16(const uint16_t * p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p));
}

TN_INLINE tn_v tn_v_load_bf16(const uint16_t * p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *) p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

// Every NaN becomes 0x7e00 with its sign.
TN_INLINE void tn_v_store_f16(uint16_t * p, tn_v v) {
    const __m512 nan = _mm512_or_ps(_mm512_and_ps(v, _mm512_set1_ps(-0.0f)),
                                    _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
    v = _mm512_mask_blend_ps(_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v, nan);
    _mm256_storeu_si256((__m256i *) p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

#endif
