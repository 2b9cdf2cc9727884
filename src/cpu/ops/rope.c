// SPDX-License-Identifier: MIT
// rope, rope_back: rotary position embedding. Pair m of a row turns by position * frequency[m].
//
// Frequencies do not depend on the position, also with interpolation: both ends of the mix are proportional
// to it. So they are computed once a node, in double, together with the one of the four positions that each
// pair follows. The angle is formed in double as well: at position 100,000 an f32 would be off by 0.004.
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/rope/rope.h"
#include "cpu/op.h"
#include "cpu/operand.h"

enum { COST = 50 }; // of the cosine and sine of a pair

struct pair {
    double frequency;
    int64_t section; // which of the positions t, h, w, e
};

struct rope {
    struct tn_operand y, x, position;
    const struct pair * pairs;
    int64_t n_pairs;
    int64_t first; // first rotated channel
    double magnitude;
    double direction; // -1 turns back
    void (*turn)(int64_t n, float * y, const float * x, const float * turn);
};

struct params {
    int32_t n_dims, mode, n_ctx, first;
    double base, scale, ext, attn, fast, slow;
    int64_t sections[4];
};

static struct params params_of(const struct ggml_tensor * node) {
    struct params p = {
        .n_dims = tn_param_i32(node, 1),
        .mode = tn_param_i32(node, 2),
        .n_ctx = tn_param_i32(node, 4),
        .first = tn_param_i32(node, 15),
        .base = (double) tn_param_f32(node, 5),
        .scale = (double) tn_param_f32(node, 6),
        .ext = (double) tn_param_f32(node, 7),
        .attn = (double) tn_param_f32(node, 8),
        .fast = (double) tn_param_f32(node, 9),
        .slow = (double) tn_param_f32(node, 10),
    };
    for (int i = 0; i < 4; i++)
        p.sections[i] = tn_param_i32(node, 11 + i);
    return p;
}

static int64_t n_pairs_of(const struct params * p) {
    return p->mode == GGML_ROPE_TYPE_VISION ? p->n_dims : p->n_dims / 2;
}

// Which section holds pair q, and where that section starts.
static int64_t section_of(const struct params * p, int64_t q, int64_t * start) {
    *start = 0;
    if (p->mode == GGML_ROPE_TYPE_IMROPE) {
        const int64_t s = q % 3;
        return q < 3 * p->sections[s] ? s : 3;
    }
    for (int64_t s = 0; s < 3; s++) {
        if (q < *start + p->sections[s]) return s;
        *start += p->sections[s];
    }
    return 3;
}

// The pair at which a full turn over n_ctx positions is made `turns` times.
static double pair_of_turns(const struct params * p, double turns) {
    return p->n_dims * log(p->n_ctx / (turns * 2.0 * M_PI)) / (2.0 * log(p->base));
}

// 1: the pair keeps its frequency, 0: it is interpolated.
static double mix_of(const struct params * p, int64_t m) {
    if (p->ext == 0.0) return 0.0;
    const double low = fmax(0.0, floor(pair_of_turns(p, p->fast)));
    const double high = fmin(p->n_dims - 1, ceil(pair_of_turns(p, p->slow)));
    const double ramp = ((double) m - low) / fmax(0.001, high - low);
    return p->ext * (1.0 - fmin(1.0, fmax(0.0, ramp)));
}

static void fill_pairs(struct pair * pairs, const struct params * p, const struct ggml_tensor * factors) {
    const int64_t cycle = p->sections[0] + p->sections[1] + p->sections[2] + p->sections[3];
    for (int64_t m = 0; m < n_pairs_of(p); m++) {
        int64_t start = 0;
        pairs[m].section = p->mode & GGML_ROPE_TYPE_MROPE ? section_of(p, m % cycle, &start) : 0;
        const int64_t exponent = p->mode == GGML_ROPE_TYPE_VISION ? m % cycle - start : m;
        double f = pow(p->base, -2.0 * (double) exponent / p->n_dims);
        if (factors)
            f /= (double) *(const float *) ((const char *) factors->data + (size_t) m * factors->nb[0]);
        const double mix = mix_of(p, m);
        pairs[m].frequency = p->scale * f * (1.0 - mix) + f * mix;
    }
}

static void fill_turns(const struct rope * s, int64_t i2, float * turn) {
    for (int64_t m = 0; m < s->n_pairs; m++) {
        const int64_t at = i2 + s->pairs[m].section * s->x.ne[2];
        const int32_t position = *(const int32_t *) (s->position.data + (size_t) at * s->position.nb[0]);
        const double angle = position * s->pairs[m].frequency;
        turn[2 * m] = (float) (s->magnitude * cos(angle));
        turn[2 * m + 1] = (float) (s->direction * s->magnitude * sin(angle));
    }
}

// Row tile by tile into dense f32, turned there, and back.
static void turn_row(const struct rope * s, char * to, const char * from, const float * turn, float * row) {
    const int64_t ne0 = s->x.ne[0];
    for (int64_t i = 0; i < ne0; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, ne0 - i);
        const float * x = tn_operand_load(&s->x, from, i, n, row + i);
        if (x != row + i) memcpy(row + i, x, (size_t) n * sizeof(float));
    }
    s->turn(s->n_pairs, row + s->first, row + s->first, turn);
    for (int64_t i = 0; i < ne0; i += TN_TILE) {
        tn_operand_store(&s->y, to, i, tn_min_i64(TN_TILE, ne0 - i), row + i);
    }
}

// An item is one position of one sequence: its turns serve all heads.
static void run_part(const void * arg, const struct tn_cpu_part * part) {
    const struct rope * s = arg;
    float * turn = (float *) part->scratch;
    float * row = turn + 2 * s->n_pairs;
    for (int64_t i = part->begin; i < part->end; i++) {
        const int64_t i2 = i % s->x.ne[2], i3 = i / s->x.ne[2];
        fill_turns(s, i2, turn);
        for (int64_t i1 = 0; i1 < s->x.ne[1]; i1++) {
            turn_row(s, tn_operand_row(&s->y, i1, i2, i3), tn_operand_row(&s->x, i1, i2, i3), turn, row);
        }
    }
}

static struct tn_cpu_scratch rope_scratch(const struct ggml_tensor * node) {
    const struct params p = params_of(node);
    const size_t n = (size_t) n_pairs_of(&p);
    return (struct tn_cpu_scratch){
        .shared = n * sizeof(struct pair),
        .per_thread = (2 * n + (size_t) node->ne[0]) * sizeof(float),
    };
}

static enum ggml_status run_rope(struct tn_cpu_run * run, struct ggml_tensor * node, double direction) {
    const struct params p = params_of(node);
    fill_pairs((struct pair *) run->shared, &p, node->src[2]);
    const struct rope s = {
        .y = tn_operand_of(node),
        .x = tn_operand_of(node->src[0]),
        .position = tn_operand_of(node->src[1]),
        .pairs = (const struct pair *) run->shared,
        .n_pairs = n_pairs_of(&p),
        .first = p.first,
        .magnitude = p.ext != 0.0 ? p.attn * (1.0 + 0.1 * log(1.0 / p.scale)) : p.attn,
        .direction = direction,
        .turn = p.mode == GGML_ROPE_TYPE_NORMAL ? tn_rope_adjacent : tn_rope_halves,
    };
    const int64_t cost = COST * s.n_pairs + 2 * s.x.ne[0] * s.x.ne[1];
    tn_cpu_run_parts(run, s.x.ne[2] * s.x.ne[3], cost, (struct tn_cpu_work){ run_part, &s });
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status rope_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_rope(run, node, 1.0);
}

static enum ggml_status rope_back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_rope(run, node, -1.0);
}

static bool fits_row(const struct params * p, const struct ggml_tensor * node) {
    const int64_t ne0 = node->ne[0];
    if (p->n_dims < 2 || p->n_dims % 2 != 0 || p->first < 0 || p->first % 2 != 0) {
        return tn_refuse("%d channels from %d on: both must be even", p->n_dims, p->first);
    }
    if (p->mode == GGML_ROPE_TYPE_VISION) {
        return ne0 == 2 * (int64_t) p->n_dims && p->first == 0
                   ? true
                   : tn_refuse("this mode turns the whole row: n_dims must be half of it, the offset 0");
    }
    if ((int64_t) p->first + p->n_dims <= ne0) return true;
    return tn_refuse("channels %d to %d of rows with %d", p->first, p->first + p->n_dims, (int) ne0);
}

static bool has_sections(const struct params * p) {
    int64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        if (p->sections[i] < 0) return tn_refuse("a section of %d pairs", (int) p->sections[i]);
        sum += p->sections[i];
    }
    return sum > 0 ? true : tn_refuse("all four sections are empty");
}

static bool has_mode(const struct params * p) {
    switch (p->mode) {
    case GGML_ROPE_TYPE_NORMAL:
    case GGML_ROPE_TYPE_NEOX: return true;
    case GGML_ROPE_TYPE_MROPE:
    case GGML_ROPE_TYPE_VISION:
    case GGML_ROPE_TYPE_IMROPE: return has_sections(p);
    }
    return tn_refuse("there is no mode %d", p->mode);
}

static bool rope_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * x = node->src[0];
    const struct ggml_tensor * factors = node->src[2];
    const struct params p = params_of(node);
    if (!has_mode(&p) || !fits_row(&p, node)) return false;
    if (!tn_operand_is_float(x->type) || !tn_operand_is_float(node->type)) {
        return tn_refuse("type %s: only f32, f16 and bf16 are turned", ggml_type_name(x->type));
    }
    if (node->src[1]->type != GGML_TYPE_I32) return tn_refuse("positions must be i32");
    if (factors && (factors->type != GGML_TYPE_F32 || factors->ne[0] < n_pairs_of(&p))) {
        return tn_refuse("factors must be f32, one for each of %d pairs", (int) n_pairs_of(&p));
    }
    return true;
}

const struct tn_cpu_op tn_cpu_op_rope = { .supports = rope_supports,
                                          .scratch = rope_scratch,
                                          .run = rope_run };
const struct tn_cpu_op tn_cpu_op_rope_back = { .supports = rope_supports,
                                               .scratch = rope_scratch,
                                               .run = rope_back_run };
