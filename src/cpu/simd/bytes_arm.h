// SPDX-License-Identifier: MIT
// Bytes in kernel bodies: what the levels of 64-bit Arm share. The level's header comes first and has
// tn_bytes_fours, which multiplies sixteen bytes and adds the products of each four in a row.
#ifndef TN_CPU_SIMD_BYTES_ARM_H
#define TN_CPU_SIMD_BYTES_ARM_H

#include <arm_neon.h>

#include "cpu/simd/bytes.h"

TN_INLINE float tn_bytes_half(uint16_t h) {
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0);
}

TN_INLINE tn_h tn_h_lookup(const int8_t table[16], tn_h index) {
    return (tn_h) vqtbl1q_s8(vld1q_s8(table), (uint8x16_t) index);
}

TN_INLINE void tn_h_store_two(void * p, tn_h lower, tn_h upper) {
    tn_h_store(p, lower);
    tn_h_store((char *) p + 16, upper);
}

TN_INLINE int32_t tn_bytes_dot_256(const int8_t * q, const int8_t * y, const int16_t scale[16]) {
    int32x4_t sum = vdupq_n_s32(0);
    TN_UNROLL
    for (int g = 0; g < 16; g++)
        sum = vmlaq_n_s32(sum, tn_bytes_fours(vdupq_n_s32(0), q + 16 * g, y + 16 * g), scale[g]);
    return vaddvq_s32(sum);
}

TN_INLINE void tn_bytes_dot_4x32(const int8_t * q, const int8_t * const y[4], int32_t sums[4]) {
    int32x4_t s[4];
    TN_UNROLL
    for (int k = 0; k < 4; k++) {
        s[k] = tn_bytes_fours(vdupq_n_s32(0), q + 32 * k, y[k]);
        s[k] = tn_bytes_fours(s[k], q + 32 * k + 16, y[k] + 16);
    }
    vst1q_s32(sums, vpaddq_s32(vpaddq_s32(s[0], s[1]), vpaddq_s32(s[2], s[3])));
}

#endif
