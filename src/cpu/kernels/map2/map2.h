// SPDX-License-Identifier: MIT
// Maps of two arguments: y[i] = f(a[i], b[i]). The functions are the rows of map2.def.
//
// n >= 0 dense f32, any alignment of 4; y may be a or b, otherwise nothing overlaps. p: the function's
// parameters.
#ifndef TN_CPU_KERNELS_MAP2_H
#define TN_CPU_KERNELS_MAP2_H

#include <stdint.h>

#define TN_MAP2(name, value)                                                                                 \
    void tn_map2_##name(int64_t n, float * y, const float * a, const float * b, const float * p);
#include "cpu/kernels/map2/map2.def"
#undef TN_MAP2

#endif
