// SPDX-License-Identifier: MIT
// Conversions, portable. Those into f32 have no branches, so that compilers turn them into vector code.
#include "cpu/kernels/convert/convert.h"

#include <string.h>

#include "base/half.h"

// The three cases of a half float, all computed, one selected by masks. Subnormals go through an integer:
// mant * 2^-24 is exact.
TN_INLINE float widen(uint16_t h) {
    const uint32_t sign = (uint32_t) (h & 0x8000u) << 16;
    const uint32_t mag = h & 0x7fffu;
    const uint32_t tiny = tn_f32_to_bits((float) (int32_t) mag * 0x1p-24f);
    const uint32_t normal = (mag << 13) + 0x38000000u;
    const uint32_t is_tiny = -(uint32_t) ((int32_t) mag < 0x400);
    const uint32_t is_huge =
        -(uint32_t) ((int32_t) mag > 0x7bff); // infinity and NaN: exponent 255 instead of 143
    return tn_f32_from_bits(sign | (tiny & is_tiny) | (normal & ~is_tiny) | (is_huge & 0x7f800000u));
}

void tn_convert_f16_f32_scalar(int64_t n, float * restrict y, const uint16_t * restrict x) {
    for (int64_t i = 0; i < n; i++)
        y[i] = widen(x[i]);
}

void tn_convert_bf16_f32_scalar(int64_t n, float * restrict y, const uint16_t * restrict x) {
    for (int64_t i = 0; i < n; i++)
        y[i] = tn_bf16_to_f32(x[i]);
}

void tn_convert_i32_f32(int64_t n, float * restrict y, const int32_t * restrict x) {
    for (int64_t i = 0; i < n; i++)
        y[i] = (float) x[i];
}

void tn_convert_f32_f16_scalar(int64_t n, uint16_t * restrict y, const float * restrict x) {
    for (int64_t i = 0; i < n; i++)
        y[i] = tn_f16_from_f32(x[i]);
}

void tn_convert_f32_bf16_scalar(int64_t n, uint16_t * restrict y, const float * restrict x) {
    for (int64_t i = 0; i < n; i++)
        y[i] = tn_bf16_from_f32(x[i]);
}

void tn_convert_f32_i32(int64_t n, int32_t * restrict y, const float * restrict x) {
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i];
        y[i] = v >= 0x1p31f ? INT32_MAX : v > -0x1p31f ? (int32_t) v : v == v ? INT32_MIN : 0;
    }
}

#define MOVE(T)                                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        memcpy((char *) y + (size_t) i * y_stride, (const char *) x + (size_t) i * x_stride, sizeof(T));     \
    }                                                                                                        \
    return

void tn_convert_move(int64_t n, size_t size, void * y, size_t y_stride, const void * x, size_t x_stride) {
    if (n > 0 && y_stride == size && x_stride == size) {
        memcpy(y, x, (size_t) n * size);
        return;
    }
    switch (size) {
    case 1: MOVE(uint8_t);
    case 2: MOVE(uint16_t);
    case 4: MOVE(uint32_t);
    case 8: MOVE(uint64_t);
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy((char *) y + (size_t) i * y_stride, (const char *) x + (size_t) i * x_stride, size);
    }
}
