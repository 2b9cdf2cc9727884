// SPDX-License-Identifier: MIT
// Dot products of floats, portable.
#include "cpu/kernels/dot_float/dot_float.h"

#include "base/half.h"

enum { LANES = 16 };

TN_INLINE float same(float x) {
    return x;
}

#define DOT(name, X, widen_x, Y, widen_y)                                                                    \
    float tn_##name##_scalar(int64_t n, const X * x, const Y * y) {                                          \
        float s[LANES] = { 0 };                                                                              \
        int64_t i = 0;                                                                                       \
        for (; i + LANES <= n; i += LANES) {                                                                 \
            for (int k = 0; k < LANES; k++)                                                                  \
                s[k] += widen_x(x[i + k]) * widen_y(y[i + k]);                                               \
        }                                                                                                    \
        for (int k = 0; i + k < n; k++)                                                                      \
            s[k] += widen_x(x[i + k]) * widen_y(y[i + k]);                                                   \
        for (int width = LANES / 2; width > 0; width /= 2) {                                                 \
            for (int k = 0; k < width; k++)                                                                  \
                s[k] += s[k + width];                                                                        \
        }                                                                                                    \
        return s[0];                                                                                         \
    }
DOT(dot_float, float, same, float, same)
DOT(dot_float_f16, uint16_t, tn_f16_to_f32, float, same)
DOT(dot_float_bf16, uint16_t, tn_bf16_to_f32, float, same)
DOT(dot_float_f16_f16, uint16_t, tn_f16_to_f32, uint16_t, tn_f16_to_f32)
DOT(dot_float_bf16_bf16, uint16_t, tn_bf16_to_f32, uint16_t, tn_bf16_to_f32)
