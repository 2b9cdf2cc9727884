// SPDX-License-Identifier: MIT
// Dot products of weights whose codes are words of a codebook, NEON with dot products.
#include "cpu/simd/bytes_arm_dotprod.h"

#include "cpu/kernels/dot_iq/dot_iq_body.inc"
