// SPDX-License-Identifier: MIT
// A block of iq4_xs: eight scales of 32 elements; four bits number unevenly spaced values.
#ifndef TN_QUANT_IQ4_XS_H
#define TN_QUANT_IQ4_XS_H

#include <stdint.h>

enum { TN_IQ4_XS_LEN = 256 };

struct tn_block_iq4_xs {
    uint16_t d;            // half
    uint16_t scales_high;  // sub-block s: bits 2s and 2s+1 = bits 4 and 5 of its scale code
    uint8_t scales_low[4]; // sub-block s: a nibble, low one first
    uint8_t qs[128];       // sub-block s: bytes 16s.. as iq4_nl
};

_Static_assert(sizeof(struct tn_block_iq4_xs) == 136, "iq4_xs blocks are 136 bytes without padding");

#endif
