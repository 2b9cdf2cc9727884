// SPDX-License-Identifier: MIT
// A block of tq1_0: 256 elements d * (digit - 1), five base-3 digits in a byte.
#ifndef TN_QUANT_TQ1_0_H
#define TN_QUANT_TQ1_0_H

#include <stdint.h>

#include "base/compiler.h"

enum { TN_TQ1_0_LEN = 256 };

struct tn_block_tq1_0 {
    uint8_t qs[48]; // five digits a byte: first 160 elements in 32 bytes, then 80 in 16
    uint8_t qh[4];  // four digits a byte: the last 16 elements
    uint16_t d;     // half
};

_Static_assert(sizeof(struct tn_block_tq1_0) == 54, "tq1_0 blocks are 54 bytes without padding");

// A byte is a fraction: V / 243 of five digits as 8 bits, rounded up. Multiplying by 3 moves the first digit
// above the point; so digit n is read by one multiplication by 3^n, dropping what is above, and one by 3.
TN_INLINE int tn_tq1_0_digit(uint8_t byte, int power) {
    const uint8_t fraction = (uint8_t) (byte * power);
    return (fraction * 3 >> 8) - 1;
}

#endif
