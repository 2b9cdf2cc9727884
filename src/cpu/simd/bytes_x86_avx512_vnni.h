// SPDX-License-Identifier: MIT
// Products of bytes by AVX-512 VNNI, which multiplies unsigned with signed bytes and adds four products.
// Codes are signed: with the sign bit flipped they are 128 larger, and 128 times the sum of y is too much.
#ifndef TN_CPU_SIMD_BYTES_X86_AVX512_VNNI_H
#define TN_CPU_SIMD_BYTES_X86_AVX512_VNNI_H

#include "cpu/simd/bytes_x86.h"

#define TN_FN(name) tn_##name##_x86_avx512_vnni

TN_INLINE __m512i tn_bytes_two(const int8_t * first, const int8_t * second) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(tn_bytes_load(first)), tn_bytes_load(second), 1);
}

// Codes have just been stored, 32 at a time.
TN_INLINE __m512i tn_bytes_codes(const int8_t * q) {
    return tn_bytes_two(q, q + 32);
}

// Sums of four products.
TN_INLINE __m512i tn_bytes_fours(__m512i q, __m512i y) {
    const __m512i sign = _mm512_set1_epi8(-128), zero = _mm512_setzero_si512();
    const __m512i more = _mm512_dpbusd_epi32(zero, _mm512_xor_si512(q, sign), y);
    return _mm512_sub_epi32(more, _mm512_dpbusd_epi32(zero, sign, y));
}

TN_INLINE int32_t tn_bytes_dot_256(const int8_t * q, const int8_t * y, const int16_t scale[16]) {
    const __m512i scales = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *) scale));
    const __m512i four_times = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    __m512i sum = _mm512_setzero_si512();
    TN_UNROLL
    for (int g = 0; g < 16; g += 4) {
        const __m512i p = tn_bytes_fours(tn_bytes_codes(q + 16 * g), _mm512_loadu_si512(y + 16 * g));
        const __m512i own = _mm512_add_epi32(four_times, _mm512_set1_epi32(g));
        sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(p, _mm512_permutexvar_epi32(own, scales)));
    }
    return _mm512_reduce_add_epi32(sum);
}

// Eight lanes a block. Lanes are added in pairs until there is one for each.
TN_INLINE void tn_bytes_dot_4x32(const int8_t * q, const int8_t * const y[4], int32_t sums[4]) {
    const __m512i s01 = tn_bytes_fours(tn_bytes_codes(q), tn_bytes_two(y[0], y[1]));
    const __m512i s23 = tn_bytes_fours(tn_bytes_codes(q + 64), tn_bytes_two(y[2], y[3]));
    // four lanes: 0 0 2 2 of halves of blocks 0 and 2, then of 1 and 3
    const __m512i twos = _mm512_add_epi32(_mm512_unpacklo_epi64(s01, s23), _mm512_unpackhi_epi64(s01, s23));
    const __m512i ones = _mm512_add_epi32(twos, _mm512_shuffle_epi32(twos, _MM_PERM_CDAB));
    const __m128i first = _mm_add_epi32(_mm512_castsi512_si128(ones), _mm512_extracti32x4_epi32(ones, 1));
    const __m128i second =
        _mm_add_epi32(_mm512_extracti32x4_epi32(ones, 2), _mm512_extracti32x4_epi32(ones, 3));
    _mm_storeu_si128((__m128i *) sums, _mm_blend_epi32(first, second, 0xa));
}

#endif
