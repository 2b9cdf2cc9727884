// SPDX-License-Identifier: MIT
// Dot product, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/dot_float/dot_float_body.inc"
