// SPDX-License-Identifier: MIT
// Reductions of dense f32 rows.
//
// n >= 0, any alignment of 4. Sums are kept in 8 double accumulators, element i in number i mod 8, which are
// added in pairs at the end: the order depends on n alone, and the result is right to an f32's last bit for
// rows of millions.
#ifndef TN_CPU_KERNELS_REDUCE_H
#define TN_CPU_KERNELS_REDUCE_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

TN_FUNCTION(double, reduce_sum, (int64_t n, const float * x), (n, x))
TN_FUNCTION(double, reduce_sum_sqr, (int64_t n, const float * x), (n, x))
TN_FUNCTION(double, reduce_dot, (int64_t n, const float * x, const float * y), (n, x, y))
// Sum of (x[i] - center)^2, the differences in double.
TN_FUNCTION(double, reduce_sum_dev, (int64_t n, const float * x, double center), (n, x, center))
// -INFINITY for n = 0. A NaN is passed over.
TN_FUNCTION(float, reduce_max, (int64_t n, const float * x), (n, x))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/reduce/reduce.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
