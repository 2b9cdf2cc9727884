// SPDX-License-Identifier: MIT
// A block of q2_K: 256 elements d * scale * code - dmin * min, scale and min for every 16.
#ifndef TN_QUANT_Q2_K_H
#define TN_QUANT_Q2_K_H

#include <stdint.h>

enum { TN_Q2_K_LEN = 256 };

// Codes lie in two runs of 32 bytes, one for each 128 elements: element j of a run has bits 2 * (j / 32) and
// the next of byte j % 32.
struct tn_block_q2_k {
    uint8_t scales[16]; // low nibble: scale, high nibble: min
    uint8_t qs[64];
    uint16_t d;    // half
    uint16_t dmin; // half
};

_Static_assert(sizeof(struct tn_block_q2_k) == 84, "q2_k blocks are 84 bytes without padding");

#endif
