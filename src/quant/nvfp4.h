// SPDX-License-Identifier: MIT
// A block of nvfp4: four groups of 16 elements of four bits (E2M1), a scale for each.
#ifndef TN_QUANT_NVFP4_H
#define TN_QUANT_NVFP4_H

#include <stdint.h>

enum { TN_NVFP4_LEN = 64 };

struct tn_block_nvfp4 {
    uint8_t scales[4]; // unsigned E4M3
    uint8_t qs[4][8];  // of each group; elements 0..7 in the low nibbles, 8..15 in the high ones
};

_Static_assert(sizeof(struct tn_block_nvfp4) == 36, "nvfp4 blocks are 36 bytes without padding");

#endif
