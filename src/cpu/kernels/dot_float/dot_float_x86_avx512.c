// SPDX-License-Identifier: MIT
// Dot product, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/dot_float/dot_float_body.inc"
