// SPDX-License-Identifier: MIT
// Bytes in kernel bodies: what the levels from AVX2 on share.
#ifndef TN_CPU_SIMD_BYTES_X86_H
#define TN_CPU_SIMD_BYTES_X86_H

#include <immintrin.h>

#include "cpu/simd/bytes.h"

TN_INLINE float tn_bytes_half(uint16_t h) {
    return _cvtsh_ss(h);
}

TN_INLINE tn_h tn_h_lookup(const int8_t table[16], tn_h index) {
    return (tn_h) _mm_shuffle_epi8((__m128i) tn_h_load(table), (__m128i) index);
}

// In one piece: a load that is wider than the stores before it would have to wait for them.
TN_INLINE void tn_h_store_two(void * p, tn_h lower, tn_h upper) {
    _mm256_storeu_si256(p, _mm256_set_m128i((__m128i) upper, (__m128i) lower));
}

TN_INLINE __m256i tn_bytes_load(const int8_t * p) {
    return _mm256_loadu_si256((const __m256i *) p);
}

// The sums of the lanes of each of four.
TN_INLINE void tn_bytes_sum_lanes(const __m256i s[4], int32_t sums[4]) {
    const __m256i t = _mm256_hadd_epi32(_mm256_hadd_epi32(s[0], s[1]), _mm256_hadd_epi32(s[2], s[3]));
    const __m128i all = _mm_add_epi32(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1));
    _mm_storeu_si128((__m128i *) sums, all);
}

#endif
