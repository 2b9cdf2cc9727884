// SPDX-License-Identifier: MIT
// Maps of two arguments, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/map2/map2_body.inc"
