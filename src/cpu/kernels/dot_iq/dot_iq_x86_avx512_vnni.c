// SPDX-License-Identifier: MIT
// Dot products of weights whose codes are words of a codebook, AVX-512 VNNI.
#include "cpu/simd/bytes_x86_avx512_vnni.h"

#include "cpu/kernels/dot_iq/dot_iq_body.inc"
