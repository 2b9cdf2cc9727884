// SPDX-License-Identifier: MIT
// Dot products of weights in four-bit floats, portable.
#include "cpu/simd/bytes_scalar.h"

#include "cpu/kernels/dot_fp4/dot_fp4_body.inc"
