// SPDX-License-Identifier: MIT
// A block of q8_K, an operand of dot products: 256 elements d * code, and sums of sixteens.
#ifndef TN_QUANT_Q8_K_H
#define TN_QUANT_Q8_K_H

#include <stdint.h>

enum { TN_Q8_K_LEN = 256 };

struct tn_block_q8_k {
    float d;
    int8_t qs[256];
    int16_t sums[16]; // of 16 consecutive codes
};

_Static_assert(sizeof(struct tn_block_q8_k) == 292, "q8_k blocks are 292 bytes without padding");

#endif
