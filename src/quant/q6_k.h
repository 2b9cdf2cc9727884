// SPDX-License-Identifier: MIT
// A block of q6_K: 256 elements d * scale * (code - 32), a scale for every 16.
#ifndef TN_QUANT_Q6_K_H
#define TN_QUANT_Q6_K_H

#include <stdint.h>

enum { TN_Q6_K_LEN = 256 };

struct tn_block_q6_k {
    uint8_t ql[128]; // lower four bits; two runs of 64 bytes for 128 elements each
    uint8_t qh[64];  // upper two bits; two runs of 32 bytes
    int8_t scales[16];
    uint16_t d; // half
};

_Static_assert(sizeof(struct tn_block_q6_k) == 210, "q6_k blocks are 210 bytes without padding");

#endif
