// SPDX-License-Identifier: MIT
// Dot products of weights in blocks of 256 with scales for parts, AVX2.
#include "cpu/simd/bytes_x86_avx2.h"

#include "cpu/kernels/dot_k/dot_k_body.inc"
