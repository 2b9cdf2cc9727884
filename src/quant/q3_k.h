// SPDX-License-Identifier: MIT
// A block of q3_K: 256 elements d * scale * code, a scale for every 16.
#ifndef TN_QUANT_Q3_K_H
#define TN_QUANT_Q3_K_H

#include <stdint.h>

enum { TN_Q3_K_LEN = 256 };

struct tn_block_q3_k {
    uint8_t hmask[32];  // element j: bit j / 32 of byte j % 32; 0 takes 4 from the code
    uint8_t qs[64];     // lower two bits, where q2_K has its codes
    uint8_t scales[12]; // sixteen of six bits: see unpack_scales
    uint16_t d;         // half
};

_Static_assert(sizeof(struct tn_block_q3_k) == 110, "q3_k blocks are 110 bytes without padding");

#endif
