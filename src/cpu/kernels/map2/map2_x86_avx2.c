// SPDX-License-Identifier: MIT
// Maps of two arguments, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/map2/map2_body.inc"
