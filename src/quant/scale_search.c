// SPDX-License-Identifier: MIT
// Weighted search of scales and minima.
//
// A block offers element = d * s * q - dmin * m, where q is the element's own code, s and m are codes of its
// sub-block, and d and dmin are halves. The search goes two steps:
//
// 1. Each sub-block alone, with a real scale and offset, a line: from several starts, codes are chosen for a
//    line and the line is fitted to the codes by least squares, in turn. Neither can make the error larger.
// 2. All together: for given d and dmin every sub-block tries the codes s and m around its line, its elements
//    coded anew for each, and keeps the best; then d and dmin are fitted to all codes by least squares.
//    Only what can be stored is judged: d and dmin are rounded to halves first.
//
// As m is never negative, dmin has the sign that pulls towards the data: positive for blocks around or below
// zero, negative for blocks above it. Both are tried where sub-blocks disagree.
//
// Everything happens on a copy whose largest magnitude lies in [0.5, 1), and whose largest weight does too,
// so that no input overflows or vanishes. Sums run in a fixed order: the same bytes on every machine.
#include "quant/scale_search.h"

#include <math.h>
#include <stdbool.h>

#include "quant/code.h"

enum {
    STARTS = 13, // lines tried for a sub-block
    FITS = 2,    // least squares fits of each
    ROUNDS = 2,  // fits of d and dmin
    S_REACH = 2, // codes tried on either side
    M_REACH = 1,
};

// element = scale * q + offset
struct line {
    float scale;
    float offset;
};

// Sums over the codes that a line gives a sub-block, each with the weights; error: of that line.
struct moments {
    float error;
    float q;
    float qq;
    float qx;
};

struct sub {
    const float * x;
    const float * w;
    float sum_w;
    float sum_wx;
    struct line free; // the best line
    struct line line; // the best whose offset has the sign that dmin allows
};

struct search {
    const struct tn_scale_shape * shape;
    int exponent; // x is the input times 2^-exponent
    int sign;     // of dmin; 0: either
    struct sub subs[TN_SCALE_SUBS];
    float x[TN_SCALE_LEN];
    float w[TN_SCALE_LEN];
};

// All codes but those of the elements, which follow from them.
struct choice {
    float error;
    uint16_t d_half;
    uint16_t dmin_half;
    float d; // these two in the scale of x
    float dmin;
    int16_t s[TN_SCALE_SUBS];
    int16_t m[TN_SCALE_SUBS];
};

// ---------------------------------------------------------------- sums over a sub-block

TN_INLINE float sum_by_halves(float * t, int n) {
    for (n /= 2; n >= 4; n /= 2) {
        for (int i = 0; i < n; i++) {
            t[i] += t[i + n];
        }
    }
    return (t[0] + t[2]) + (t[1] + t[3]);
}

TN_INLINE float code_of(float x, struct line line, float inverse, const struct tn_scale_shape * shape) {
    return tn_code_nearest(tn_code_clamp((x - line.offset) * inverse, shape->q_min, shape->q_max));
}

TN_INLINE struct moments moments_n(const struct search * s, const struct sub * sub, struct line line, int n) {
    const float inverse = tn_code_inverse(line.scale);
    float error[32], q1[32], qq[32], qx[32];
    for (int i = 0; i < n; i++) {
        const float x = sub->x[i];
        const float w = sub->w[i];
        const float q = code_of(x, line, inverse, s->shape);
        const float rest = x - (line.scale * q + line.offset);
        error[i] = w * rest * rest;
        q1[i] = w * q;
        qq[i] = w * q * q;
        qx[i] = w * q * x;
    }
    return (struct moments){
        .error = sum_by_halves(error, n),
        .q = sum_by_halves(q1, n),
        .qq = sum_by_halves(qq, n),
        .qx = sum_by_halves(qx, n),
    };
}

TN_INLINE float error_n(const struct search * s, const struct sub * sub, struct line line, int n) {
    const float inverse = tn_code_inverse(line.scale);
    float error[32];
    for (int i = 0; i < n; i++) {
        const float q = code_of(sub->x[i], line, inverse, s->shape);
        const float rest = sub->x[i] - (line.scale * q + line.offset);
        error[i] = sub->w[i] * rest * rest;
    }
    return sum_by_halves(error, n);
}

// With lengths that the compiler knows, these become straight vector code.
static struct moments moments_of(const struct search * s, const struct sub * sub, struct line line) {
    return s->shape->sub_len == 16 ? moments_n(s, sub, line, 16) : moments_n(s, sub, line, 32);
}

static float error_of(const struct search * s, const struct sub * sub, struct line line) {
    return s->shape->sub_len == 16 ? error_n(s, sub, line, 16) : error_n(s, sub, line, 32);
}

// ---------------------------------------------------------------- one sub-block alone

static struct line fit_scale(struct moments k) {
    return (struct line){ k.qq > 0.0f ? k.qx / k.qq : 0.0f, 0.0f };
}

// Least squares, with an offset if the type has minima and the sign allows it.
static struct line fit_line(const struct search * s, const struct sub * sub, struct moments k) {
    if (s->shape->m_max == 0) return fit_scale(k);
    struct line line = { 0.0f, sub->sum_wx / sub->sum_w };
    const double det = (double) sub->sum_w * k.qq - (double) k.q * k.q;
    if (det > 1e-6 * sub->sum_w * k.qq) {
        line.scale = (float) (((double) sub->sum_w * k.qx - (double) k.q * sub->sum_wx) / det);
        line.offset = (float) (((double) k.qq * sub->sum_wx - (double) k.q * k.qx) / det);
    }
    return (float) s->sign * line.offset > 0.0f ? fit_scale(k) : line;
}

struct best_line {
    struct line line;
    float error;
};

static void improve(const struct search * s, const struct sub * sub, struct line line,
                    struct best_line * best) {
    for (int i = 0; i < FITS; i++) {
        const struct moments k = moments_of(s, sub, line);
        if (k.error < best->error) *best = (struct best_line){ line, k.error };
        line = fit_line(s, sub, k);
    }
    const float error = error_of(s, sub, line);
    if (error < best->error) *best = (struct best_line){ line, error };
}

// How much wider than the range of codes the range of values is laid out in the i-th start, in codes.
static float extra_codes(int i, float span) {
    const float position = (float) i / ((STARTS - 1) / 2) - 1.0f; // -1 .. 1
    return position * (1.0f + span / 16.0f);
}

// The values that count; in place of one with hardly any weight stands the one that has most.
static void heavy_values(const struct sub * sub, int n, float * values) {
    int heaviest = 0;
    for (int i = 1; i < n; i++) {
        if (sub->w[i] > sub->w[heaviest]) heaviest = i;
    }
    for (int i = 0; i < n; i++) {
        values[i] = sub->x[sub->w[i] > 0x1p-20f * sub->w[heaviest] ? i : heaviest];
    }
}

static struct line search_line(const struct search * s, const struct sub * sub) {
    const struct tn_scale_shape * shape = s->shape;
    const float q_min = shape->q_min, q_max = shape->q_max;
    struct best_line best = { .error = INFINITY };
    float values[32] = { 0.0f };
    heavy_values(sub, shape->sub_len, values);
    if (shape->m_max == 0) {
        const float extreme = tn_code_extreme(values, shape->sub_len);
        for (int i = 0; i < STARTS; i++) {
            const float extra = extra_codes(i, -q_min);
            const float end = i % 2 == 0 ? q_min - extra : q_max + extra;
            improve(s, sub, (struct line){ extreme / end, 0.0f }, &best);
        }
        return best.line;
    }
    struct tn_code_range r = tn_code_range(values, shape->sub_len);
    if ((float) s->sign * r.min > 0.0f) r.min = 0.0f;
    for (int i = 0; i < STARTS; i++) {
        improve(s, sub, (struct line){ (r.max - r.min) / (q_max + extra_codes(i, q_max)), r.min }, &best);
    }
    return best.line;
}

// ---------------------------------------------------------------- all together

static struct line line_of(const struct choice * c, int s, int m) {
    return (struct line){ c->d * (float) s, -c->dmin * (float) m };
}

static int nearest_code(float v, int lo, int hi) {
    return (int) tn_code_nearest(tn_code_clamp(v, (float) lo, (float) hi));
}

static int max_int(int a, int b) {
    return a > b ? a : b;
}

static int min_int(int a, int b) {
    return a < b ? a : b;
}

// The half nearest to v * 2^exponent; *back: what it is in the scale of x.
static uint16_t to_half(const struct search * s, float v, float * back) {
    const uint16_t half = tn_f16_from_f32(tn_code_saturate(ldexpf(v, s->exponent)));
    *back = ldexpf(tn_f16_to_f32(half), -s->exponent);
    return half;
}

// Not zero unless v is: codes that are small or large make up for it.
static uint16_t to_half_not_0(const struct search * s, float v, float * back) {
    const uint16_t half = to_half(s, v, back);
    if ((half & 0x7fff) != 0 || v == 0.0f) return half;
    *back = ldexpf(tn_f16_to_f32(half | 1), -s->exponent);
    return half | 1;
}

struct codes {
    float error;
    int s;
    int m;
};

static void try_codes(const struct search * s, const struct choice * c, int i_sub, struct codes next,
                      struct codes * best) {
    next.error = error_of(s, &s->subs[i_sub], line_of(c, next.s, next.m));
    if (next.error < best->error) *best = next;
}

// The code of the offset that goes best with the elements' codes when the scale is given.
static int middle_min(const struct search * s, const struct choice * c, const struct sub * sub, float scale) {
    const struct moments k = moments_of(s, sub, (struct line){ scale, sub->line.offset });
    const float offset = (sub->sum_wx - scale * k.q) / sub->sum_w;
    return nearest_code(-offset * tn_code_inverse(c->dmin), s->shape->m_min, s->shape->m_max);
}

static struct codes search_codes(const struct search * s, const struct choice * c, int i_sub) {
    const struct tn_scale_shape * shape = s->shape;
    const struct sub * sub = &s->subs[i_sub];
    const int middle = nearest_code(sub->line.scale * tn_code_inverse(c->d), shape->s_min, shape->s_max);
    const int last = min_int(middle + S_REACH, shape->s_max);
    struct codes best = { INFINITY, shape->s_min, shape->m_min };
    for (int i = max_int(middle - S_REACH, shape->s_min); i <= last; i++) {
        const int m = shape->m_max > 0 ? middle_min(s, c, sub, c->d * (float) i) : 0;
        const int last_m = min_int(m + M_REACH, shape->m_max);
        for (int j = max_int(m - M_REACH, shape->m_min); j <= last_m; j++) {
            try_codes(s, c, i_sub, (struct codes){ .s = i, .m = j }, &best);
        }
    }
    return best;
}

// Sums over a block for the fit of d and dmin, where an element is d * (s q) + dmin * (-m).
struct block_moments {
    double qq, qm, mm, qx, mx;
};

static void add_sub(struct block_moments * b, const struct sub * sub, const struct moments * k,
                    struct codes codes) {
    const double s = codes.s, m = -codes.m;
    b->qq += s * s * k->qq;
    b->qm += s * m * k->q;
    b->mm += m * m * sub->sum_w;
    b->qx += s * k->qx;
    b->mx += m * sub->sum_wx;
}

static void fit_block(const struct block_moments * b, float * d, float * dmin) {
    const double det = b->qq * b->mm - b->qm * b->qm;
    if (det > 1e-9 * b->qq * b->mm) {
        *d = (float) ((b->mm * b->qx - b->qm * b->mx) / det);
        *dmin = (float) ((b->qq * b->mx - b->qm * b->qx) / det);
    } else if (b->mm == 0.0 && b->qq > 0.0) {
        *d = (float) (b->qx / b->qq);
    }
}

// Chooses codes for *d and *dmin, then fits these to the codes.
static void choose(const struct search * s, float * d, float * dmin, struct choice * c) {
    struct block_moments b = { 0 };
    c->d_half = to_half_not_0(s, *d, &c->d);
    c->dmin_half = s->shape->m_min == 0 ? to_half_not_0(s, *dmin, &c->dmin) : to_half(s, *dmin, &c->dmin);
    c->error = 0.0f;
    for (int i = 0; i < s->shape->n_subs; i++) {
        const struct codes codes = search_codes(s, c, i);
        const struct moments k = moments_of(s, &s->subs[i], line_of(c, codes.s, codes.m));
        c->s[i] = (int16_t) codes.s;
        c->m[i] = (int16_t) codes.m;
        c->error += codes.error;
        add_sub(&b, &s->subs[i], &k, codes);
    }
    fit_block(&b, d, dmin);
}

static float larger(float a, float b) {
    return fabsf(b) > fabsf(a) ? b : a;
}

// At first the largest scale gets the largest code, the deepest offset the largest minimum.
static void search_block(const struct search * s, struct choice * best) {
    const struct tn_scale_shape * shape = s->shape;
    float scale = 0.0f, offset = 0.0f;
    for (int i = 0; i < shape->n_subs; i++) {
        scale = larger(scale, s->subs[i].line.scale);
        offset = larger(offset, s->subs[i].line.offset);
    }
    float d = scale / larger(shape->s_max, shape->s_min);
    float dmin = shape->m_max > 0 ? -offset / (float) shape->m_max : 0.0f;
    for (int i = 0; i < ROUNDS; i++) {
        struct choice c;
        choose(s, &d, &dmin, &c);
        if (c.error < best->error) *best = c;
    }
}

// With dmin of one sign, the offsets that some sub-blocks would like may be out of reach.
static void search_sign(struct search * s, int sign, struct choice * best) {
    s->sign = sign;
    for (int i = 0; i < s->shape->n_subs; i++) {
        struct sub * sub = &s->subs[i];
        sub->line = (float) sign * sub->free.offset > 0.0f ? search_line(s, sub) : sub->free;
    }
    search_block(s, best);
}

static void search_signs(struct search * s, struct choice * best) {
    bool below = false, above = false;
    for (int i = 0; i < s->shape->n_subs; i++) {
        s->subs[i].free = search_line(s, &s->subs[i]);
        below |= s->subs[i].free.offset < 0.0f;
        above |= s->subs[i].free.offset > 0.0f;
    }
    if (below || !above) search_sign(s, 1, best);
    if (above) search_sign(s, -1, best);
}

// ---------------------------------------------------------------- the whole

// A copy with the largest magnitude in [0.5, 1), and the exponent that was taken out.
static int normalise(const float * from, float * to, int n) {
    int exponent = 0;
    frexpf(tn_code_max_abs(from, n), &exponent);
    // in two steps: one factor may be more than a float can hold
    const float first = ldexpf(1.0f, -exponent / 2);
    const float second = ldexpf(1.0f, -exponent - -exponent / 2);
    for (int i = 0; i < n; i++) {
        to[i] = from[i] * first * second;
    }
    return exponent;
}

// A weight of zero becomes a very small one: such elements still get the nearest code, and sums of weights
// are not zero.
static void prepare_weights(struct search * s, const float * weights, int n) {
    const bool flat = !weights || tn_code_max_abs(weights, n) == 0.0f;
    if (!flat) normalise(weights, s->w, n);
    for (int i = 0; i < n; i++) {
        s->w[i] = flat ? 1.0f : s->w[i] + 0x1p-24f;
    }
}

// Returns the sum of w * x * x: the error of a block of zeros.
static float prepare_subs(struct search * s) {
    const int n = s->shape->sub_len;
    float energy = 0.0f;
    for (int i = 0; i < s->shape->n_subs; i++) {
        struct sub * sub = &s->subs[i];
        sub->x = s->x + i * n;
        sub->w = s->w + i * n;
        float w[32], wx[32], wxx[32];
        for (int j = 0; j < n; j++) {
            w[j] = sub->w[j];
            wx[j] = sub->w[j] * sub->x[j];
            wxx[j] = sub->w[j] * sub->x[j] * sub->x[j];
        }
        sub->sum_w = sum_by_halves(w, n);
        sub->sum_wx = sum_by_halves(wx, n);
        energy += sum_by_halves(wxx, n);
    }
    return energy;
}

static void write_fit(const struct search * s, const struct choice * c, struct tn_scale_fit * fit) {
    const int n = s->shape->sub_len;
    fit->d = c->d_half;
    fit->dmin = c->dmin_half;
    for (int i = 0; i < s->shape->n_subs; i++) {
        const struct line line = line_of(c, c->s[i], c->m[i]);
        const float inverse = tn_code_inverse(line.scale);
        fit->s[i] = c->s[i];
        fit->m[i] = c->m[i];
        for (int j = 0; j < n; j++) {
            fit->q[i * n + j] = (int8_t) code_of(s->subs[i].x[j], line, inverse, s->shape);
        }
    }
}

void tn_scale_search(const struct tn_scale_shape * shape, const float * x, const float * weights,
                     struct tn_scale_fit * fit) {
    const int n = shape->n_subs * shape->sub_len;
    struct search s = { .shape = shape };
    s.exponent = normalise(x, s.x, n);
    prepare_weights(&s, weights, n);
    struct choice best = { .error = prepare_subs(&s) };
    search_signs(&s, &best);
    write_fit(&s, &best, fit);
}
