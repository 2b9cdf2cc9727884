// SPDX-License-Identifier: MIT
// Dot products of weights in blocks with one scale, NEON.
#include "cpu/simd/bytes_arm_neon.h"

#include "cpu/kernels/dot_legacy/dot_legacy_body.inc"
