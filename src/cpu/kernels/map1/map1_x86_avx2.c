// SPDX-License-Identifier: MIT
// Maps of one argument, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/map1/map1_body.inc"
