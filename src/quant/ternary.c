// SPDX-License-Identifier: MIT
// Words and shifts by exact search; the scales are block_scale.h's.
#include "quant/ternary.h"

#include "quant/block_input.h"
#include "quant/codebook.h"
#include "quant/codebook_tables.h"

static struct tn_codebook book = {
    .n_words = 2048,
    .lanes = 8,
    .levels = { -1.0f, 0.0f, 1.0f },
    .words8 = tn_codebook_iq1s,
};

bool tn_ternary_prepare(void) {
    return tn_codebook_prepare(&book);
}

struct search {
    const struct tn_ternary_type * type;
    struct tn_ternary * out;
    struct tn_block_input in;
    float wx[TN_TERNARY_LEN];
};

static float shift_of(bool down) {
    return down ? -0.125f : 0.125f;
}

// Words for the groups that share a shift, at that shift. Returns what they cost.
static float choose_words(const struct search * s, int group, float scale, bool down, uint16_t * words) {
    float cost = 0.0f;
    for (int i = 0; i < s->type->groups_a_shift; i++) {
        const struct tn_codebook_target target = { s->wx + 8 * (group + i), s->in.w + 8 * (group + i) };
        struct tn_codebook_prices prices;
        tn_codebook_price(&book, &target, scale, shift_of(down), false, &prices);
        const struct tn_codebook_best best =
            tn_codebook_nearest(&book, &prices, false, s->out->words[group + i]);
        words[i] = (uint16_t) best.word;
        cost += best.cost;
    }
    return cost;
}

static void choose_shift(const struct search * s, int group, float scale) {
    uint16_t up[4], down[4];
    const float cost_up = choose_words(s, group, scale, false, up);
    const float cost_down = choose_words(s, group, scale, true, down);
    const bool is_down = cost_down < cost_up;
    for (int i = 0; i < s->type->groups_a_shift; i++) {
        s->out->words[group + i] = is_down ? down[i] : up[i];
        s->out->down[group + i] = is_down;
    }
}

static void add_fit(const struct search * s, int group, struct tn_block_scale_fit * sum) {
    const uint64_t lanes = tn_codebook_iq1s[s->out->words[group]];
    const float shift = shift_of(s->out->down[group]);
    for (int i = 0; i < 8; i++) {
        const float v = tn_codebook_signed_lane(lanes, i) + shift;
        sum->p += s->wx[8 * group + i] * v;
        sum->q += s->in.w[8 * group + i] * v * v;
    }
}

static struct tn_block_scale_fit fit(void * self, int sub, float scale) {
    const struct search * s = self;
    const int n_groups = s->type->sub_len / 8;
    struct tn_block_scale_fit sum = { 0.0f, 0.0f };
    for (int i = 0; i < n_groups; i++) {
        if (i % s->type->groups_a_shift == 0) choose_shift(s, sub * n_groups + i, scale);
        add_fit(s, sub * n_groups + i, &sum);
    }
    return sum;
}

void tn_ternary_encode(const struct tn_ternary_type * type, const float * x, const float * weights,
                       struct tn_ternary * out) {
    *out = (struct tn_ternary){ .d = 0 };
    struct search s = { .type = type, .out = out };
    tn_block_input_set(&s.in, x, weights, TN_TERNARY_LEN, type->sub_len);
    if (s.in.is_zero) return;
    for (int i = 0; i < TN_TERNARY_LEN; i++) {
        s.wx[i] = s.in.w[i] * s.in.x[i];
    }
    struct tn_block_scale job = {
        .in = &s.in,
        .n_subs = TN_TERNARY_LEN / type->sub_len,
        .n_codes = 8,
        .first = 1.0f,
        .step = 2.0f,
        .largest = 1.125f,
        .reach = 1.4f,
        .rung = 1.11f,
        .fit = fit,
        .self = &s,
    };
    out->d = tn_block_scale_choose(&job, out->scales);
}
