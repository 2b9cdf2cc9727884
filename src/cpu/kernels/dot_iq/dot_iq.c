// SPDX-License-Identifier: MIT
// Dot products of weights whose codes are words of a codebook, portable.
#include "cpu/simd/bytes_scalar.h"

#include "cpu/kernels/dot_iq/dot_iq_body.inc"
