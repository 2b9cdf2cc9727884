// SPDX-License-Identifier: MIT
// A block of q4_K: 256 elements d * scale * code - dmin * min, scale and min for every 32.
#ifndef TN_QUANT_Q4_K_H
#define TN_QUANT_Q4_K_H

#include <stdint.h>

enum { TN_Q4_K_LEN = 256 };

struct tn_block_q4_k {
    uint16_t d;         // half
    uint16_t dmin;      // half
    uint8_t scales[12]; // see k_scales.h
    uint8_t qs[128];    // four runs of 32 bytes; low nibbles hold 32 elements, high ones the next 32
};

_Static_assert(sizeof(struct tn_block_q4_k) == 144, "q4_k blocks are 144 bytes without padding");

#endif
