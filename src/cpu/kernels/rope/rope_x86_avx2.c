// SPDX-License-Identifier: MIT
// Rotation of pairs, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/rope/rope_body.inc"
