// SPDX-License-Identifier: MIT
// A block of q3_K: 256 elements d * scale * code, a scale for every 16.
#ifndef TN_QUANT_Q3_K_H
#define TN_QUANT_Q3_K_H

#include <stdint.h>

#include "base/compiler.h"

enum { TN_Q3_K_LEN = 256 };

struct tn_block_q3_k {
    uint8_t hmask[32];  // element j: bit j / 32 of byte j % 32; 0 takes 4 from the code
    uint8_t qs[64];     // lower two bits, where q2_K has its codes
    uint8_t scales[12]; // sixteen of six bits: see tn_q3_k_unpack_scales
    uint16_t d;         // half
};

_Static_assert(sizeof(struct tn_block_q3_k) == 110, "q3_k blocks are 110 bytes without padding");

// Six bits each, 32 too large: low nibbles of bytes 0..7, their high nibbles, then upper bits in pairs.
TN_INLINE void tn_q3_k_unpack_scales(const uint8_t packed[12], int8_t scales[16]) {
    for (int k = 0; k < 16; k++) {
        const int low = packed[k % 8] >> 4 * (k / 8) & 15;
        const int high = packed[8 + k % 4] >> 2 * (k / 4) & 3;
        scales[k] = (int8_t) ((low | high << 4) - 32);
    }
}

#endif
