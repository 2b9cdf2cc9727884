// SPDX-License-Identifier: MIT
// A block of iq1_m: sixteen scales of 16 elements; a group of eight is a word of 2048, shifted by an eighth.
#ifndef TN_QUANT_IQ1_M_H
#define TN_QUANT_IQ1_M_H

#include <stdint.h>

#include "base/compiler.h"

enum { TN_IQ1_M_LEN = 256 };

struct tn_block_iq1_m {
    uint8_t qs[32];     // low bits of the words
    uint8_t qh[16];     // a nibble a group, low one first: bits 8..10 of the word, then the sign of its shift
    uint16_t scales[4]; // four bits of the half d each, on top, lowest first; below them four scale codes of
                        // 3 bits
};

_Static_assert(sizeof(struct tn_block_iq1_m) == 56, "iq1_m blocks are 56 bytes without padding");

// d, as a half.
TN_INLINE uint16_t tn_iq1_m_scale(const uint16_t scales[4]) {
    return (uint16_t) (scales[0] >> 12 | scales[1] >> 12 << 4 | scales[2] >> 12 << 8 | scales[3] >> 12 << 12);
}

#endif
