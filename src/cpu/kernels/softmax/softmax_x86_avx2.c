// SPDX-License-Identifier: MIT
// Softmax, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/softmax/softmax_body.inc"
