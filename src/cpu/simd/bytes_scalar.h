// SPDX-License-Identifier: MIT
// Products of bytes for every processor.
//
// Every level has these, all exact. A group is sixteen codes; products of a code and a scale fit 16 bits.
#ifndef TN_CPU_SIMD_BYTES_SCALAR_H
#define TN_CPU_SIMD_BYTES_SCALAR_H

#include "base/half.h"
#include "cpu/simd/bytes.h"

#define TN_FN(name) tn_##name##_scalar

TN_INLINE float tn_bytes_half(uint16_t h) {
    return tn_f16_to_f32(h);
}

// table[index], indices below 16
TN_INLINE tn_h tn_h_lookup(const int8_t table[16], tn_h index) {
    tn_h v;
    for (int i = 0; i < 16; i++)
        v[i] = (uint8_t) table[index[i]];
    return v;
}

TN_INLINE void tn_h_store_two(void * p, tn_h lower, tn_h upper) {
    tn_h_store(p, lower);
    tn_h_store((char *) p + 16, upper);
}

TN_INLINE int32_t tn_bytes_dot_16(const int8_t * q, const int8_t * y) {
    int16_t a[16], b[16];
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) {
        a[i] = q[i];
        b[i] = y[i];
    }
    for (int i = 0; i < 16; i++)
        sum += a[i] * b[i];
    return sum;
}

// The sum over 16 groups of scale * sum of q * y.
TN_INLINE int32_t tn_bytes_dot_256(const int8_t * q, const int8_t * y, const int16_t scale[16]) {
    int32_t sum = 0;
    for (int g = 0; g < 16; g++)
        sum += scale[g] * tn_bytes_dot_16(q + 16 * g, y + 16 * g);
    return sum;
}

// Four sums of 32 products; codes lie one behind the other.
TN_INLINE void tn_bytes_dot_4x32(const int8_t * q, const int8_t * const y[4], int32_t sums[4]) {
    for (int k = 0; k < 4; k++)
        sums[k] = tn_bytes_dot_16(q + 32 * k, y[k]) + tn_bytes_dot_16(q + 32 * k + 16, y[k] + 16);
}

#endif
