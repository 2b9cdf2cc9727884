// SPDX-License-Identifier: MIT
// Dot products of q4_0 q4_1 q5_0 q5_1 q8_0 q1_0 q2_0 with activations of eight bits.
//
// n: a multiple of both blocks, 0 too. x: weights, y: activations, both aligned as their blocks want it.
// Rounding: see kernels/codes.h. Results are in double: finite if scales are.
#ifndef TN_CPU_KERNELS_DOT_LEGACY_H
#define TN_CPU_KERNELS_DOT_LEGACY_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

TN_FUNCTION(double, dot_legacy_q4_0_q8_0, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_legacy_q4_1_q8_1, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_legacy_q5_0_q8_0, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_legacy_q5_1_q8_1, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_legacy_q8_0_q8_0, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_legacy_q1_0_q8_0, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_legacy_q2_0_q8_0, (int64_t n, const void * x, const void * y), (n, x, y))

// Two rows with two: sums[2 * r + j] is x[r] with y[j].
TN_PROCEDURE(dot_legacy_q4_0_q8_0_2x2,
             (int64_t n, const void * const x[2], const void * const y[2], double sums[4]), (n, x, y, sums))
TN_PROCEDURE(dot_legacy_q8_0_q8_0_2x2,
             (int64_t n, const void * const x[2], const void * const y[2], double sums[4]), (n, x, y, sums))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/dot_legacy/dot_legacy.def"
#include "cpu/kernels/dot_legacy/dot_legacy_2x2.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
