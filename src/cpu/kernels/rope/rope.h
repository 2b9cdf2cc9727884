// SPDX-License-Identifier: MIT
// Rotation of pairs of channels: (x0, x1) -> (x0*cos - x1*sin, x0*sin + x1*cos).
//
// n pairs, f32, any alignment of 4; y may be x, otherwise they do not overlap. turn[2m] and turn[2m + 1] are
// cosine and sine of pair m, the magnitude multiplied in.
#ifndef TN_CPU_KERNELS_ROPE_H
#define TN_CPU_KERNELS_ROPE_H

#include <stdint.h>

#include "cpu/kernels/rows.h"

// Pair m: elements 2m and 2m + 1.
TN_PROCEDURE(rope_adjacent, (int64_t n, float * y, const float * x, const float * turn), (n, y, x, turn))
// Pair m: elements m and m + n.
TN_PROCEDURE(rope_halves, (int64_t n, float * y, const float * x, const float * turn), (n, y, x, turn))

#define TN_ROW              TN_KERNEL
#define TN_SCALAR(function) TN_KERNEL(scalar, function)
#include "cpu/kernels/rope/rope.def"
#undef TN_SCALAR
#undef TN_ROW

#endif
