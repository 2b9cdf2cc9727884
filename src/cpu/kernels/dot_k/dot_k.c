// SPDX-License-Identifier: MIT
// Dot products of weights in blocks of 256 with scales for parts, portable.
#include "cpu/simd/bytes_scalar.h"

#include "cpu/kernels/dot_k/dot_k_body.inc"
