// SPDX-License-Identifier: MIT
// Products of bytes by NEON: of 16 bits, of which pairs are added.
#ifndef TN_CPU_SIMD_BYTES_ARM_NEON_H
#define TN_CPU_SIMD_BYTES_ARM_NEON_H

#include <arm_neon.h>

#include "base/compiler.h"

#define TN_FN(name) tn_##name##_arm_neon

// sum + sums of four products
TN_INLINE int32x4_t tn_bytes_fours(int32x4_t sum, const int8_t * q, const int8_t * y) {
    const int8x16_t a = vld1q_s8(q), b = vld1q_s8(y);
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b)), high = vmull_high_s8(a, b);
    return vpadalq_s16(vpadalq_s16(sum, low), high);
}

#include "cpu/simd/bytes_arm.h"

#endif
