// SPDX-License-Identifier: MIT
// Where q5_0 and q5_1 keep the five bits of their 32 codes: 16 bytes of nibbles, 32 fifth bits apart.
#ifndef TN_QUANT_Q5_BITS_H
#define TN_QUANT_Q5_BITS_H

#include <stdint.h>

#include "base/compiler.h"

TN_INLINE uint32_t tn_q5_bits_high(const uint8_t qh[4]) {
    return qh[0] | (uint32_t) qh[1] << 8 | (uint32_t) qh[2] << 16 | (uint32_t) qh[3] << 24;
}

TN_INLINE void tn_q5_bits_unpack(const uint8_t qh[4], const uint8_t qs[16], uint8_t codes[32]) {
    const uint32_t high = tn_q5_bits_high(qh);
    for (int j = 0; j < 16; j++) {
        codes[j] = (uint8_t) ((qs[j] & 15) | (high >> j & 1) << 4);
        codes[j + 16] = (uint8_t) (qs[j] >> 4 | (high >> (j + 16) & 1) << 4);
    }
}

TN_INLINE void tn_q5_bits_pack(const uint8_t codes[32], uint8_t qh[4], uint8_t qs[16]) {
    uint32_t high = 0;
    for (int j = 0; j < 16; j++) {
        qs[j] = (uint8_t) ((codes[j] & 15) | (codes[j + 16] & 15) << 4);
    }
    for (int j = 0; j < 32; j++) {
        high |= (uint32_t) (codes[j] >> 4) << j;
    }
    for (int k = 0; k < 4; k++) {
        qh[k] = (uint8_t) (high >> 8 * k);
    }
}

#endif
