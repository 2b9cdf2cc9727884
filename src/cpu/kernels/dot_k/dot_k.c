// SPDX-License-Identifier: MIT
// Dot products of weights in blocks of 256 with scales for parts, portable.
#include "cpu/simd/bytes_scalar.h"

#include "cpu/kernels/dot_k/dot_k_body.inc"

// The best single products: the same bits.
#define SINGLY(name)                                                                                         \
    void tn_##name##_2x2_scalar(int64_t n, const void * const x[2], const void * const y[2],                 \
                                double sums[4]) {                                                            \
        for (int i = 0; i < 4; i++)                                                                          \
            sums[i] = tn_##name(n, x[i / 2], y[i % 2]);                                                      \
    }
SINGLY(dot_k_q4_k_q8_k)
SINGLY(dot_k_q6_k_q8_k)
