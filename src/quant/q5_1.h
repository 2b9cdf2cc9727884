// SPDX-License-Identifier: MIT
// A block of q5_1: 32 elements d * code + m.
#ifndef TN_QUANT_Q5_1_H
#define TN_QUANT_Q5_1_H

#include <stdint.h>

enum { TN_Q5_1_LEN = 32 };

struct tn_block_q5_1 {
    uint16_t d;     // half
    uint16_t m;     // half
    uint8_t qh[4];  // fifth bits of the codes, element j in bit j of these little-endian 32
    uint8_t qs[16]; // lower four bits; elements 0..15 in the low nibbles, 16..31 in the high ones
};

_Static_assert(sizeof(struct tn_block_q5_1) == 24, "q5_1 blocks are 24 bytes without padding");

#endif
