// SPDX-License-Identifier: MIT
// Words for |x| with exact search and exact treatment of signs; the scales are block_scale.h's.
#include "quant/magnitudes.h"

#include <math.h>

#include "base/bits.h"
#include "quant/block_input.h"
#include "quant/codebook_tables.h"

struct search {
    const struct tn_magnitudes_type * type;
    struct tn_magnitudes * out;
    float wx[TN_MAGNITUDES_LEN]; // of |x|
    float w[TN_MAGNITUDES_LEN];
    uint8_t signs[32]; // of x
};

static bool is_odd(unsigned signs) {
    return TN_POPCOUNT64(signs) % 2 != 0;
}

// One word for eight elements.
static void choose_wide(const struct search * s, int group, float scale, bool flip) {
    const struct tn_codebook * book = s->type->book;
    const struct tn_codebook_target target = { s->wx + 8 * group, s->w + 8 * group };
    struct tn_codebook_prices prices;
    tn_codebook_price(book, &target, scale, 0.0f, flip, &prices);
    uint16_t * word = &s->out->words[group];
    *word = (uint16_t) tn_codebook_nearest(book, &prices, flip, *word).word;
}

// Two words for eight elements; one of them has the wrong sign.
static void choose_pair(const struct search * s, int group, float scale, bool flip) {
    const struct tn_codebook * book = s->type->book;
    uint16_t * words = &s->out->words[2 * group];
    struct tn_codebook_best plain[2], flipped[2];
    for (int h = 0; h < 2; h++) {
        const struct tn_codebook_target target = { s->wx + 8 * group + 4 * h, s->w + 8 * group + 4 * h };
        struct tn_codebook_prices prices;
        tn_codebook_price(book, &target, scale, 0.0f, flip, &prices);
        plain[h] = tn_codebook_nearest(book, &prices, false, words[h]);
        if (flip) flipped[h] = tn_codebook_nearest(book, &prices, true, plain[h].word);
    }
    int which = -1;
    if (flip) which = flipped[0].cost + plain[1].cost < plain[0].cost + flipped[1].cost ? 0 : 1;
    for (int h = 0; h < 2; h++) {
        words[h] = (uint16_t) (h == which ? flipped[h].word : plain[h].word);
    }
}

static uint64_t lanes_of(const struct search * s, int group) {
    const struct tn_codebook * book = s->type->book;
    if (book->words8) return book->words8[s->out->words[group]];
    const uint64_t low = book->words4[s->out->words[2 * group]];
    return low | (uint64_t) book->words4[s->out->words[2 * group + 1]] << 32;
}

// Chooses the lane that takes the wrong sign, and adds up what the fit is.
static void settle(const struct search * s, int group, bool flip, struct tn_block_scale_fit * sum) {
    const float * wx = s->wx + 8 * group;
    const float * w = s->w + 8 * group;
    const uint64_t lanes = lanes_of(s, group);
    int cheapest = 0;
    float least = INFINITY;
    for (int i = 0; i < 8; i++) {
        const float v = tn_codebook_lane(lanes, i);
        sum->p += wx[i] * v;
        sum->q += w[i] * v * v;
        if (wx[i] * v < least) {
            least = wx[i] * v;
            cheapest = i;
        }
    }
    s->out->signs[group] = s->signs[group];
    if (!flip) return;
    sum->p -= 2.0f * least;
    s->out->signs[group] ^= (uint8_t) (1u << cheapest);
}

static struct tn_block_scale_fit fit(void * self, int sub, float scale) {
    const struct search * s = self;
    const int n_groups = s->type->sub_len / 8;
    struct tn_block_scale_fit sum = { 0.0f, 0.0f };
    for (int group = sub * n_groups; group < (sub + 1) * n_groups; group++) {
        const bool flip = s->type->even_signs && is_odd(s->signs[group]);
        (s->type->book->words8 ? choose_wide : choose_pair)(s, group, scale, flip);
        settle(s, group, flip, &sum);
    }
    return sum;
}

void tn_magnitudes_encode(const struct tn_magnitudes_type * type, const float * x, const float * weights,
                          struct tn_magnitudes * out) {
    *out = (struct tn_magnitudes){ .d = 0 };
    struct tn_block_input in;
    tn_block_input_set(&in, x, weights, TN_MAGNITUDES_LEN, type->sub_len);
    if (in.is_zero) return;
    struct search s = { .type = type, .out = out };
    for (int i = 0; i < TN_MAGNITUDES_LEN; i++) {
        s.w[i] = in.w[i];
        s.wx[i] = in.w[i] * fabsf(in.x[i]);
        s.signs[i / 8] |= (uint8_t) ((in.x[i] < 0.0f) << (i % 8));
    }
    struct tn_block_scale job = {
        .in = &in,
        .n_subs = TN_MAGNITUDES_LEN / type->sub_len,
        .n_codes = 16,
        .first = type->first,
        .step = type->step,
        .largest = type->book->levels[type->book->words8 ? 2 : 7],
        .reach = 1.8f,
        .rung = 1.11f,
        .fit = fit,
        .self = &s,
    };
    out->d = tn_block_scale_choose(&job, out->scales);
}
