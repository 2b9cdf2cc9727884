// SPDX-License-Identifier: MIT
// A block of tq1_0: 256 elements d * (digit - 1), five base-3 digits in a byte.
#ifndef TN_QUANT_TQ1_0_H
#define TN_QUANT_TQ1_0_H

#include <stdint.h>

enum { TN_TQ1_0_LEN = 256 };

struct tn_block_tq1_0 {
    uint8_t qs[48]; // five digits a byte: first 160 elements in 32 bytes, then 80 in 16
    uint8_t qh[4];  // four digits a byte: the last 16 elements
    uint16_t d;     // half
};

_Static_assert(sizeof(struct tn_block_tq1_0) == 54, "tq1_0 blocks are 54 bytes without padding");

#endif
