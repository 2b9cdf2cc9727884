// SPDX-License-Identifier: MIT
// The words that codebook types store by number: one byte a lane, lane 0 in the lowest bits.
#ifndef TN_QUANT_CODEBOOK_TABLES_H
#define TN_QUANT_CODEBOOK_TABLES_H

#include <stdint.h>

#include "base/compiler.h"

TN_API extern const uint64_t tn_codebook_iq1s[2048];  // signed lanes -1 0 1; iq1_s and iq1_m
TN_API extern const uint64_t tn_codebook_iq2xxs[256]; // 8 25 43
TN_API extern const uint64_t tn_codebook_iq2xs[512];
TN_API extern const uint64_t tn_codebook_iq2s[1024];
TN_API extern const uint32_t tn_codebook_iq3xxs[256]; // 4 12 20 28 36 44 52 62
TN_API extern const uint32_t tn_codebook_iq3s[512];   // 1 3 5 .. 15
TN_API extern const int8_t tn_codebook_iq4nl[16];     // ascending; iq4_nl and iq4_xs

// The signs of eight elements from the seven that are stored: the eighth makes the number of ones even.
TN_INLINE unsigned tn_codebook_signs(unsigned stored) {
    unsigned odd = stored ^ stored >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return (stored & 127u) | (odd & 1u) << 7;
}

TN_INLINE float tn_codebook_lane(uint64_t word, int i) {
    return (float) (uint8_t) (word >> (8 * i));
}

// Of lanes with signs.
TN_INLINE float tn_codebook_signed_lane(uint64_t word, int i) {
    return (float) (int8_t) (word >> (8 * i));
}

// The eight elements of a word of magnitudes.
TN_INLINE void tn_codebook_decode(uint64_t word, unsigned signs, float scale, float * y) {
    for (int i = 0; i < 8; i++) {
        const float v = scale * tn_codebook_lane(word, i);
        y[i] = (signs >> i & 1u) ? -v : v;
    }
}

// The eight elements of a word with signs, all moved by `shift`.
TN_INLINE void tn_codebook_decode_shifted(uint64_t word, float shift, float scale, float * y) {
    for (int i = 0; i < 8; i++) {
        y[i] = scale * (tn_codebook_signed_lane(word, i) + shift);
    }
}

// 32 elements of four bits; the first 16 are the low nibbles.
TN_INLINE void tn_codebook_decode_nibbles(const uint8_t * codes, float scale, float * y) {
    for (int i = 0; i < 16; i++) {
        y[i] = scale * (float) tn_codebook_iq4nl[codes[i] & 15];
        y[i + 16] = scale * (float) tn_codebook_iq4nl[codes[i] >> 4];
    }
}

#endif
