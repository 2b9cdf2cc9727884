// SPDX-License-Identifier: MIT
// Products of f32, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/gemm_float/gemm_float_body.inc"
