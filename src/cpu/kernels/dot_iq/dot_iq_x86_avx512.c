// SPDX-License-Identifier: MIT
// Dot products of weights whose codes are words of a codebook, AVX-512.
#include "cpu/simd/bytes_x86_avx512.h"

#include "cpu/kernels/dot_iq/dot_iq_body.inc"
