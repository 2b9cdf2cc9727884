// SPDX-License-Identifier: MIT
// A block of q8_0: 32 elements d * code.
#ifndef TN_QUANT_Q8_0_H
#define TN_QUANT_Q8_0_H

#include <stdint.h>

enum { TN_Q8_0_LEN = 32 };

struct tn_block_q8_0 {
    uint16_t d; // half
    int8_t qs[32];
};

_Static_assert(sizeof(struct tn_block_q8_0) == 34, "q8_0 blocks are 34 bytes without padding");

#endif
