// SPDX-License-Identifier: MIT
// The last pass of a normalisation over a dense f32 row.
//
// n >= 0, any alignment of 4; y may be x, otherwise they do not overlap.
#ifndef TN_CPU_KERNELS_NORM_H
#define TN_CPU_KERNELS_NORM_H

#include <stdint.h>

// y[i] = (x[i] - center) * factor, in double: a mean rounded to f32 would show where the variance is small.
void tn_norm_center(int64_t n, float * y, const float * x, double center, double factor);
// y[i] = x[i] * factor
void tn_norm_scale(int64_t n, float * y, const float * x, float factor);

#endif
