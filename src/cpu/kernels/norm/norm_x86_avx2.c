// SPDX-License-Identifier: MIT
// Normalisation, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/norm/norm_body.inc"
