// SPDX-License-Identifier: MIT
// Reductions, portable.
#include "cpu/kernels/reduce/reduce.h"

#include <math.h>

#include "base/compiler.h"

enum { LANES = 8 };

TN_INLINE double join(const double * s) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

// One loop shape for all sums: whole groups of 8, then the rest into the first lanes.
#define SUM(value)                                                                                           \
    double s[LANES] = { 0 };                                                                                 \
    int64_t i = 0;                                                                                           \
    for (; i + LANES <= n; i += LANES) {                                                                     \
        for (int k = 0; k < LANES; k++) {                                                                    \
            const double v = (double) x[i + k];                                                              \
            s[k] += value;                                                                                   \
        }                                                                                                    \
    }                                                                                                        \
    for (int k = 0; i + k < n; k++) {                                                                        \
        const double v = (double) x[i + k];                                                                  \
        s[k] += value;                                                                                       \
    }                                                                                                        \
    return join(s)

double tn_reduce_sum_scalar(int64_t n, const float * x) {
    SUM(v);
}

double tn_reduce_sum_sqr_scalar(int64_t n, const float * x) {
    SUM(v * v);
}

// The products of f32 are exact in double.
double tn_reduce_dot_scalar(int64_t n, const float * x, const float * y) {
    double s[LANES] = { 0 };
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++)
            s[k] += (double) x[i + k] * (double) y[i + k];
    }
    for (int k = 0; i + k < n; k++)
        s[k] += (double) x[i + k] * (double) y[i + k];
    return join(s);
}

double tn_reduce_sum_dev_scalar(int64_t n, const float * x, double center) {
    SUM((v - center) * (v - center));
}

float tn_reduce_max_scalar(int64_t n, const float * x) {
    float m[LANES];
    for (int k = 0; k < LANES; k++)
        m[k] = -INFINITY;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++)
            m[k] = x[i + k] > m[k] ? x[i + k] : m[k];
    }
    for (int k = 0; i + k < n; k++)
        m[k] = x[i + k] > m[k] ? x[i + k] : m[k];
    for (int k = 1; k < LANES; k++)
        m[0] = m[k] > m[0] ? m[k] : m[0];
    return m[0];
}
