// SPDX-License-Identifier: MIT
// Values and weights of a block, brought to a size at which sums of squares neither overflow nor vanish.
#ifndef TN_QUANT_BLOCK_INPUT_H
#define TN_QUANT_BLOCK_INPUT_H

#include <stdbool.h>

enum { TN_BLOCK_INPUT_LEN = 256 }; // at most

struct tn_block_input {
    float x[TN_BLOCK_INPUT_LEN]; // divided by unit; zeros where the block holds a NaN or an infinity
    float w[TN_BLOCK_INPUT_LEN]; // the largest is 1
    float unit;                  // a power of two
    bool is_zero;
};

// weights may be NULL: all count the same. Inside a sub-block no weight is smaller than a millionth of the
// largest, so that what does not matter is still sensible.
void tn_block_input_set(struct tn_block_input * in, const float * x, const float * weights, int n,
                        int sub_len);

struct tn_block_input_stats {
    float energy;  // weighted sum of squares
    float rms;     // root of the weighted mean of squares
    float largest; // magnitude
};

// Of n elements from `first` on.
struct tn_block_input_stats tn_block_input_stats(const struct tn_block_input * in, int first, int n);

#endif
