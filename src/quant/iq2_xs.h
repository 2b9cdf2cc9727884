// SPDX-License-Identifier: MIT
// A block of iq2_xs: sixteen scales of 16 elements; a group of eight is a word of 512, with signs.
#ifndef TN_QUANT_IQ2_XS_H
#define TN_QUANT_IQ2_XS_H

#include <stdint.h>

enum { TN_IQ2_XS_LEN = 256 };

struct tn_block_iq2_xs {
    uint16_t d;        // half
    uint16_t qs[32];   // group g: bits 0..8 word, bits 9..15 stored signs
    uint8_t scales[8]; // elements 32s..32s+15: low nibble, 32s+16..32s+31: high nibble
};

_Static_assert(sizeof(struct tn_block_iq2_xs) == 74, "iq2_xs blocks are 74 bytes without padding");

#endif
