// SPDX-License-Identifier: MIT
// Products of f32, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/gemm_float/gemm_float_body.inc"
