// SPDX-License-Identifier: MIT
// Normalisation, portable.
#include "cpu/simd/scalar.h"

#include "cpu/kernels/norm/norm_body.inc"
