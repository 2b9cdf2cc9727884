// SPDX-License-Identifier: MIT
// Dot product of bf16 with bf16, AVX-512 BF16: two products are added to a sum at once.
#include <immintrin.h>

#include "cpu/kernels/dot_float/dot_float.h"

// Elements beyond n are zeros.
TN_INLINE __m512bh load(const uint16_t * p, int64_t n) {
    const __mmask32 own = n >= 32 ? ~(__mmask32) 0 : ((__mmask32) 1 << n) - 1;
    return (__m512bh) _mm512_maskz_loadu_epi16(own, p);
}

float tn_dot_float_bf16_bf16_x86_avx512_bf16(int64_t n, const uint16_t * x, const uint16_t * y) {
    __m512 s[4] = { _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps() };
    int64_t i = 0;
    for (; i + 128 <= n; i += 128) {
        TN_UNROLL
        for (int k = 0; k < 4; k++)
            s[k] = _mm512_dpbf16_ps(s[k], load(x + i + 32 * k, 32), load(y + i + 32 * k, 32));
    }
    for (; i < n; i += 32)
        s[0] = _mm512_dpbf16_ps(s[0], load(x + i, n - i), load(y + i, n - i));
    return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s[0], s[1]), _mm512_add_ps(s[2], s[3])));
}
