// SPDX-License-Identifier: MIT
// One half-precision scale for a block whose sub-blocks multiply it by small codes.
//
// A sub-block that is quantised at scale s has the error rest - 2 s p + s s q, where p and q are sums over
// the values that the quantiser chose. Such a fit is what s itself costs, and an upper bound for all other
// scales.
//
// 1. Each sub-block is quantised at a ladder of scales, from too small to too large. That gives it an
//    envelope of parabolas: its error at any scale, nearly.
// 2. Many block scales are tried on the envelopes alone, each sub-block taking its best code.
// 3. The best few are refined by real fits: codes, then the least-squares block scale rounded to half, and
//    again.
#ifndef TN_QUANT_BLOCK_SCALE_H
#define TN_QUANT_BLOCK_SCALE_H

#include <stdint.h>

#include "quant/block_input.h"

enum { TN_BLOCK_SCALE_SUBS = 16 }; // at most

struct tn_block_scale_fit {
    float p; // sum of w x v
    float q; // sum of w v v
};

struct tn_block_scale {
    const struct tn_block_input * in;
    int n_subs;
    int n_codes;
    float first; // code c multiplies by first + c * step; if first is negative, both signs are tried
    float step;
    float largest; // the largest magnitude among the quantiser's values
    float reach;   // the last scale of the ladder is reach * largest element / largest
    float rung;    // ratio of two scales of the ladder

    // Quantises sub-block s, remembers the outcome, and describes it.
    struct tn_block_scale_fit (*fit)(void * self, int s, float scale);
    void * self;
};

// Returns the scale, fills the codes. What the fits remember belongs to the result.
uint16_t tn_block_scale_choose(const struct tn_block_scale * job, uint8_t codes[TN_BLOCK_SCALE_SUBS]);

#endif
