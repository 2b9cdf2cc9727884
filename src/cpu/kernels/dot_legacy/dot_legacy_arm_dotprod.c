// SPDX-License-Identifier: MIT
// Dot products of weights in blocks with one scale, NEON with dot products.
#include "cpu/simd/bytes_arm_dotprod.h"

#include "cpu/kernels/dot_legacy/dot_legacy_body.inc"
