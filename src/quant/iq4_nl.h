// SPDX-License-Identifier: MIT
// A block of iq4_nl: 32 elements of four bits that number unevenly spaced values.
#ifndef TN_QUANT_IQ4_NL_H
#define TN_QUANT_IQ4_NL_H

#include <stdint.h>

enum { TN_IQ4_NL_LEN = 32 };

struct tn_block_iq4_nl {
    uint16_t d;     // half
    uint8_t qs[16]; // elements 0..15 in the low nibbles, 16..31 in the high ones
};

_Static_assert(sizeof(struct tn_block_iq4_nl) == 18, "iq4_nl blocks are 18 bytes without padding");

#endif
