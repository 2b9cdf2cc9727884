// SPDX-License-Identifier: MIT
// Softmax, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/softmax/softmax_body.inc"
