// SPDX-License-Identifier: MIT
// A prompt as a bag of hashed words and word parts.
#ifndef TENON_PROMPT_H
#define TENON_PROMPT_H

#include <stdbool.h>
#include <stdint.h>

enum { PROMPT_MAX_BYTES = 4096, PROMPT_MAX_BUCKETS = 1 << 16 };

// Distinct buckets with the share of each in the whole; empty for a text without letters or digits.
struct bag {
    int n;
    int32_t * ids;   // owned
    float * weights; // owned, they sum to 1
};

// n_buckets: at most PROMPT_MAX_BUCKETS. false: a text that is too long or not UTF-8, or no memory; said on
// stderr.
bool bag_from_text(struct bag * bag, const char * text, int n_buckets);
void bag_free(struct bag * bag);

#endif
