// SPDX-License-Identifier: MIT
// The encoder of iq1_s and iq1_m: words of eight lanes -1 0 1, shifted by an eighth, times a scale.
#ifndef TN_QUANT_TERNARY_H
#define TN_QUANT_TERNARY_H

#include <stdbool.h>
#include <stdint.h>

#include "quant/block_scale.h"

enum { TN_TERNARY_LEN = 256 };

struct tn_ternary_type {
    int sub_len;        // elements that share a scale code: 16 or 32
    int groups_a_shift; // groups of eight that share a shift
};

struct tn_ternary {
    uint16_t d;
    uint8_t scales[TN_BLOCK_SCALE_SUBS];
    uint16_t words[32];
    bool down[32]; // the shift of a word is negative
};

// Builds what the search needs, once.
bool tn_ternary_prepare(void);

// The best encoding of 256 elements that is found; weights may be NULL.
void tn_ternary_encode(const struct tn_ternary_type * type, const float * x, const float * weights,
                       struct tn_ternary * out);

#endif
