// SPDX-License-Identifier: MIT
// Products of bytes by AVX2: widened to 16 bits, in which the products of two are added.
#ifndef TN_CPU_SIMD_BYTES_X86_AVX2_H
#define TN_CPU_SIMD_BYTES_X86_AVX2_H

#include "cpu/simd/bytes_x86.h"

#define TN_FN(name) tn_##name##_x86_avx2

TN_INLINE __m256i tn_bytes_widen(const int8_t * p) {
    return _mm256_cvtepi8_epi16((__m128i) tn_h_load(p));
}

TN_INLINE int32_t tn_bytes_dot_256(const int8_t * q, const int8_t * y, const int16_t scale[16]) {
    __m256i sum = _mm256_setzero_si256();
    TN_UNROLL
    for (int g = 0; g < 16; g++) {
        const __m256i a = _mm256_mullo_epi16(tn_bytes_widen(q + 16 * g), _mm256_set1_epi16(scale[g]));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a, tn_bytes_widen(y + 16 * g)));
    }
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

TN_INLINE void tn_bytes_dot_4x32(const int8_t * q, const int8_t * const y[4], int32_t sums[4]) {
    __m256i s[4];
    TN_UNROLL
    for (int k = 0; k < 4; k++) {
        const int8_t * x = q + 32 * k;
        const __m256i low = _mm256_madd_epi16(tn_bytes_widen(x), tn_bytes_widen(y[k]));
        const __m256i high = _mm256_madd_epi16(tn_bytes_widen(x + 16), tn_bytes_widen(y[k] + 16));
        s[k] = _mm256_add_epi32(low, high);
    }
    tn_bytes_sum_lanes(s, sums);
}

#endif
