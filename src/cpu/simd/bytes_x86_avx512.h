// SPDX-License-Identifier: MIT
// Products of bytes by AVX-512 (F, BW, DQ, VL): two groups at a time, widened to 16 bits.
#ifndef TN_CPU_SIMD_BYTES_X86_AVX512_H
#define TN_CPU_SIMD_BYTES_X86_AVX512_H

#include "cpu/simd/bytes_x86.h"

#define TN_FN(name) tn_##name##_x86_avx512

TN_INLINE __m512i tn_bytes_widen(const int8_t * p) {
    return _mm512_cvtepi8_epi16(tn_bytes_load(p));
}

// Two scales, sixteen times each.
TN_INLINE __m512i tn_bytes_two_scales(const int16_t * scale) {
    int32_t both;
    memcpy(&both, scale, sizeof(both));
    const __m512i first = _mm512_set1_epi16(0x0100);
    const __m512i index = _mm512_mask_blend_epi32(0xff00, first, _mm512_set1_epi16(0x0302));
    return _mm512_shuffle_epi8(_mm512_set1_epi32(both), index);
}

TN_INLINE int32_t tn_bytes_dot_256(const int8_t * q, const int8_t * y, const int16_t scale[16]) {
    __m512i sum = _mm512_setzero_si512();
    TN_UNROLL
    for (int g = 0; g < 16; g += 2) {
        const __m512i a = _mm512_mullo_epi16(tn_bytes_widen(q + 16 * g), tn_bytes_two_scales(scale + g));
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(a, tn_bytes_widen(y + 16 * g)));
    }
    return _mm512_reduce_add_epi32(sum);
}

TN_INLINE void tn_bytes_dot_4x32(const int8_t * q, const int8_t * const y[4], int32_t sums[4]) {
    __m256i s[4];
    TN_UNROLL
    for (int k = 0; k < 4; k++) {
        const __m512i p = _mm512_madd_epi16(tn_bytes_widen(q + 32 * k), tn_bytes_widen(y[k]));
        s[k] = _mm256_add_epi32(_mm512_castsi512_si256(p), _mm512_extracti64x4_epi64(p, 1));
    }
    tn_bytes_sum_lanes(s, sums);
}

#endif
