// SPDX-License-Identifier: MIT
// Dot products of weights in blocks with one scale, AVX-512.
#include "cpu/simd/bytes_x86_avx512.h"

#include "cpu/kernels/dot_legacy/dot_legacy_body.inc"
