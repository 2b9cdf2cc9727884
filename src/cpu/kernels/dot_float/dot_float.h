// SPDX-License-Identifier: MIT
// Dot products of two dense rows of floats.
//
// n >= 0, any alignment of the element size. At least 16 f32 accumulators, to which elements go in turn,
// added in pairs at the end: the order depends on n and the level alone. Callers cut long rows into blocks.
// Halves are widened, nothing is rounded to them. AVX-512 BF16 takes subnormals for zeros, so at that level
// products of bf16 can lose what lies below 2^-126; it is used where both operands are bf16 and nowhere else.
#ifndef TN_CPU_KERNELS_DOT_FLOAT_H
#define TN_CPU_KERNELS_DOT_FLOAT_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

TN_FUNCTION(float, dot_float, (int64_t n, const float * x, const float * y), (n, x, y))
TN_FUNCTION(float, dot_float_f16, (int64_t n, const uint16_t * x, const float * y), (n, x, y))
TN_FUNCTION(float, dot_float_bf16, (int64_t n, const uint16_t * x, const float * y), (n, x, y))
TN_FUNCTION(float, dot_float_f16_f16, (int64_t n, const uint16_t * x, const uint16_t * y), (n, x, y))
TN_FUNCTION(float, dot_float_bf16_bf16, (int64_t n, const uint16_t * x, const uint16_t * y), (n, x, y))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/dot_float/dot_float.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
