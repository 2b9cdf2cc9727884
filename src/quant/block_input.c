// SPDX-License-Identifier: MIT
// Preparation of what encoders search on.
#include "quant/block_input.h"

#include <float.h>
#include <math.h>

#include "quant/code.h"

// The power of two that brings the largest magnitude between 8 and 16, if its inverse is a normal number.
static float unit_of(float largest) {
    int exponent;
    frexpf(largest, &exponent);
    exponent = exponent - 4 < -126 ? -126 : exponent - 4;
    return ldexpf(1.0f, exponent);
}

static void set_values(struct tn_block_input * in, const float * x, int n) {
    const float largest = tn_code_max_abs(x, n);
    in->is_zero = !(largest > 0.0f && largest <= FLT_MAX);
    in->unit = in->is_zero ? 1.0f : unit_of(largest);
    const float inverse = in->is_zero ? 0.0f : 1.0f / in->unit;
    for (int i = 0; i < n; i++) {
        in->x[i] = in->is_zero ? 0.0f : x[i] * inverse;
    }
}

static float largest_weight(const float * w, int n) {
    float largest = 0.0f;
    for (int i = 0; i < n; i++) {
        largest = w[i] > largest ? w[i] : largest;
    }
    return largest;
}

static void set_weights(struct tn_block_input * in, const float * weights, int n) {
    const float largest = weights ? largest_weight(weights, n) : 0.0f;
    const bool flat = !(largest > 0.0f && largest <= FLT_MAX);
    for (int i = 0; i < n; i++) {
        in->w[i] = flat ? 1.0f : weights[i] > 0.0f ? weights[i] / largest : 0.0f;
    }
}

static void raise_weights(float * w, int n) {
    const float floor = fmaxf(largest_weight(w, n) * 1e-6f, 1e-12f);
    for (int i = 0; i < n; i++) {
        w[i] = w[i] > floor ? w[i] : floor;
    }
}

void tn_block_input_set(struct tn_block_input * in, const float * x, const float * weights, int n,
                        int sub_len) {
    set_values(in, x, n);
    set_weights(in, weights, n);
    for (int i = 0; i < n; i += sub_len) {
        raise_weights(in->w + i, sub_len);
    }
}

struct tn_block_input_stats tn_block_input_stats(const struct tn_block_input * in, int first, int n) {
    float energy = 0.0f, weights = 0.0f;
    for (int i = first; i < first + n; i++) {
        energy += in->w[i] * in->x[i] * in->x[i];
        weights += in->w[i];
    }
    return (struct tn_block_input_stats){ energy, sqrtf(energy / weights),
                                          tn_code_max_abs(in->x + first, n) };
}
