// SPDX-License-Identifier: MIT
// Dot products of weights in blocks with one scale, NEON with products of matrices: two rows with two.
#include "cpu/simd/bytes_arm_i8mm.h"

#include "cpu/kernels/dot_legacy/dot_legacy_take.inc"

TN_CODES_DOT_32_2X2(dot_legacy_q4_0_q8_0_2x2, tn_block_q4_0, 1, tn_block_q8_0, 1, take_q4_0)
TN_CODES_DOT_32_2X2(dot_legacy_q8_0_q8_0_2x2, tn_block_q8_0, 1, tn_block_q8_0, 1, take_q8_0)
