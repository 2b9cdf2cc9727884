// SPDX-License-Identifier: MIT
// Maps of one argument, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/map1/map1_body.inc"
