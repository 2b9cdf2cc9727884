// SPDX-License-Identifier: MIT
// How q4_K and q5_K keep eight scales and eight minima of six bits in twelve bytes.
//
// Bytes 0..3 and 4..7 hold scales and minima 0..3 in their low six bits; bytes 8..11 hold the low four bits
// of scales (low nibble) and minima (high nibble) 4..7, whose upper two bits are on top of bytes 0..3
// and 4..7.
#ifndef TN_QUANT_K_SCALES_H
#define TN_QUANT_K_SCALES_H

#include <stdint.h>

#include "base/compiler.h"

TN_INLINE void tn_k_scales_unpack(const uint8_t packed[12], uint8_t scales[8], uint8_t mins[8]) {
    for (int k = 0; k < 4; k++) {
        scales[k] = packed[k] & 63;
        mins[k] = packed[k + 4] & 63;
        scales[k + 4] = (uint8_t) ((packed[k + 8] & 15) | packed[k] >> 6 << 4);
        mins[k + 4] = (uint8_t) (packed[k + 8] >> 4 | packed[k + 4] >> 6 << 4);
    }
}

TN_INLINE void tn_k_scales_pack(const int16_t scales[8], const int16_t mins[8], uint8_t packed[12]) {
    for (int k = 0; k < 4; k++) {
        packed[k] = (uint8_t) (scales[k] | scales[k + 4] >> 4 << 6);
        packed[k + 4] = (uint8_t) (mins[k] | mins[k + 4] >> 4 << 6);
        packed[k + 8] = (uint8_t) ((scales[k + 4] & 15) | (mins[k + 4] & 15) << 4);
    }
}

#endif
