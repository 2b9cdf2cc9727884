// SPDX-License-Identifier: MIT
// Maps of two arguments: y[i] = f(a[i], b[i]). The functions are the rows of formulas.def.
//
// n >= 0 dense f32, any alignment of 4; y may be a or b, otherwise nothing overlaps. p: the function's
// parameters.
#ifndef TN_CPU_KERNELS_MAP2_H
#define TN_CPU_KERNELS_MAP2_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

#define TN_MAP2(name, value)                                                                                 \
    TN_PROCEDURE(map2_##name, (int64_t n, float * y, const float * a, const float * b, const float * p),     \
                 (n, y, a, b, p))
#include "cpu/kernels/map2/formulas.def"
#undef TN_MAP2

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/map2/map2.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
