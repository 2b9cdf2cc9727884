// SPDX-License-Identifier: MIT
// Conversions, NEON.
#include "cpu/simd/arm_neon.h"

#include "cpu/kernels/convert/convert_body.inc"
