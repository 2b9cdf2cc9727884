// SPDX-License-Identifier: MIT
// Dot products of weights in blocks of 256, NEON with products of matrices: two rows with two.
#include "cpu/simd/bytes_arm_i8mm.h"

#include "cpu/kernels/dot_k/dot_k_take.inc"

TN_CODES_DOT_256_2X2(dot_k_q4_k_q8_k_2x2, tn_block_q4_k, take_q4_k, true)
TN_CODES_DOT_256_2X2(dot_k_q6_k_q8_k_2x2, tn_block_q6_k, take_q6_k, false)
