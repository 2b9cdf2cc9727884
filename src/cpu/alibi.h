// SPDX-License-Identifier: MIT
// The slope by which head h of n_heads scales its mask (ALiBi), shared by softmax and attention.
#ifndef TN_CPU_ALIBI_H
#define TN_CPU_ALIBI_H

#include <math.h>
#include <stdint.h>

#include "base/compiler.h"

// With p the largest power of two that is at most n_heads: 2^(-b*(h+1)/p) for h < p, and the odd steps of
// half the exponent for the rest. 1 for a bias of 0.
TN_INLINE float tn_alibi_slope(float max_bias, int64_t n_heads, int64_t h) {
    if (max_bias <= 0.0f) return 1.0f;
    int64_t p = 1;
    while (2 * p <= n_heads)
        p *= 2;
    const double step = (double) max_bias / (double) p;
    return (float) (h < p ? exp2(-step * (double) (h + 1)) : exp2(-0.5 * step * (double) (2 * (h - p) + 1)));
}

#endif
