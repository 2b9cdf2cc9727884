// SPDX-License-Identifier: MIT
// Dot products of weights in blocks with one scale, portable.
#include "cpu/simd/bytes_scalar.h"

#include "cpu/kernels/dot_legacy/dot_legacy_body.inc"

// The best single products: the same bits.
#define SINGLY(name)                                                                                         \
    void tn_##name##_2x2_scalar(int64_t n, const void * const x[2], const void * const y[2],                 \
                                double sums[4]) {                                                            \
        for (int i = 0; i < 4; i++)                                                                          \
            sums[i] = tn_##name(n, x[i / 2], y[i % 2]);                                                      \
    }
SINGLY(dot_legacy_q4_0_q8_0)
SINGLY(dot_legacy_q8_0_q8_0)
