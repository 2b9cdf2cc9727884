// SPDX-License-Identifier: MIT
// Rotation of pairs, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/rope/rope_body.inc"
