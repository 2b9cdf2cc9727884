// SPDX-License-Identifier: MIT
// Maps of one argument: y[i] = f(x[i]). The functions are the rows of formulas.def.
//
// n >= 0 dense f32, any alignment of 4; y may be x, otherwise they do not overlap. p: the function's
// parameters.
#ifndef TN_CPU_KERNELS_MAP1_H
#define TN_CPU_KERNELS_MAP1_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

#define TN_MAP1(name, value)                                                                                 \
    TN_PROCEDURE(map1_##name, (int64_t n, float * y, const float * x, const float * p), (n, y, x, p))
#include "cpu/kernels/map1/formulas.def"
#undef TN_MAP1

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/map1/map1.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
