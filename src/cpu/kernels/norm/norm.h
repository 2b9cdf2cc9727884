// SPDX-License-Identifier: MIT
// The last pass of a normalisation over a dense f32 row.
//
// n >= 0, any alignment of 4; y may be x, otherwise they do not overlap.
#ifndef TN_CPU_KERNELS_NORM_H
#define TN_CPU_KERNELS_NORM_H

#include <stdint.h>

// y[i] = (x[i] - center) * factor, in f32
void tn_norm_apply(int64_t n, float * y, const float * x, float center, float factor);

#endif
