// SPDX-License-Identifier: MIT
// Reductions, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/reduce/reduce_body.inc"
