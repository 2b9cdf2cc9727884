// SPDX-License-Identifier: MIT
// Products of f32, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/gemm_float/gemm_float_body.inc"
