// SPDX-License-Identifier: MIT
// A block of mxfp4: 32 elements of four bits (E2M1) with a power of two in common.
#ifndef TN_QUANT_MXFP4_H
#define TN_QUANT_MXFP4_H

#include <stdint.h>

enum { TN_MXFP4_LEN = 32 };

struct tn_block_mxfp4 {
    uint8_t e;      // E8M0
    uint8_t qs[16]; // E2M1 codes; elements 0..15 in the low nibbles, 16..31 in the high ones
};

_Static_assert(sizeof(struct tn_block_mxfp4) == 17, "mxfp4 blocks are 17 bytes without padding");

#endif
