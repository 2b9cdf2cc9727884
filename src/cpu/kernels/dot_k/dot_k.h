// SPDX-License-Identifier: MIT
// Dot products of q2_K to q6_K, tq1_0 and tq2_0 with q8_K.
//
// n: a multiple of both blocks, 0 too. x: weights, y: activations, both aligned as their blocks want it.
// Rounding: see kernels/codes.h. Results are in double: finite if scales are.
#ifndef TN_CPU_KERNELS_DOT_K_H
#define TN_CPU_KERNELS_DOT_K_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

TN_FUNCTION(double, dot_k_q2_k_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_k_q3_k_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_k_q4_k_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_k_q5_k_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_k_q6_k_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_k_tq1_0_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_k_tq2_0_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))

// Two rows with two: sums[2 * r + j] is x[r] with y[j].
TN_PROCEDURE(dot_k_q4_k_q8_k_2x2,
             (int64_t n, const void * const x[2], const void * const y[2], double sums[4]), (n, x, y, sums))
TN_PROCEDURE(dot_k_q6_k_q8_k_2x2,
             (int64_t n, const void * const x[2], const void * const y[2], double sums[4]), (n, x, y, sums))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/dot_k/dot_k.def"
#include "cpu/kernels/dot_k/dot_k_2x2.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
