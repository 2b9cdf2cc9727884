// SPDX-License-Identifier: MIT
// Products of bytes by the instruction that multiplies two rows of eight with two.
#ifndef TN_CPU_SIMD_BYTES_ARM_I8MM_H
#define TN_CPU_SIMD_BYTES_ARM_I8MM_H

#include <arm_neon.h>

#include "base/compiler.h"

#define TN_FN(name) tn_##name##_arm_i8mm

// sum + sums of four products
TN_INLINE int32x4_t tn_bytes_fours(int32x4_t sum, const int8_t * q, const int8_t * y) {
    return vdotq_s32(sum, vld1q_s8(q), vld1q_s8(y));
}

#include "cpu/simd/bytes_arm.h"

// sum + what sixteen bytes of each of two rows give with those of two others: 0 with 0, 0 with 1, 1 with 0,
// 1 with 1.
TN_INLINE int32x4_t tn_bytes_2x2(int32x4_t sum, const int8_t * const q[2], const int8_t * const y[2],
                                 int at) {
    const int64x2_t q0 = vreinterpretq_s64_s8(vld1q_s8(q[0] + at)),
                    y0 = vreinterpretq_s64_s8(vld1q_s8(y[0] + at));
    const int64x2_t q1 = vreinterpretq_s64_s8(vld1q_s8(q[1] + at)),
                    y1 = vreinterpretq_s64_s8(vld1q_s8(y[1] + at));
    sum = vmmlaq_s32(sum, vreinterpretq_s8_s64(vzip1q_s64(q0, q1)), vreinterpretq_s8_s64(vzip1q_s64(y0, y1)));
    return vmmlaq_s32(sum, vreinterpretq_s8_s64(vzip2q_s64(q0, q1)),
                      vreinterpretq_s8_s64(vzip2q_s64(y0, y1)));
}

TN_INLINE void tn_bytes_dot_32_2x2(const int8_t * const q[2], const int8_t * const y[2], int32_t sums[4]) {
    vst1q_s32(sums, tn_bytes_2x2(tn_bytes_2x2(vdupq_n_s32(0), q, y, 0), q, y, 16));
}

// Each row of q has a scale for every sixteen bytes.
TN_INLINE void tn_bytes_dot_256_2x2(const int8_t * const q[2], const int8_t * const y[2],
                                    const int16_t * const scale[2], int32_t sums[4]) {
    int32x4_t sum = vdupq_n_s32(0);
    TN_UNROLL
    for (int g = 0; g < 16; g++) {
        const int32x4_t own = vcombine_s32(vdup_n_s32(scale[0][g]), vdup_n_s32(scale[1][g]));
        sum = vmlaq_s32(sum, tn_bytes_2x2(vdupq_n_s32(0), q, y, 16 * g), own);
    }
    vst1q_s32(sums, sum);
}

#endif
