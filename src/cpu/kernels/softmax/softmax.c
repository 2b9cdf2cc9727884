// SPDX-License-Identifier: MIT
// Softmax, portable: libm's expf.
#include "cpu/kernels/softmax/softmax.h"

#include <math.h>

enum { LANES = 8 };

double tn_softmax_exp_scalar(int64_t n, float * y, const float * x, float max) {
    double s[LANES] = { 0 };
    for (int64_t i = 0; i < n; i++) {
        y[i] = expf(x[i] - max);
        s[i % LANES] += (double) y[i];
    }
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

void tn_softmax_scale_scalar(int64_t n, float * y, float factor) {
    for (int64_t i = 0; i < n; i++)
        y[i] *= factor;
}

void tn_softmax_back_scalar(int64_t n, float * y, const float * g, const float * p, double sum,
                            double scale) {
    for (int64_t i = 0; i < n; i++)
        y[i] = (float) (scale * (double) p[i] * ((double) g[i] - sum));
}
