// SPDX-License-Identifier: MIT
// Dot product, portable.
#include "cpu/kernels/dot_float/dot_float.h"

enum { LANES = 16 };

float tn_dot_float_scalar(int64_t n, const float * x, const float * y) {
    float s[LANES] = { 0 };
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++)
            s[k] += x[i + k] * y[i + k];
    }
    for (int k = 0; i + k < n; k++)
        s[k] += x[i + k] * y[i + k];
    for (int width = LANES / 2; width > 0; width /= 2) {
        for (int k = 0; k < width; k++)
            s[k] += s[k + width];
    }
    return s[0];
}
