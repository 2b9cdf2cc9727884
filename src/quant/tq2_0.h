// SPDX-License-Identifier: MIT
// A block of tq2_0: 256 elements d * (code - 1), two bits each.
#ifndef TN_QUANT_TQ2_0_H
#define TN_QUANT_TQ2_0_H

#include <stdint.h>

enum { TN_TQ2_0_LEN = 256 };

struct tn_block_tq2_0 {
    uint8_t qs[64]; // two runs of 32 bytes; element j: run j / 128, byte j % 32, bits 2 * (j % 128 / 32) and the next
    uint16_t d;     // half
};

_Static_assert(sizeof(struct tn_block_tq2_0) == 66, "tq2_0 blocks are 66 bytes without padding");

#endif
