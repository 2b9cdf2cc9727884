// SPDX-License-Identifier: MIT
// Rotation of pairs, portable.
#include "cpu/simd/scalar.h"

#include "cpu/kernels/rope/rope_body.inc"
