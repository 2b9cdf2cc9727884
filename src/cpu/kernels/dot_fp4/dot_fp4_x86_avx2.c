// SPDX-License-Identifier: MIT
// Dot products of weights in four-bit floats, AVX2.
#include "cpu/simd/bytes_x86_avx2.h"

#include "cpu/kernels/dot_fp4/dot_fp4_body.inc"
