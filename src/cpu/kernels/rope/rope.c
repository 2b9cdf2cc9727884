// SPDX-License-Identifier: MIT
// Rotation of pairs, portable.
#include "cpu/kernels/rope/rope.h"

void tn_rope_adjacent_scalar(int64_t n, float * y, const float * x, const float * turn) {
    for (int64_t m = 0; m < n; m++) {
        const float a = x[2 * m], b = x[2 * m + 1];
        y[2 * m] = a * turn[2 * m] - b * turn[2 * m + 1];
        y[2 * m + 1] = a * turn[2 * m + 1] + b * turn[2 * m];
    }
}

void tn_rope_halves_scalar(int64_t n, float * y, const float * x, const float * turn) {
    for (int64_t m = 0; m < n; m++) {
        const float a = x[m], b = x[m + n];
        y[m] = a * turn[2 * m] - b * turn[2 * m + 1];
        y[m + n] = a * turn[2 * m + 1] + b * turn[2 * m];
    }
}
