// SPDX-License-Identifier: MIT
// Normalisation, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/norm/norm_body.inc"
