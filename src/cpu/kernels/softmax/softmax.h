// SPDX-License-Identifier: MIT
// The two passes of a softmax over a dense f32 row, and the last one of its gradient.
//
// n >= 0, any alignment of 4; y may be x, g or p, otherwise nothing overlaps.
#ifndef TN_CPU_KERNELS_SOFTMAX_H
#define TN_CPU_KERNELS_SOFTMAX_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

// y[i] = exp(x[i] - max); the result is their sum, in the order of kernels/reduce. Errors of exp
// stay below 2 units in the last place.
TN_FUNCTION(double, softmax_exp, (int64_t n, float * y, const float * x, float max), (n, y, x, max))
// y[i] *= factor
TN_PROCEDURE(softmax_scale, (int64_t n, float * y, float factor), (n, y, factor))
// y[i] = scale * p[i] * (g[i] - sum), in double
TN_PROCEDURE(softmax_back, (int64_t n, float * y, const float * g, const float * p, double sum, double scale),
             (n, y, g, p, sum, scale))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/softmax/softmax.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
