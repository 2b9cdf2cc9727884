// SPDX-License-Identifier: MIT
// Dot product of two dense f32 rows.
//
// n >= 0, any alignment of 4. At least 16 f32 accumulators, to which elements go in turn, added in pairs at
// the end: the order depends on n and the level alone. Callers cut long rows into blocks.
#ifndef TN_CPU_KERNELS_DOT_FLOAT_H
#define TN_CPU_KERNELS_DOT_FLOAT_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

TN_FUNCTION(float, dot_float, (int64_t n, const float * x, const float * y), (n, x, y))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/dot_float/dot_float.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
