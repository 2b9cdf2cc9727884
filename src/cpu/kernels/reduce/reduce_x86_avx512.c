// SPDX-License-Identifier: MIT
// Reductions, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/reduce/reduce_body.inc"
