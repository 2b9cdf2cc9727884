// SPDX-License-Identifier: MIT
// Operators that carry a state over tokens: ssm_conv ssm_scan rwkv_wkv6 rwkv_wkv7 gated_linear_attn
// gated_delta_net; solve_tri; the hyper-connections.
#include "contract/make/makers.h"

static struct ggml_tensor * source(struct draw * d, int i, int64_t ne0, int64_t ne1, int64_t ne2,
                                   int64_t ne3) {
    return draw_ranged(d, i, (const int64_t[]){ ne0, ne1, ne2, ne3 }, -1.0f, 1.0f);
}

struct ggml_tensor * make_ssm_conv(struct draw * d) {
    const int64_t k = 1 + draw_below(d, 6), channels = draw_size(d, 20), tokens = draw_size(d, 12);
    struct ggml_tensor * x = source(d, 0, k - 1 + tokens, channels, draw_size(d, 3), 1);
    return ggml_ssm_conv(d->ctx, x, source(d, 1, k, channels, 1, 1));
}

// Only some of more tokens: dimensions 0 and 1 stay dense.
static struct ggml_tensor * some_tokens(struct draw * d, int i, int64_t ne0, int64_t ne1, int64_t tokens,
                                        int64_t sequences) {
    struct ggml_tensor * x = source(d, i, ne0, ne1, tokens + draw_below(d, 2), sequences);
    return ggml_view_4d(d->ctx, x, ne0, ne1, tokens, sequences, x->nb[1], x->nb[2], x->nb[3], 0);
}

struct ggml_tensor * make_ssm_scan(struct draw * d) {
    const int64_t n = draw_size(d, 17), rows = draw_size(d, 4), groups = draw_size(d, 2);
    const int64_t heads = groups * (1 + draw_below(d, 3)), tokens = draw_size(d, 6),
                  sequences = draw_size(d, 3);
    const int64_t slots = draw_chance(d, 2) ? 1 : 1 + draw_below(d, 4), states = sequences + draw_below(d, 3);
    struct ggml_tensor * s = source(d, 0, n, rows, heads, states);
    struct ggml_tensor * x = some_tokens(d, 1, rows, heads, tokens, sequences);
    struct ggml_tensor * dt =
        draw_ranged(d, 2, (const int64_t[]){ heads, tokens, sequences, 1 }, -3.0f, 23.0f);
    const int64_t ne_a[] = { slots == 1 && draw_chance(d, 2) ? n : 1, heads, 1, 1 };
    struct ggml_tensor * a = draw_ranged(d, 3, ne_a, -1.0f, 0.0f);
    struct ggml_tensor * b = some_tokens(d, 4, n, groups, tokens, sequences);
    struct ggml_tensor * c = some_tokens(d, 5, n, groups, tokens, sequences);
    struct ggml_tensor * ids = draw_indices(d, 6, (const int64_t[]){ sequences, 1, 1, 1 }, states);
    return ggml_ssm_scan(d->ctx, s, x, dt, a, b, c, ids, slots);
}

struct sizes {
    int64_t n, heads, tokens, sequences;
};

static struct sizes draw_sizes(struct draw * d) {
    struct sizes s = { .n = draw_size(d, 18), .heads = draw_size(d, 3), .sequences = 1 + draw_below(d, 3) };
    s.tokens = s.sequences * draw_size(d, 4);
    return s;
}

static struct ggml_tensor * tokens_of(struct draw * d, int i, const struct sizes * s, float lo, float hi) {
    return draw_ranged(d, i, (const int64_t[]){ s->n, s->heads, s->tokens, 1 }, lo, hi);
}

struct ggml_tensor * make_wkv6(struct draw * d) {
    const struct sizes s = draw_sizes(d);
    struct ggml_tensor *k = tokens_of(d, 0, &s, -1.0f, 1.0f), *v = tokens_of(d, 1, &s, -1.0f, 1.0f);
    struct ggml_tensor *r = tokens_of(d, 2, &s, -1.0f, 1.0f), *tf = source(d, 3, s.n, s.heads, 1, 1);
    struct ggml_tensor * td = tokens_of(d, 4, &s, 0.3f, 1.0f);
    return ggml_rwkv_wkv6(d->ctx, k, v, r, tf, td, source(d, 5, s.n * s.n * s.heads, s.sequences, 1, 1));
}

struct ggml_tensor * make_wkv7(struct draw * d) {
    const struct sizes s = draw_sizes(d);
    const float small = 1.0f / (float) (s.n ? s.n : 1); // keeps the state from growing
    struct ggml_tensor *r = tokens_of(d, 0, &s, -1.0f, 1.0f), *w = tokens_of(d, 1, &s, 0.3f, 1.0f);
    struct ggml_tensor *k = tokens_of(d, 2, &s, -1.0f, 1.0f), *v = tokens_of(d, 3, &s, -1.0f, 1.0f);
    struct ggml_tensor *a = tokens_of(d, 4, &s, -small, small), *b = tokens_of(d, 5, &s, -1.0f, 1.0f);
    return ggml_rwkv_wkv7(d->ctx, r, w, k, v, a, b, source(d, 6, s.n * s.n * s.heads, s.sequences, 1, 1));
}

struct ggml_tensor * make_gated_linear_attn(struct draw * d) {
    const struct sizes s = draw_sizes(d);
    struct ggml_tensor *k = tokens_of(d, 0, &s, -1.0f, 1.0f), *v = tokens_of(d, 1, &s, -1.0f, 1.0f);
    struct ggml_tensor *q = tokens_of(d, 2, &s, -1.0f, 1.0f), *g = tokens_of(d, 3, &s, 0.3f, 1.0f);
    struct ggml_tensor * state = source(d, 4, s.n * s.n * s.heads, s.sequences, 1, 1);
    return ggml_gated_linear_attn(d->ctx, k, v, q, g, state, draw_float(d, 0.2f, 1.0f));
}

struct ggml_tensor * make_gated_delta_net(struct draw * d) {
    const int64_t n = draw_size(d, 18), heads = draw_size(d, 4), tokens = draw_size(d, 5),
                  b = draw_size(d, 4);
    const int64_t slots = 1 + draw_below(d, tokens + 2 > 3 ? 3 : 1);
    struct ggml_tensor * q = source(d, 0, n, draw_divisor(d, heads), tokens, draw_divisor(d, b));
    const int64_t ne_k[] = { n, draw_divisor(d, heads), tokens, draw_divisor(d, b) };
    struct ggml_tensor * k = draw_ranged(d, 1, ne_k, -0.2f, 0.2f);
    struct ggml_tensor * v = source(d, 2, n, heads, tokens, b);
    const int64_t ne_g[] = { draw_chance(d, 2) ? n : 1, heads, tokens, b };
    struct ggml_tensor * g = draw_ranged(d, 3, ne_g, -2.0f, 0.0f);
    struct ggml_tensor * beta = draw_ranged(d, 4, (const int64_t[]){ 1, heads, tokens, b }, 0.0f, 1.0f);
    return ggml_gated_delta_net(d->ctx, q, k, v, g, beta, source(d, 5, n, n, heads, b), slots);
}

// Above the diagonal A holds what must not be looked at.
struct ggml_tensor * make_solve_tri(struct draw * d) {
    const int64_t n = draw_size(d, 16), b2 = draw_size(d, 2), b3 = draw_size(d, 2);
    struct ggml_tensor * a = draw_ranged(d, 0, (const int64_t[]){ n, n, b2, b3 }, -0.4f, 0.4f);
    int64_t i[4] = { 0 };
    for (int64_t k = 0; ggml_blck_size(a->type) == 1 && k < ggml_nelements(a); k++, cpu_next(a, i)) {
        if (i[0] == i[1]) cpu_put(a, i, 1.0 + cpu_get(a, i[0], i[1], i[2], i[3]));
        if (i[0] > i[1] && a->type == GGML_TYPE_F32) cpu_put(a, i, NAN);
    }
    return ggml_solve_tri(d->ctx, a, source(d, 1, draw_size(d, 40), n, b2, b3), true, true, false);
}

struct ggml_tensor * make_hc_comb(struct draw * d) {
    struct ggml_tensor * mixes = draw_source(d, 0, (const int64_t[]){ 24, draw_size(d, 9), 1, 1 });
    struct ggml_tensor * scale =
        draw_ranged(d, 1, (const int64_t[]){ 3 + draw_below(d, 2), 1, 1, 1 }, 0.5f, 2.0f);
    struct ggml_tensor * base = source(d, 2, 24, 1, 1, 1);
    return ggml_dsv4_hc_comb(d->ctx, mixes, scale, base, 1e-6f, 1 + (int) draw_below(d, 20));
}

struct ggml_tensor * make_hc_pre(struct draw * d) {
    const int64_t n = draw_row(d, 1, false), hc = draw_size(d, 5), tokens = draw_size(d, 5);
    struct ggml_tensor * x = draw_source(d, 0, (const int64_t[]){ n, hc, tokens, 1 });
    if (draw_chance(d, 2))
        return ggml_dsv4_hc_pre_gated(d->ctx, x, draw_source(d, 1, (const int64_t[]){ n, hc, tokens, 1 }),
                                      0.6f);
    return ggml_dsv4_hc_pre(d->ctx, x, draw_source(d, 1, (const int64_t[]){ hc, tokens, 1, 1 }));
}

struct ggml_tensor * make_hc_post(struct draw * d) {
    const int64_t n = draw_row(d, 2, false), hc = draw_size(d, 5), tokens = draw_size(d, 5);
    struct ggml_tensor * x = draw_source(d, 0, (const int64_t[]){ n, tokens, 1, 1 });
    struct ggml_tensor * r = draw_source(d, 1, (const int64_t[]){ n, hc, tokens, 1 });
    struct ggml_tensor * p = source(d, 2, hc, tokens, 1, 1);
    return ggml_dsv4_hc_post(d->ctx, x, r, p, draw_chance(d, 2) ? NULL : source(d, 3, hc, hc, tokens, 1));
}
