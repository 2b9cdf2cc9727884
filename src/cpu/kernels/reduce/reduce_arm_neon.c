// SPDX-License-Identifier: MIT
// Reductions, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/reduce/reduce_body.inc"
