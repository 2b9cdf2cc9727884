// SPDX-License-Identifier: MIT
// quant/codebook.c: the word that is found against a look at all words, in double.
#include "harness.h"

#include <math.h>

#include "quant/codebook.h"
#include "quant/codebook_tables.h"

static struct tn_codebook books[] = {
    { .n_words = 2048, .lanes = 8, .levels = { -1, 0, 1 }, .words8 = tn_codebook_iq1s },
    { .n_words = 256, .lanes = 8, .levels = { 8, 25, 43 }, .words8 = tn_codebook_iq2xxs },
    { .n_words = 512, .lanes = 8, .levels = { 8, 25, 43 }, .words8 = tn_codebook_iq2xs },
    { .n_words = 1024, .lanes = 8, .levels = { 8, 25, 43 }, .words8 = tn_codebook_iq2s },
    { .n_words = 256, .lanes = 4, .levels = { 4, 12, 20, 28, 36, 44, 52, 62 }, .words4 = tn_codebook_iq3xxs },
    { .n_words = 512, .lanes = 4, .levels = { 1, 3, 5, 7, 9, 11, 13, 15 }, .words4 = tn_codebook_iq3s },
};

struct group {
    float wx[8];
    float w[8];
    double scale;
    double shift;
};

// What the word costs: with `flipped`, the lane for which that is cheapest has the wrong sign.
static double cost_of(const struct tn_codebook * book, int word, const struct group * g, bool flipped) {
    double cost = 0, flip = INFINITY;
    for (int i = 0; i < book->lanes; i++) {
        const uint64_t lanes = book->words8 ? book->words8[word] : book->words4[word];
        const double v = g->scale * ((int8_t) (lanes >> (8 * i) & 255) + g->shift);
        cost += v * v * g->w[i] - 2 * v * g->wx[i];
        flip = fmin(flip, 4 * v * g->wx[i]);
    }
    return flipped ? cost + flip : cost;
}

static void fill(struct test_rng * rng, const struct tn_codebook * book, struct group * g) {
    const bool has_sign = book->levels[0] < 0;
    const float top = has_sign ? 1 : book->levels[book->words8 ? 2 : 7];
    g->scale = test_rng_float(rng, 0.01f, 3) / top;
    g->shift = has_sign ? (test_rng_below(rng, 2) ? 0.125 : -0.125) : 0;
    const int kind = (int) test_rng_below(rng, 4);
    for (int i = 0; i < 8; i++) {
        g->w[i] = kind == 0   ? 1
                  : kind == 1 ? ldexpf(1, -(int) test_rng_below(rng, 20))
                              : test_rng_float(rng, 0, 1);
        const float x =
            kind == 2 ? (float) test_rng_below(rng, 3) : test_rng_float(rng, has_sign ? -2 : 0, 2);
        g->wx[i] = x * g->w[i];
    }
}

static void check(const struct tn_codebook * book, const struct group * g, bool flipped, int guess) {
    const struct tn_codebook_target target = { g->wx, g->w };
    struct tn_codebook_prices prices;
    tn_codebook_price(book, &target, (float) g->scale, (float) g->shift, flipped, &prices);
    const struct tn_codebook_best got = tn_codebook_nearest(book, &prices, flipped, guess);
    double least = INFINITY, size = 0;
    for (int k = 0; k < book->n_words; k++) {
        least = fmin(least, cost_of(book, k, g, flipped));
    }
    for (int i = 0; i < book->lanes; i++) {
        size += fabs((double) g->wx[i]) + 4 * g->scale * g->scale;
    }
    assert_in_range(got.word, 0, book->n_words - 1);
    const double tolerance = 1e-5 * (size + fabs(least));
    if (!(cost_of(book, got.word, g, flipped) <= least + tolerance) ||
        !(fabs(got.cost - least) <= tolerance)) {
        fail_msg("word %d costs %g (said: %g), the best %g", got.word, cost_of(book, got.word, g, flipped),
                 (double) got.cost, least);
    }
}

static void finds_the_nearest(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int64_t round = 0; round < test_rounds(20000); round++) {
        struct tn_codebook * book = &books[test_rng_below(&rng, sizeof(books) / sizeof(books[0]))];
        assert_true(tn_codebook_prepare(book));
        struct group g;
        fill(&rng, book, &g);
        const bool flipped = book->levels[0] > 0 && test_rng_below(&rng, 2) == 0;
        check(book, &g, flipped, (int) test_rng_below(&rng, book->n_words));
    }
}

// Each word is found where it fits exactly.
static void finds_every_word(void ** state) {
    (void) state;
    for (size_t k = 0; k < sizeof(books) / sizeof(books[0]); k++) {
        struct tn_codebook * book = &books[k];
        assert_true(tn_codebook_prepare(book));
        for (int word = 0; word < book->n_words; word++) {
            const uint64_t lanes = book->words8 ? book->words8[word] : book->words4[word];
            struct group g = { .scale = 0.25 };
            for (int i = 0; i < book->lanes; i++) {
                g.w[i] = 1;
                g.wx[i] = 0.25f * (float) (int8_t) (lanes >> (8 * i) & 255);
            }
            const struct tn_codebook_target target = { g.wx, g.w };
            struct tn_codebook_prices prices;
            tn_codebook_price(book, &target, 0.25f, 0, false, &prices);
            assert_int_equal(tn_codebook_nearest(book, &prices, false, 0).word, word);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(finds_the_nearest),
                                        cmocka_unit_test(finds_every_word) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
