// SPDX-License-Identifier: MIT
// A block of iq3_s: eight scales of 32 elements; four elements are a word of 512, with signs.
#ifndef TN_QUANT_IQ3_S_H
#define TN_QUANT_IQ3_S_H

#include <stdint.h>

enum { TN_IQ3_S_LEN = 256 };

struct tn_block_iq3_s {
    uint16_t d;        // half
    uint8_t qs[64];    // low bits of the words
    uint8_t qh[8];     // word 8s+g: bit g of byte s = bit 8
    uint8_t signs[32]; // of eight elements each: bit i = element i is negative
    uint8_t scales[4]; // elements 64k..64k+31: low nibble, 64k+32..64k+63: high nibble
};

_Static_assert(sizeof(struct tn_block_iq3_s) == 110, "iq3_s blocks are 110 bytes without padding");

#endif
