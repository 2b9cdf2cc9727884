// SPDX-License-Identifier: MIT
// Dot products of weights in blocks with one scale, AVX2.
#include "cpu/simd/bytes_x86_avx2.h"

#include "cpu/kernels/dot_legacy/dot_legacy_body.inc"
