// SPDX-License-Identifier: MIT
// A block of q4_0: 32 elements d * (code - 8).
#ifndef TN_QUANT_Q4_0_H
#define TN_QUANT_Q4_0_H

#include <stdint.h>

enum { TN_Q4_0_LEN = 32 };

struct tn_block_q4_0 {
    uint16_t d;     // half
    uint8_t qs[16]; // codes; elements 0..15 in the low nibbles, 16..31 in the high ones
};

_Static_assert(sizeof(struct tn_block_q4_0) == 18, "q4_0 blocks are 18 bytes without padding");

#endif
