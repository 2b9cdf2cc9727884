// SPDX-License-Identifier: MIT
// Search for code words, see the head of codebook.h.
#include "quant/codebook.h"

#include <float.h>

#include "base/thread.h"

enum {
    THREES_ROW =
        12, // 3 * 3 patterns of two lanes, and a gap: a multiple of the vectors that compilers make of loops
    EIGHTS_ROW = 8
};

static int level_of(const struct tn_codebook * book, int word, int lane) {
    const uint64_t lanes = book->words8 ? book->words8[word] : book->words4[word];
    const int n_levels = book->words8 ? 3 : 8;
    int level = 0;
    while (level < n_levels - 1 && (uint8_t) (int) book->levels[level] != (uint8_t) (lanes >> (8 * lane))) {
        level++;
    }
    return level;
}

static int pattern_of(const struct tn_codebook * book, int word, int half) {
    if (book->words4) {
        return level_of(book, word, 2 * half) * EIGHTS_ROW + level_of(book, word, 2 * half + 1);
    }
    int pair[2];
    for (int i = 0; i < 2; i++) {
        const int lane = 4 * half + 2 * i;
        pair[i] = 3 * level_of(book, word, lane) + level_of(book, word, lane + 1);
    }
    return pair[0] * THREES_ROW + pair[1];
}

static void build(struct tn_codebook * book) {
    uint16_t next[TN_CODEBOOK_PATTERNS + 1] = { 0 };
    for (int i = 0; i < book->n_words; i++) {
        book->halves[i][0] = (uint8_t) pattern_of(book, i, 0);
        book->halves[i][1] = (uint8_t) pattern_of(book, i, 1);
        next[book->halves[i][0] + 1]++;
    }
    for (int f = 0; f < TN_CODEBOOK_PATTERNS; f++) {
        next[f + 1] = (uint16_t) (next[f + 1] + next[f]);
        book->start[f + 1] = next[f + 1];
    }
    for (int i = 0; i < book->n_words; i++) {
        const int at = next[book->halves[i][0]]++;
        book->word[at] = (uint16_t) i;
        book->second[at] = book->halves[i][1];
    }
}

static struct tn_mutex lock = TN_MUTEX_INIT;

bool tn_codebook_prepare(struct tn_codebook * book) {
    tn_mutex_lock(&lock);
    if (!book->is_built) build(book);
    book->is_built = true;
    tn_mutex_unlock(&lock);
    return true;
}

static float less(float a, float b) {
    return a < b ? a : b;
}

static float least_of(const float * a, int n) {
    float least = a[0];
    for (int i = 1; i < n; i++) {
        least = less(a[i], least);
    }
    return least;
}

static int n_rows(const struct tn_codebook * book) {
    return book->words8 ? 9 : 8;
}

static int row_len(const struct tn_codebook * book) {
    return book->words8 ? THREES_ROW : EIGHTS_ROW;
}

static void price_pair_of_threes(float cost[2][8], float flip[2][8], float * plain, float * flipped) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            plain[3 * i + j] = cost[0][i] + cost[1][j];
            flipped[3 * i + j] = less(flip[0][i], flip[1][j]);
        }
    }
}

static void price_half_of_threes(float cost[4][8], float flip[4][8], struct tn_codebook_half * half) {
    price_pair_of_threes(&cost[0], &flip[0], half->rows, half->row_flips);
    price_pair_of_threes(&cost[2], &flip[2], half->cols, half->col_flips);
    for (int i = 9; i < THREES_ROW; i++) {
        half->cols[i] = FLT_MAX;
        half->col_flips[i] = FLT_MAX;
    }
}

static void price_half_of_eights(float cost[2][8], float flip[2][8], struct tn_codebook_half * half) {
    for (int i = 0; i < 8; i++) {
        half->rows[i] = cost[0][i];
        half->cols[i] = cost[1][i];
        half->row_flips[i] = flip[0][i];
        half->col_flips[i] = flip[1][i];
    }
}

static void fill_plain(const struct tn_codebook * book, struct tn_codebook_prices * prices) {
    const struct tn_codebook_half * half = &prices->halves[1];
    const int len = row_len(book);
    for (int i = 0; i < n_rows(book); i++) {
        for (int j = 0; j < len; j++) {
            prices->plain[i * len + j] = half->rows[i] + half->cols[j];
        }
    }
}

static void fill_flipped(const struct tn_codebook * book, struct tn_codebook_prices * prices) {
    const struct tn_codebook_half * half = &prices->halves[1];
    const int len = row_len(book);
    for (int i = 0; i < n_rows(book); i++) {
        for (int j = 0; j < len; j++) {
            const float flip = less(half->row_flips[i], half->col_flips[j]);
            prices->flipped[i * len + j] = prices->plain[i * len + j] + flip;
        }
    }
}

void tn_codebook_price(const struct tn_codebook * book, const struct tn_codebook_target * target, float scale,
                       float shift, bool with_flipped, struct tn_codebook_prices * prices) {
    float cost[8][8], flip[8][8], value[8];
    const int n_levels = book->words8 ? 3 : 8;
    for (int l = 0; l < n_levels; l++) {
        value[l] = scale * (book->levels[l] + shift);
    }
    for (int i = 0; i < book->lanes; i++) {
        for (int l = 0; l < n_levels; l++) {
            cost[i][l] = value[l] * (value[l] * target->w[i] - 2.0f * target->wx[i]);
            flip[i][l] = 4.0f * value[l] * target->wx[i];
        }
    }
    for (int h = 0; h < 2; h++) {
        const int at = h * book->lanes / 2;
        (book->words8 ? price_half_of_threes : price_half_of_eights)(&cost[at], &flip[at],
                                                                     &prices->halves[h]);
    }
    fill_plain(book, prices);
    if (with_flipped) fill_flipped(book, prices);
}

// All words with first half `pattern`, which costs `first`.
static void visit(const struct tn_codebook * book, int pattern, float first, const float * second,
                  struct tn_codebook_best * best) {
    for (int k = book->start[pattern]; k < book->start[pattern + 1]; k++) {
        const float cost = first + second[book->second[k]];
        if (cost < best->cost) *best = (struct tn_codebook_best){ book->word[k], cost };
    }
}

// Improves on `best`. second: prices of second halves, none of them below `least`.
static void search(const struct tn_codebook * book, const struct tn_codebook_half * half, bool flipped,
                   const float * second, float least, struct tn_codebook_best * best) {
    const int n = n_rows(book);
    const float least_col = least_of(half->cols, n);
    const float least_col_flip = flipped ? least_of(half->col_flips, n) : 0.0f;
    for (int i = 0; i < n; i++) {
        const float flip = flipped ? less(half->row_flips[i], least_col_flip) : 0.0f;
        if (!(half->rows[i] + least_col + flip + least < best->cost)) continue;
        for (int j = 0; j < n; j++) {
            float first = half->rows[i] + half->cols[j];
            if (flipped) first += less(half->row_flips[i], half->col_flips[j]);
            if (first + least < best->cost) visit(book, i * row_len(book) + j, first, second, best);
        }
    }
}

static float price_of(const struct tn_codebook * book, const struct tn_codebook_half * half, int pattern) {
    return half->rows[pattern / row_len(book)] + half->cols[pattern % row_len(book)];
}

static float least_flip(const struct tn_codebook * book, const struct tn_codebook_half * half) {
    return less(least_of(half->row_flips, n_rows(book)), least_of(half->col_flips, n_rows(book)));
}

struct tn_codebook_best tn_codebook_nearest(const struct tn_codebook * book,
                                            const struct tn_codebook_prices * prices, bool flipped,
                                            int guess) {
    const struct tn_codebook_half * first = &prices->halves[0];
    const struct tn_codebook_half * second = &prices->halves[1];
    const float least = least_of(second->rows, n_rows(book)) + least_of(second->cols, n_rows(book));
    const uint8_t * at = book->halves[guess];
    struct tn_codebook_best best = { guess, price_of(book, first, at[0]) };
    if (!flipped) {
        best.cost += prices->plain[at[1]];
        search(book, first, false, prices->plain, least, &best);
    } else {
        best.cost += prices->flipped[at[1]];
        search(book, first, false, prices->flipped, least + least_flip(book, second), &best);
        search(book, first, true, prices->plain, least, &best);
    }
    return best;
}
