// SPDX-License-Identifier: MIT
// Normalisation, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/norm/norm_body.inc"
