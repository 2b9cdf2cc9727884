// SPDX-License-Identifier: MIT
// Random orders that are the same in every run.
#ifndef TN_TRAIN_SHUFFLE_INT_H
#define TN_TRAIN_SHUFFLE_INT_H

#include <stdint.h>

enum { TN_SHUFFLE_WORDS = 624 };

// A Mersenne twister of 32 bits (mt19937).
struct tn_shuffle {
    uint32_t words[TN_SHUFFLE_WORDS];
    int next; // the first word that was not drawn yet
};

// Starts from the generator's default seed.
void tn_shuffle_init(struct tn_shuffle * s);

// Brings n items into a new order.
void tn_shuffle_items(struct tn_shuffle * s, int64_t * items, int64_t n);

#endif
