// SPDX-License-Identifier: MIT
// Products of f32, portable: tiles of 32 sums in 8 vectors.
#include "cpu/simd/scalar.h"

#include "cpu/kernels/gemm_float/gemm_float_body.inc"
