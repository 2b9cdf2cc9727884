// SPDX-License-Identifier: MIT
// Scalar functions that several kernels share.
#ifndef TN_CPU_KERNELS_FUNCTIONS_H
#define TN_CPU_KERNELS_FUNCTIONS_H

#include <math.h>

#include "base/compiler.h"

// 0.5*x*(1 + tanh(u)) = x / (1 + exp(-2u)) with u = sqrt(2/pi)*x*(1 + 0.044715*x^2)
TN_INLINE float tn_gelu(float x) {
    const float u2 = 1.5957691216057308f * x * (1.0f + 0.044715f * x * x);
    return x / (1.0f + expf(-u2));
}

// 0.5*x*(1 + erf(x/sqrt 2))
TN_INLINE float tn_gelu_erf(float x) {
    return 0.5f * x * erfcf(-0.70710678118654752f * x);
}

// clamp((x + 3)/6, 0, 1)
TN_INLINE float tn_hard_sigmoid(float x) {
    return fminf(1.0f, fmaxf(0.0f, (x + 3.0f) / 6.0f));
}

// g times the derivative of silu at x: s*(1 + x*(1 - s)), s being the sigmoid of x. Where exp(-x) overflows,
// 1 - s cannot be had as exp(-x)*s.
TN_INLINE float tn_silu_back(float g, float x) {
    const float e = expf(-x);
    const float s = 1.0f / (1.0f + e);
    const float rest = e > 3e38f ? 1.0f : e * s; // 1 - s without cancellation
    return g * (s * (1.0f + x * rest));
}

TN_INLINE float tn_clamp(float x, float lo, float hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

// Gates of limited size: x from above, y from both sides.
TN_INLINE float tn_swiglu_oai(float x, float y, float alpha, float limit) {
    const float g = x > limit ? limit : x;
    return g / (1.0f + expf(-alpha * g)) * (tn_clamp(y, -limit, limit) + 1.0f);
}

TN_INLINE float tn_swiglu_clamp(float x, float y, float limit) {
    const float g = x > limit ? limit : x;
    return g / (1.0f + expf(-g)) * tn_clamp(y, -limit, limit);
}

#endif
