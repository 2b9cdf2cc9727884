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

// v between lo and hi; one of them for a NaN. Both questions are about v itself: asked in turn, the compiler
// would join them to branches, and loops would not vectorise.
TN_INLINE float tn_code_clamp(float v, float lo, float hi) {
    float r = v;
    r = v > lo ? r : lo;
    r = v < hi ? r : hi;
    return r;
}

// A scale that a half can hold: what is larger saturates.
TN_INLINE float tn_code_saturate(float d) {
    return tn_code_clamp(d, -TN_F16_MAX, TN_F16_MAX);
}

// 1/d, or 0 where that is no finite number.
TN_INLINE float tn_code_inverse(float d) {
    const float inverse = 1.0f / d;
    return fabsf(inverse) <= FLT_MAX ? inverse : 0.0f;
}

// Truncated, 0 .. top.
TN_INLINE uint8_t tn_code_trunc(float v, float top) {
    return (uint8_t) tn_code_clamp(v, 0.0f, top);
}

// Rounded half away from zero; exact, where trunc(v + 0.5) is not. v must fit an int.
TN_INLINE int tn_code_round_inside(float v) {
    const int whole = (int) v;
    const float rest = v - (float) whole;
    return whole + (int) (rest + rest);
}

// The same, lo .. hi.
TN_INLINE int tn_code_round(float v, int lo, int hi) {
    return tn_code_round_inside(tn_code_clamp(v, (float) lo, (float) hi));
}

// 32 codes of eight bits, as q8_0 and q8_1 have them. Two loops, as together they would not vectorise.
TN_INLINE void tn_code_eight_bits(const float * x, float inverse, int8_t * codes) {
    float v[32];
    for (int i = 0; i < 32; i++) {
        v[i] = tn_code_clamp(x[i] * inverse, -127.0f, 127.0f);
    }
    for (int i = 0; i < 32; i++) {
        codes[i] = (int8_t) tn_code_round_inside(v[i]);
    }
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
