// SPDX-License-Identifier: MIT
// Reductions, portable.
#include "cpu/simd/scalar.h"

#include "cpu/kernels/reduce/reduce_body.inc"
