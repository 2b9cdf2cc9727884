// SPDX-License-Identifier: MIT
// A block of q1_0: 128 elements, each +d or -d.
#ifndef TN_QUANT_Q1_0_H
#define TN_QUANT_Q1_0_H

#include <stdint.h>

enum { TN_Q1_0_LEN = 128 };

struct tn_block_q1_0 {
    uint16_t d;     // half
    uint8_t qs[16]; // element j: bit j % 8 of byte j / 8; 1 is +d
};

_Static_assert(sizeof(struct tn_block_q1_0) == 18, "q1_0 blocks are 18 bytes without padding");

#endif
