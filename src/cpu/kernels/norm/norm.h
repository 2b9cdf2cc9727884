// SPDX-License-Identifier: MIT
// The last pass of a normalisation, or of its gradient, over a dense f32 row.
//
// n >= 0, any alignment of 4; y may be x or g, otherwise nothing overlaps.
#ifndef TN_CPU_KERNELS_NORM_H
#define TN_CPU_KERNELS_NORM_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

// y[i] = (x[i] - center) * factor, in double: a mean rounded to f32 would show where the variance is small.
TN_PROCEDURE(norm_center, (int64_t n, float * y, const float * x, double center, double factor),
             (n, y, x, center, factor))
// y[i] = x[i] * factor
TN_PROCEDURE(norm_scale, (int64_t n, float * y, const float * x, float factor), (n, y, x, factor))
// y[i] = (g[i] - x[i] * slope) * factor, in double
TN_PROCEDURE(norm_back, (int64_t n, float * y, const float * g, const float * x, double slope, double factor),
             (n, y, g, x, slope, factor))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/norm/norm.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
