// SPDX-License-Identifier: MIT
// Normalisation, portable.
#include "cpu/kernels/norm/norm.h"

void tn_norm_apply(int64_t n, float * y, const float * x, float center, float factor) {
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - center) * factor;
}
