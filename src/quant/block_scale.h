// SPDX-License-Identifier: MIT
// One half-precision scale for a block whose sub-blocks multiply it by small codes.
//
// A sub-block that is quantised at scale s has the error rest - 2 s p + s s q, where p and q are sums over
// the values that the quantiser chose. This fit is what s itself costs, and an upper bound for every other
// scale. So:
// 1. each sub-block is quantised at a ladder of scales, from too small to too large, which gives it an
// envelope of
//    parabolas: its error at any scale, nearly;
// 2. many block scales are tried on the envelopes alone, each sub-block taking its best code;
// 3. the best few are refined with real fits: codes, then the least-squares block scale, rounded to half, and
// again.
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
    float first; // code c multiplies by first + c * step; where that is negative, scales of both signs are
                 // tried
    float step;
    float largest; // values the quantiser has, in magnitude: the largest
    float reach;   // the ladder ends where the largest element is this, in units of `largest`
    float rung;    // ratio of its scales

    // Quantises sub-block s, remembers the outcome, and describes it.
    struct tn_block_scale_fit (*fit)(void * self, int s, float scale);
    void * self;
};

// Returns the scale, fills the codes. What the fits remember belongs to the result.
uint16_t tn_block_scale_choose(const struct tn_block_scale * job, uint8_t codes[TN_BLOCK_SCALE_SUBS]);

#endif
