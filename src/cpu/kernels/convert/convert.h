// SPDX-License-Identifier: MIT
// Conversion of rows between f32 and the other plain types, and moves of elements with a stride.
//
// n elements, n >= 0; any alignment of the element size. Rounding to nearest even into f16 and bf16, towards
// zero with saturation (NaN: 0) into i32. No flush of subnormals in either direction. Source and destination
// do not overlap.
#ifndef TN_CPU_KERNELS_CONVERT_H
#define TN_CPU_KERNELS_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/kernels/rows.h"

TN_PROCEDURE(convert_f16_f32, (int64_t n, float * y, const uint16_t * x), (n, y, x))
TN_PROCEDURE(convert_bf16_f32, (int64_t n, float * y, const uint16_t * x), (n, y, x))
void tn_convert_i32_f32(int64_t n, float * y, const int32_t * x);
TN_PROCEDURE(convert_f32_f16, (int64_t n, uint16_t * y, const float * x), (n, y, x))
TN_PROCEDURE(convert_f32_bf16, (int64_t n, uint16_t * y, const float * x), (n, y, x))
void tn_convert_f32_i32(int64_t n, int32_t * y, const float * x);

// n elements of `size` bytes, y_stride and x_stride bytes apart.
void tn_convert_move(int64_t n, size_t size, void * y, size_t y_stride, const void * x, size_t x_stride);

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/convert/convert.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
