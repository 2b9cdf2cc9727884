// SPDX-License-Identifier: MIT
// A block of tq2_0: 256 elements d * (code - 1), two bits each.
#ifndef TN_QUANT_TQ2_0_H
#define TN_QUANT_TQ2_0_H

#include <stdint.h>

enum { TN_TQ2_0_LEN = 256 };

// Codes lie in two runs of 32 bytes, one for each 128 elements: element j of a run has bits 2 * (j / 32) and
// the next of byte j % 32.
struct tn_block_tq2_0 {
    uint8_t qs[64];
    uint16_t d; // half
};

_Static_assert(sizeof(struct tn_block_tq2_0) == 66, "tq2_0 blocks are 66 bytes without padding");

#endif
