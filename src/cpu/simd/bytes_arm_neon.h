// SPDX-License-Identifier: MIT
// Products of bytes by NEON.
#ifndef TN_CPU_SIMD_BYTES_ARM_NEON_H
#define TN_CPU_SIMD_BYTES_ARM_NEON_H

#include <arm_neon.h>

#include "base/half.h"
#include "cpu/simd/bytes.h"

#define TN_FN(name) tn_##name##_arm_neon

TN_INLINE float tn_bytes_half(uint16_t h) {
    return tn_f16_to_f32(h);
}

TN_INLINE tn_h tn_h_lookup(const int8_t table[16], tn_h index) {
    return (tn_h) vqtbl1q_s8(vld1q_s8(table), (uint8x16_t) index);
}

TN_INLINE void tn_h_store_two(void * p, tn_h lower, tn_h upper) {
    tn_h_store(p, lower);
    tn_h_store((char *) p + 16, upper);
}

// Sums of four products.
TN_INLINE int32x4_t tn_bytes_fours(const int8_t * q, const int8_t * y) {
    const int8x16_t a = vld1q_s8(q), b = vld1q_s8(y);
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b)), high = vmull_high_s8(a, b);
    return vpadalq_s16(vpaddlq_s16(low), high);
}

TN_INLINE int32_t tn_bytes_dot_256(const int8_t * q, const int8_t * y, const int16_t scale[16]) {
    int32x4_t sum = vdupq_n_s32(0);
    for (int g = 0; g < 16; g++)
        sum = vmlaq_n_s32(sum, tn_bytes_fours(q + 16 * g, y + 16 * g), scale[g]);
    return vaddvq_s32(sum);
}

TN_INLINE void tn_bytes_dot_4x32(const int8_t * q, const int8_t * const y[4], int32_t sums[4]) {
    int32x4_t s[4];
    for (int k = 0; k < 4; k++)
        s[k] = vaddq_s32(tn_bytes_fours(q + 32 * k, y[k]), tn_bytes_fours(q + 32 * k + 16, y[k] + 16));
    vst1q_s32(sums, vpaddq_s32(vpaddq_s32(s[0], s[1]), vpaddq_s32(s[2], s[3])));
}

#endif
