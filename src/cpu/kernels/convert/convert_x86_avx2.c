// SPDX-License-Identifier: MIT
// Conversions, AVX2.
#include "cpu/simd/x86_avx2.h"

#include "cpu/kernels/convert/convert_body.inc"
