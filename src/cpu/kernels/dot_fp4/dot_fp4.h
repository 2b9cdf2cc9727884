// SPDX-License-Identifier: MIT
// Dot products of mxfp4 and nvfp4 with q8_0.
//
// n: a multiple of both blocks, 0 too. x: weights, y: activations, both aligned as their blocks want it.
// Rounding: see kernels/codes.h. Results are in double: finite if scales are.
#ifndef TN_CPU_KERNELS_DOT_FP4_H
#define TN_CPU_KERNELS_DOT_FP4_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

TN_FUNCTION(double, dot_fp4_mxfp4_q8_0, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_fp4_nvfp4_q8_0, (int64_t n, const void * x, const void * y), (n, x, y))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/dot_fp4/dot_fp4.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
