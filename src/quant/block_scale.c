// SPDX-License-Identifier: MIT
// Choice of scales, see the head of block_scale.h.
#include "quant/block_scale.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/half.h"
#include "quant/code.h"

enum {
    MAX_RUNGS = 96, // of a ladder, both signs together; a multiple of 4
    TRIES = 72,     // block scales that are tried on envelopes
    KEPT = 2,       // of them, that are refined
    ROUNDS = 2      // of refinement
};

// Measured: finer or wider ladders, more tries, more rounds change the error by less than a thousandth.
static const float first_try = 0.75f; // of the block scale that the most demanding sub-block wants
static const float try_ratio = 1.02f;
static const float promising = 1.05f; // times the best error: a code whose envelope is below may be better

struct envelope {
    float p[MAX_RUNGS];
    float q[MAX_RUNGS];
    int n_rungs;  // a multiple of 4
    float rest;   // the error of zeros
    float wanted; // the scale of least error
    float gain;   // what that gains over zeros
};

struct plan {
    const struct tn_block_scale * job;
    struct envelope subs[TN_BLOCK_SCALE_SUBS];
};

struct candidate {
    float scale;
    float cost; // error but for the sum of rests
    uint8_t codes[TN_BLOCK_SCALE_SUBS];
};

static float cost_at(float p, float q, float scale) {
    return scale * (scale * q - 2.0f * p);
}

static void add_rung(struct envelope * e, struct tn_block_scale_fit f) {
    e->p[e->n_rungs] = f.p;
    e->q[e->n_rungs] = f.q;
    e->n_rungs++;
    if (f.q > 0.0f && f.p * f.p > e->gain * f.q) {
        e->gain = f.p * f.p / f.q;
        e->wanted = f.p / f.q;
    }
}

static void climb(const struct tn_block_scale * job, int s, struct envelope * e) {
    const int len = TN_BLOCK_INPUT_LEN / job->n_subs;
    const struct tn_block_input_stats stats = tn_block_input_stats(job->in, s * len, len);
    const bool both = job->first < 0.0f;
    *e = (struct envelope){ .rest = stats.energy };
    const float end = job->reach * stats.largest / job->largest;
    float scale = stats.rms / job->largest;
    while (e->n_rungs < MAX_RUNGS - 6 && scale < end) {
        add_rung(e, job->fit(job->self, s, scale));
        if (both) add_rung(e, job->fit(job->self, s, -scale));
        scale *= job->rung;
    }
    add_rung(e, job->fit(job->self, s, end));
    // The best rung, moved to the scale it wants, and as often as fills the last four.
    do {
        add_rung(e, job->fit(job->self, s, e->wanted));
    } while (e->n_rungs % 4 != 0);
}

static float envelope_at(const struct envelope * e, float scale) {
    float least[4] = { FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX };
    for (int k = 0; k < e->n_rungs; k += 4) {
        for (int i = 0; i < 4; i++) {
            const float cost = cost_at(e->p[k + i], e->q[k + i], scale);
            least[i] = cost < least[i] ? cost : least[i];
        }
    }
    const float a = least[0] < least[1] ? least[0] : least[1];
    const float b = least[2] < least[3] ? least[2] : least[3];
    return a < b ? a : b;
}

static float multiplier(const struct tn_block_scale * job, int code) {
    return job->first + job->step * (float) code;
}

// The lower of the two codes whose scales lie around the wanted one.
static int code_below(const struct tn_block_scale * job, float wanted, float scale) {
    const float code = scale > 0.0f ? (wanted / scale - job->first) / job->step : 0.0f;
    return (int) tn_code_clamp(code, 0.0f, (float) (job->n_codes - 2));
}

static float pick_code(const struct plan * plan, int s, float scale, uint8_t * code) {
    const struct envelope * e = &plan->subs[s];
    const int below = code_below(plan->job, e->wanted, scale);
    const float low = envelope_at(e, scale * multiplier(plan->job, below));
    const float high = envelope_at(e, scale * multiplier(plan->job, below + 1));
    *code = (uint8_t) (high < low ? below + 1 : below);
    return high < low ? high : low;
}

// As it will be stored.
static float round_scale(const struct tn_block_scale * job, float scale) {
    return tn_f16_to_f32(tn_f16_scale(scale * job->in->unit)) / job->in->unit;
}

static struct candidate estimate(const struct plan * plan, float scale) {
    struct candidate c = { .scale = round_scale(plan->job, scale) };
    for (int s = 0; s < plan->job->n_subs; s++) {
        c.cost += pick_code(plan, s, c.scale, &c.codes[s]);
    }
    return c;
}

static void keep(struct candidate kept[KEPT], const struct candidate * c) {
    int at = KEPT;
    while (at > 0 && c->cost < kept[at - 1].cost) {
        at--;
        if (at < KEPT - 1) kept[at + 1] = kept[at];
    }
    if (at < KEPT) kept[at] = *c;
}

// Keeps the lowest of the local minima.
static void try_scales(const struct plan * plan, struct candidate kept[KEPT]) {
    float wanted = 0.0f;
    for (int s = 0; s < plan->job->n_subs; s++) {
        wanted = fmaxf(wanted, fabsf(plan->subs[s].wanted));
    }
    const float last = multiplier(plan->job, plan->job->n_codes - 1);
    float scale = first_try * wanted / fmaxf(fabsf(plan->job->first), last);
    struct candidate previous = { .cost = FLT_MAX };
    bool falling = true;
    for (int i = 0; i < TRIES; i++, scale *= try_ratio) {
        const struct candidate c = estimate(plan, scale);
        if (falling && c.cost >= previous.cost) keep(kept, &previous);
        if (c.cost != previous.cost) falling = c.cost < previous.cost;
        previous = c;
    }
    if (falling) keep(kept, &previous);
}

// Which of the codes next to the present one is best? Adds its cost and its share of the sums.
static void refine_sub(const struct plan * plan, int s, struct candidate * c,
                       struct tn_block_scale_fit * sum) {
    const struct tn_block_scale * job = plan->job;
    static const int order[3] = { 0, -1, 1 };
    const int centre = c->codes[s];
    float least = FLT_MAX;
    struct tn_block_scale_fit best = { 0.0f, 0.0f };
    for (int i = 0; i < 3; i++) {
        const int code = centre + order[i];
        if (code < 0 || code >= job->n_codes) continue;
        const float m = multiplier(job, code), rest = plan->subs[s].rest;
        if (i > 0 && envelope_at(&plan->subs[s], c->scale * m) + rest > promising * (least + rest)) continue;
        const struct tn_block_scale_fit f = job->fit(job->self, s, c->scale * m);
        const float cost = cost_at(f.p, f.q, c->scale * m);
        if (!(cost < least)) continue;
        least = cost;
        c->codes[s] = (uint8_t) code;
        best = (struct tn_block_scale_fit){ m * f.p, m * m * f.q };
    }
    c->cost += least;
    sum->p += best.p;
    sum->q += best.q;
}

static void refine(const struct plan * plan, struct candidate c, struct candidate * best) {
    for (int round = 0; round < ROUNDS; round++) {
        struct tn_block_scale_fit sum = { 0.0f, 0.0f };
        c.cost = 0.0f;
        for (int s = 0; s < plan->job->n_subs; s++) {
            refine_sub(plan, s, &c, &sum);
        }
        if (c.cost < best->cost) *best = c;
        const float next = sum.q > 0.0f ? round_scale(plan->job, sum.p / sum.q) : c.scale;
        if (next == c.scale) return;
        c.scale = next;
    }
}

uint16_t tn_block_scale_choose(const struct tn_block_scale * job, uint8_t codes[TN_BLOCK_SCALE_SUBS]) {
    struct plan plan = { .job = job };
    for (int s = 0; s < job->n_subs; s++) {
        climb(job, s, &plan.subs[s]);
    }
    struct candidate kept[KEPT];
    for (int i = 0; i < KEPT; i++) {
        kept[i] = (struct candidate){ .cost = FLT_MAX };
    }
    try_scales(&plan, kept);
    struct candidate best = { .cost = FLT_MAX };
    for (int i = 0; i < KEPT; i++) {
        if (kept[i].cost < FLT_MAX) refine(&plan, kept[i], &best);
    }
    for (int s = 0; s < job->n_subs; s++) {
        codes[s] = best.codes[s];
        job->fit(job->self, s, best.scale * multiplier(job, best.codes[s]));
    }
    return tn_f16_scale(best.scale * job->in->unit);
}
