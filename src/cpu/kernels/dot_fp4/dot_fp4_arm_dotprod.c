// SPDX-License-Identifier: MIT
// Dot products of weights in four-bit floats, NEON with dot products.
#include "cpu/simd/bytes_arm_dotprod.h"

#include "cpu/kernels/dot_fp4/dot_fp4_body.inc"
