// SPDX-License-Identifier: MIT
// Maps of two arguments, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/map2/map2_body.inc"
