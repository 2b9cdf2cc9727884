// SPDX-License-Identifier: MIT
// A block of iq3_xxs: eight scales of 32 elements; four elements are a word of 256, eight share their signs.
#ifndef TN_QUANT_IQ3_XXS_H
#define TN_QUANT_IQ3_XXS_H

#include <stdint.h>

enum { TN_IQ3_XXS_LEN = 256 };

struct tn_block_iq3_xxs {
    uint16_t d;        // half
    uint8_t qs[64];    // words
    uint16_t rest[16]; // two a scale, as in iq2_xxs
};

_Static_assert(sizeof(struct tn_block_iq3_xxs) == 98, "iq3_xxs blocks are 98 bytes without padding");

#endif
