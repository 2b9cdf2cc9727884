// SPDX-License-Identifier: MIT
// From a real number to a small code: what the encoders of blocks share. Total: any float goes in, NaN and
// infinity included, and a code within its bounds comes out.
#ifndef TN_QUANT_CODE_H
#define TN_QUANT_CODE_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/half.h"

// A scale that a half can hold: what is larger saturates. A NaN becomes the lower bound.
TN_INLINE float tn_code_saturate(float d) {
    d = d > -TN_F16_MAX ? d : -TN_F16_MAX;
    return d < TN_F16_MAX ? d : TN_F16_MAX;
}

// 1/d, or 0 where that is no finite number.
TN_INLINE float tn_code_inverse(float d) {
    const float inverse = 1.0f / d;
    return fabsf(inverse) <= FLT_MAX ? inverse : 0.0f;
}

// v between lo and hi; lo for a NaN.
TN_INLINE float tn_code_clamp(float v, float lo, float hi) {
    v = v > lo ? v : lo;
    return v < hi ? v : hi;
}

// Truncated, 0 .. top.
TN_INLINE uint8_t tn_code_trunc(float v, float top) {
    return (uint8_t) tn_code_clamp(v, 0.0f, top);
}

// Rounded half away from zero, lo .. hi; exact, where trunc(v + 0.5) is not.
TN_INLINE int tn_code_round(float v, int lo, int hi) {
    v = tn_code_clamp(v, (float) lo, (float) hi);
    const int whole = (int) v;
    const float rest = v - (float) whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

// Rounded half to even, for |v| below 2^22.
TN_INLINE float tn_code_nearest(float v) {
    return (v + 0x1.8p23f) - 0x1.8p23f;
}

// Largest magnitude. As integers, magnitudes compare like floats, and such a loop vectorises.
TN_INLINE float tn_code_max_abs(const float * x, int n) {
    int32_t best = 0;
    for (int i = 0; i < n; i++) {
        const int32_t bits = (int32_t) (tn_f32_to_bits(x[i]) & 0x7fffffffu);
        best = bits > best ? bits : best;
    }
    return tn_f32_from_bits((uint32_t) best);
}

// The first element of largest magnitude, with its sign; +0 of zeros.
TN_INLINE float tn_code_extreme(const float * x, int n) {
    const float magnitude = tn_code_max_abs(x, n);
    for (int i = 0; i < n && magnitude > 0.0f; i++) {
        if (fabsf(x[i]) == magnitude) return x[i];
    }
    return 0.0f;
}

struct tn_code_range {
    float min;
    float max;
};

TN_INLINE struct tn_code_range tn_code_range(const float * x, int n) {
    struct tn_code_range r = { x[0], x[0] };
    for (int i = 1; i < n; i++) {
        r.min = x[i] < r.min ? x[i] : r.min;
        r.max = x[i] > r.max ? x[i] : r.max;
    }
    return r;
}

#endif
