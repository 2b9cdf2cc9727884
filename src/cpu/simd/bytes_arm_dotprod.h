// SPDX-License-Identifier: MIT
// Products of bytes by the instruction for them.
#ifndef TN_CPU_SIMD_BYTES_ARM_DOTPROD_H
#define TN_CPU_SIMD_BYTES_ARM_DOTPROD_H

#include <arm_neon.h>

#include "base/compiler.h"

#define TN_FN(name) tn_##name##_arm_dotprod

// sum + sums of four products
TN_INLINE int32x4_t tn_bytes_fours(int32x4_t sum, const int8_t * q, const int8_t * y) {
    return vdotq_s32(sum, vld1q_s8(q), vld1q_s8(y));
}

#include "cpu/simd/bytes_arm.h"

#endif
