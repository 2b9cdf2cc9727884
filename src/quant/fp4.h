// SPDX-License-Identifier: MIT
// E2M1, the four-bit float of mxfp4 and nvfp4: values 0 0.5 1 1.5 2 3 4 6 and their negatives in codes 8..15.
// Twice these values are integers, so scales are halved instead.
#ifndef TN_QUANT_FP4_H
#define TN_QUANT_FP4_H

#include <math.h>
#include <stdint.h>

#include "base/compiler.h"

static const int8_t tn_fp4_doubled[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

// The code whose doubled value times d is nearest to x; of two as near, the smaller magnitude. d: not 0.
TN_INLINE uint8_t tn_fp4_nearest(float x, float d) {
    const float a = fabsf(x);
    const int magnitude = (a > 0.5f * d) + (a > 1.5f * d) + (a > 2.5f * d) + (a > 3.5f * d) + (a > 5.0f * d) +
                          (a > 7.0f * d) + (a > 10.0f * d);
    return (uint8_t) (magnitude + (x < 0.0f && magnitude > 0 ? 8 : 0));
}

#endif
