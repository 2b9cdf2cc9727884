// SPDX-License-Identifier: MIT
// Dot products of the iq types with q8_K, of iq4_nl with q8_0.
//
// n: a multiple of both blocks, 0 too. x: weights, y: activations, both aligned as their blocks want it.
// Rounding: see kernels/codes.h. Results are in double: finite if scales are.
#ifndef TN_CPU_KERNELS_DOT_IQ_H
#define TN_CPU_KERNELS_DOT_IQ_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

TN_FUNCTION(double, dot_iq_iq1_s_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_iq_iq1_m_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_iq_iq2_xxs_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_iq_iq2_xs_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_iq_iq2_s_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_iq_iq3_xxs_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_iq_iq3_s_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_iq_iq4_xs_q8_k, (int64_t n, const void * x, const void * y), (n, x, y))
TN_FUNCTION(double, dot_iq_iq4_nl_q8_0, (int64_t n, const void * x, const void * y), (n, x, y))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/dot_iq/dot_iq.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
