// SPDX-License-Identifier: MIT
// Conversions, AVX-512.
#include "cpu/simd/x86_avx512.h"

#include "cpu/kernels/convert/convert_body.inc"
