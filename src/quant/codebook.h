// SPDX-License-Identifier: MIT
// The nearest code word, found exactly.
//
// A word consists of two halves, and its error is the sum of theirs. A half has few patterns (3^4 or 8^2), so
// all of them are priced first; then the words are visited by their first half, and all words of a first half
// are skipped where even the cheapest second half would not beat the best word so far. Starting from a good
// guess, such as the word for a slightly different scale, a handful of words is left.
//
// Signs. Words of magnitudes stand for |x|. Where only an even number of negative signs can be stored and a
// group has an odd one, one lane must take the wrong sign, which costs 4 * scale * value * w * |x| there.
// Halves are priced with and without such a lane; one of the two has it.
#ifndef TN_QUANT_CODEBOOK_H
#define TN_QUANT_CODEBOOK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TN_CODEBOOK_WORDS = 2048,  // at most
    TN_CODEBOOK_PATTERNS = 108 // of a half at most: 9 * 9 in rows of 12, or 8 * 8
};

struct tn_codebook {
    int n_words;
    int lanes; // 8 with three levels, or 4 with eight
    float levels[8];
    const uint64_t * words8; // the words of either kind, as in codebook_tables.h
    const uint32_t * words4;

    // Filled by tn_codebook_prepare: the words by first half. Those with first half f begin at start[f].
    bool is_built;
    uint16_t start[TN_CODEBOOK_PATTERNS + 1];
    uint16_t word[TN_CODEBOOK_WORDS];
    uint8_t second[TN_CODEBOOK_WORDS];
    uint8_t halves[TN_CODEBOOK_WORDS][2]; // by number of the word
};

// Builds the order that the search follows, once; thread-safe. Always true: the space is there already, so
// encoders that cannot report a failure need none.
bool tn_codebook_prepare(struct tn_codebook * book);

// What the lanes of a word shall approximate: weight times value (or |value|), and weight.
struct tn_codebook_target {
    const float * wx;
    const float * w;
};

// What the patterns of a half cost at one scale, but for the sum of w x x: a row, that is the first one or
// two of its lanes, plus a column, the others. A lane of the wrong sign costs the less of both flips on top.
struct tn_codebook_half {
    float rows[9];
    float cols[12];
    float row_flips[9];
    float col_flips[12];
};

struct tn_codebook_prices {
    struct tn_codebook_half halves[2];
    float plain[TN_CODEBOOK_PATTERNS]; // of the second half, written out
    float flipped[TN_CODEBOOK_PATTERNS];
};

// Prices value = scale * (level + shift). Flipped ones only if wanted.
void tn_codebook_price(const struct tn_codebook * book, const struct tn_codebook_target * target, float scale,
                       float shift, bool with_flipped, struct tn_codebook_prices * prices);

struct tn_codebook_best {
    int word;
    float cost;
};

// The cheapest word, with one lane of the wrong sign if `flipped`. guess: a word that may be near.
struct tn_codebook_best tn_codebook_nearest(const struct tn_codebook * book,
                                            const struct tn_codebook_prices * prices, bool flipped,
                                            int guess);

#endif
