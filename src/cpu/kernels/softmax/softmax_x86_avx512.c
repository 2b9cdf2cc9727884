// SPDX-License-Identifier: MIT
// Softmax, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/softmax/softmax_body.inc"
