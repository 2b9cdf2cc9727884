// SPDX-License-Identifier: MIT
// A block of q8_1, an operand of dot products: 32 elements d * code, and their sum.
#ifndef TN_QUANT_Q8_1_H
#define TN_QUANT_Q8_1_H

#include <stdint.h>

enum { TN_Q8_1_LEN = 32 };

struct tn_block_q8_1 {
    uint16_t d; // half
    uint16_t s; // half: d before it was rounded, times the sum of the codes
    int8_t qs[32];
};

_Static_assert(sizeof(struct tn_block_q8_1) == 36, "q8_1 blocks are 36 bytes without padding");

#endif
