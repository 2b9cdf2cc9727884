// SPDX-License-Identifier: MIT
// Rotation of pairs, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/rope/rope_body.inc"
