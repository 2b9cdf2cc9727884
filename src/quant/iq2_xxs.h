// SPDX-License-Identifier: MIT
// A block of iq2_xxs: eight sub-blocks of 32 elements; a group of eight is a word of 256, with signs.
#ifndef TN_QUANT_IQ2_XXS_H
#define TN_QUANT_IQ2_XXS_H

#include <stdint.h>

enum { TN_IQ2_XXS_LEN = 256 };

struct tn_block_iq2_xxs {
    uint16_t d; // half
    struct tn_iq2_xxs_sub {
        uint8_t words[4];
        uint16_t rest[2]; // low half first: bits 7l.. = stored signs of group l, bits 28..31 = scale code
    } sub[8];
};

_Static_assert(sizeof(struct tn_block_iq2_xxs) == 66, "iq2_xxs blocks are 66 bytes without padding");

#endif
