// SPDX-License-Identifier: MIT
// Dot products of weights whose codes are words of a codebook, AVX2.
#include "cpu/simd/bytes_x86_avx2.h"

#include "cpu/kernels/dot_iq/dot_iq_body.inc"
