// SPDX-License-Identifier: MIT
// A block of q4_1: 32 elements d * code + m.
#ifndef TN_QUANT_Q4_1_H
#define TN_QUANT_Q4_1_H

#include <stdint.h>

enum { TN_Q4_1_LEN = 32 };

struct tn_block_q4_1 {
    uint16_t d;     // half
    uint16_t m;     // half
    uint8_t qs[16]; // codes; elements 0..15 in the low nibbles, 16..31 in the high ones
};

_Static_assert(sizeof(struct tn_block_q4_1) == 20, "q4_1 blocks are 20 bytes without padding");

#endif
