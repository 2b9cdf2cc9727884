// SPDX-License-Identifier: MIT
// Dot product, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/dot_float/dot_float_body.inc"
