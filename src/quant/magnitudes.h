// SPDX-License-Identifier: MIT
// The encoder of the types that store words of magnitudes, and signs: iq2_xxs iq2_xs iq2_s iq3_xxs iq3_s.
#ifndef TN_QUANT_MAGNITUDES_H
#define TN_QUANT_MAGNITUDES_H

#include <stdbool.h>
#include <stdint.h>

#include "quant/block_scale.h"
#include "quant/codebook.h"

enum { TN_MAGNITUDES_LEN = 256 };

struct tn_magnitudes_type {
    struct tn_codebook * book;
    int sub_len;     // elements that share a scale code: 16 or 32
    bool even_signs; // of eight elements an even number is negative
    float first;     // multiplier of scale code c: first + c * step
    float step;
};

struct tn_magnitudes {
    uint16_t d;
    uint8_t scales[TN_BLOCK_SCALE_SUBS];
    uint16_t words[64]; // 32, or 64 of four lanes
    uint8_t signs[32];  // of eight elements each
};

// The best encoding of 256 elements that is found; weights may be NULL.
void tn_magnitudes_encode(const struct tn_magnitudes_type * type, const float * x, const float * weights,
                          struct tn_magnitudes * out);

#endif
