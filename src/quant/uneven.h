// SPDX-License-Identifier: MIT
// 32 elements as multiples of the 16 uneven values of iq4_nl and iq4_xs.
#ifndef TN_QUANT_UNEVEN_H
#define TN_QUANT_UNEVEN_H

#include <stdbool.h>
#include <stdint.h>

#include "quant/block_scale.h"

enum { TN_UNEVEN_LEN = 32 };

// Builds what the search needs, once.
bool tn_uneven_prepare(void);

// Sums over 32 elements with the values nearest to x / scale; the scale may be negative, and is not 0.
struct tn_block_scale_fit tn_uneven_fit(const float * x, const float * w, float scale);

// Codes of 32 elements at that scale, as nibbles: elements 0..15 low, 16..31 high. Any codes where it is 0.
void tn_uneven_codes(const float * x, float scale, uint8_t codes[16]);

#endif
