// SPDX-License-Identifier: MIT
// Normalisation, portable.
#include "cpu/kernels/norm/norm.h"

void tn_norm_center_scalar(int64_t n, float * y, const float * x, double center, double factor) {
    for (int64_t i = 0; i < n; i++)
        y[i] = (float) (((double) x[i] - center) * factor);
}

void tn_norm_scale_scalar(int64_t n, float * y, const float * x, float factor) {
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * factor;
}

void tn_norm_back_scalar(int64_t n, float * y, const float * g, const float * x, double slope,
                         double factor) {
    for (int64_t i = 0; i < n; i++)
        y[i] = (float) (((double) g[i] - (double) x[i] * slope) * factor);
}
