// SPDX-License-Identifier: MIT
// A block of iq1_s: eight scales of 32 elements; eight elements are a word of 2048, shifted by an eighth.
#ifndef TN_QUANT_IQ1_S_H
#define TN_QUANT_IQ1_S_H

#include <stdint.h>

enum { TN_IQ1_S_LEN = 256 };

struct tn_block_iq1_s {
    uint16_t d;     // half
    uint8_t qs[32]; // low bits of the words
    uint16_t qh[8]; // four times bits 8..10 of a word, then the scale code, then the sign of the shift
};

_Static_assert(sizeof(struct tn_block_iq1_s) == 50, "iq1_s blocks are 50 bytes without padding");

#endif
