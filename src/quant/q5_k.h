// SPDX-License-Identifier: MIT
// A block of q5_K: 256 elements d * scale * code - dmin * min, scale and min for every 32.
#ifndef TN_QUANT_Q5_K_H
#define TN_QUANT_Q5_K_H

#include <stdint.h>

enum { TN_Q5_K_LEN = 256 };

struct tn_block_q5_k {
    uint16_t d;         // half
    uint16_t dmin;      // half
    uint8_t scales[12]; // see k_scales.h
    uint8_t qh[32];     // fifth bits; element j: bit j / 32 of byte j % 32
    uint8_t qs[128];    // lower four bits; four runs of 32 bytes, as in q4_K
};

_Static_assert(sizeof(struct tn_block_q5_k) == 176, "q5_k blocks are 176 bytes without padding");

#endif
