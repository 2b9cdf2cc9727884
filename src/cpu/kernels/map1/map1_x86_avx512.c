// SPDX-License-Identifier: MIT
// Maps of one argument, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/map1/map1_body.inc"
