// SPDX-License-Identifier: MIT
// The search behind encoders of blocks whose scales are codes themselves: q2_K .. q6_K, and the types with
// one scale when importance weights are given.
#ifndef TN_QUANT_SCALE_SEARCH_H
#define TN_QUANT_SCALE_SEARCH_H

#include <stdint.h>

enum { TN_SCALE_SUBS = 16, TN_SCALE_LEN = 256 };

// What a block of some type can express: element = d * s * q - dmin * m, with s and m common to a sub-block.
struct tn_scale_shape {
    int16_t n_subs;       // sub-blocks, at most 16
    int16_t sub_len;      // elements of each: 16 or 32
    int16_t q_min, q_max; // codes of elements
    int16_t s_min, s_max; // codes of scales; 1, 1 where d is the only scale
    int16_t m_min, m_max; // codes of minima; 0, 0: none; 1, 1 where dmin is the only one
};

// What was found; d and dmin are halves and finite.
struct tn_scale_fit {
    uint16_t d;
    uint16_t dmin; // negative if the block lies above zero
    int16_t s[TN_SCALE_SUBS];
    int16_t m[TN_SCALE_SUBS];
    int8_t q[TN_SCALE_LEN];
};

// Minimises the squared error of n_subs * sub_len elements, weighted if weights are given (finite, not
// negative).
void tn_scale_search(const struct tn_scale_shape * shape, const float * x, const float * weights,
                     struct tn_scale_fit * fit);

#endif
