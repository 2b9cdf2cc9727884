// SPDX-License-Identifier: MIT
// A block of iq2_s: sixteen scales of 16 elements; a group of eight is a word of 1024, with signs.
#ifndef TN_QUANT_IQ2_S_H
#define TN_QUANT_IQ2_S_H

#include <stdint.h>

enum { TN_IQ2_S_LEN = 256 };

struct tn_block_iq2_s {
    uint16_t d;        // half
    uint8_t qs[32];    // group g: low bits of the word
    uint8_t signs[32]; // group g: bit i = element i is negative
    uint8_t qh[8];     // group 4s+l: bits 2l and 2l+1 of byte s = bits 8 and 9 of the word
    uint8_t scales[8]; // as iq2_xs
};

_Static_assert(sizeof(struct tn_block_iq2_s) == 82, "iq2_s blocks are 82 bytes without padding");

#endif
