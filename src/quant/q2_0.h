// SPDX-License-Identifier: MIT
// A block of q2_0: 64 elements d * (code - 1).
#ifndef TN_QUANT_Q2_0_H
#define TN_QUANT_Q2_0_H

#include <stdint.h>

enum { TN_Q2_0_LEN = 64 };

struct tn_block_q2_0 {
    uint16_t d;     // half
    uint8_t qs[16]; // element j: bits 2 * (j % 4) and the next of byte j / 4
};

_Static_assert(sizeof(struct tn_block_q2_0) == 18, "q2_0 blocks are 18 bytes without padding");

#endif
