// SPDX-License-Identifier: MIT
// Dot products of weights in blocks with one scale, portable.
#include "cpu/simd/bytes_scalar.h"

#include "cpu/kernels/dot_legacy/dot_legacy_body.inc"
