// SPDX-License-Identifier: MIT
// flash_attn_ext: softmax(scale*q*k + mask)*v for each head, without storing the scores.
//
// An item is 16 queries of one head. Keys are taken 32 at a time: decoded, multiplied with the queries (16
// columns side by side, see kernels/gemm_float), turned into weights against the largest score so far, and
// the values added in. When a larger score appears, what was summed before is scaled down:
//
//     m' = max(m, scores)    l' = l*exp(m - m') + sum exp(score - m')    o' = o*exp(m - m') + sum exp(score -
//     m')*v
//
// Of few queries, as when one token follows a long cache, keys are multiplied with each query as they are, by
// the dot product of their type with f32 (cpu/row_dot.h); only blocks and strided rows are decoded.
//
// All in f32, keys in order; l in double. Scores beyond the range of f32 count as its largest number. Queries
// without a score above -infinity give zeros; a NaN among its scores makes a query's result NaN.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "core/shape.h"
#include "cpu/alibi.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/kernels/softmax/softmax.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/row_dot.h"

enum {
    QUERIES = TN_GEMM_COLS,
    KEYS = 32,
    FEW = 4 // fewer queries than this, by the shape, are not put side by side
};

struct attention {
    struct tn_operand y, q, k, v, mask;
    const float * sinks;
    const struct tn_row_dot * dot; // of a key as it is and a query; NULL: keys are decoded
    float scale, max_bias, softcap;
    int64_t n_blocks; // of queries
};

// One item: up to 16 queries of a head, and what is known after the keys so far.
struct item {
    int64_t n0, n_queries, head, sequence;
    float slope;
    float * panel;  // [D][16] queries, or [3][D] if they are few
    float * rows;   // [32][max(D, Dv)] decoded keys, then values
    float * output; // [16][Dv]
    float bias[QUERIES][KEYS];
    float scores[QUERIES][KEYS];
    float max[QUERIES];
    double sum[QUERIES];
};

static void load_row(const struct tn_operand * x, const char * row, float * to) {
    for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
        const float * v = tn_operand_load(x, row, i, n, to + i);
        if (v != to + i) memcpy(to + i, v, (size_t) n * sizeof(float));
    }
}

static bool is_few(const struct item * t) {
    return t->n_queries < FEW;
}

static void load_queries(const struct attention * s, struct item * t) {
    const int64_t d = s->q.ne[0];
    if (is_few(t)) {
        for (int64_t c = 0; c < t->n_queries; c++)
            load_row(&s->q, tn_operand_row(&s->q, t->n0 + c, t->head, t->sequence), t->panel + c * d);
        return;
    }
    memset(t->panel, 0, (size_t) d * QUERIES * sizeof(float));
    for (int64_t c = 0; c < t->n_queries; c++) {
        load_row(&s->q, tn_operand_row(&s->q, t->n0 + c, t->head, t->sequence), t->rows);
        for (int64_t i = 0; i < d; i++)
            t->panel[i * QUERIES + c] = t->rows[i];
    }
}

static float adjust(const struct attention * s, float product) {
    if (s->softcap == 0.0f) return s->scale * product;
    return s->softcap * tanhf(s->scale / s->softcap * product);
}

// The score of a query and a key whose product or its sums leave the range of f32: the nearest that f32 has.
static float far_score(const struct attention * s, const struct item * t, const float * key, int64_t c) {
    const int64_t d = s->k.ne[0];
    const float * query = t->panel + (is_few(t) ? c * d : c);
    const int64_t step = is_few(t) ? 1 : QUERIES;
    double product = 0.0;
    for (int64_t i = 0; i < d; i++)
        product += (double) key[i] * (double) query[i * step];
    double score = (double) s->scale * product;
    if (s->softcap != 0.0f) score = (double) s->softcap * tanh(score / (double) s->softcap);
    if (!isfinite(score)) return (float) score; // so is an operand
    return (float) fmin(fmax(score, -(double) FLT_MAX), (double) FLT_MAX);
}

// What the mask adds to the scores of keys m0 .. m0 + n_keys - 1. false: no query sees any of them.
static bool load_bias(const struct attention * s, struct item * t, int64_t m0, int64_t n_keys) {
    const struct tn_operand * m = &s->mask;
    if (!m->data) return true;
    bool is_seen = false;
    float buf[KEYS];
    for (int64_t c = 0; c < t->n_queries; c++) {
        const char * row = tn_operand_row(m, t->n0 + c, t->head % m->ne[2], t->sequence % m->ne[3]);
        const float * x = tn_operand_load(m, row, m0, n_keys, buf);
        for (int64_t k = 0; k < n_keys; k++) {
            t->bias[c][k] = t->slope * x[k];
            is_seen |= x[k] != -INFINITY;
        }
    }
    return is_seen;
}

// A masked key is out of the game whatever it holds: unused places of a cache may hold anything.
static void add_bias(const struct attention * s, struct item * t, int64_t n_keys) {
    if (!s->mask.data) return;
    for (int64_t c = 0; c < t->n_queries; c++) {
        for (int64_t k = 0; k < n_keys; k++) {
            const float bias = t->bias[c][k];
            t->scores[c][k] = bias == -INFINITY ? bias : t->scores[c][k] + bias;
        }
    }
}

// scores of keys m0 .. m0 + n_keys - 1
static void score_few(const struct attention * s, struct item * t, int64_t m0, int64_t n_keys) {
    const int64_t d = s->k.ne[0];
    const int64_t head = t->head / (s->q.ne[2] / s->k.ne[2]);
    const struct tn_row_dot * dot = s->dot ? s->dot : tn_row_dot_find(GGML_TYPE_F32, GGML_TYPE_F32);
    for (int64_t k = 0; k < n_keys; k++) {
        const char * key = tn_operand_row(&s->k, m0 + k, head, t->sequence);
        const void * row = s->dot ? (const void *) key : t->rows;
        if (!s->dot) load_row(&s->k, key, t->rows);
        for (int64_t c = 0; c < t->n_queries; c++) {
            if (s->mask.data && t->bias[c][k] == -INFINITY) continue;
            const float product = (float) dot->run(d, row, t->panel + c * d);
            t->scores[c][k] = adjust(s, product);
            if (isfinite(product) && isfinite(t->scores[c][k])) continue;
            load_row(&s->k, key, t->rows);
            t->scores[c][k] = far_score(s, t, t->rows, c);
        }
    }
}

static void score_panel(const struct attention * s, struct item * t, int64_t m0, int64_t n_keys) {
    const int64_t d = s->k.ne[0];
    const int64_t head = t->head / (s->q.ne[2] / s->k.ne[2]);
    for (int64_t k = 0; k < n_keys; k++) {
        load_row(&s->k, tn_operand_row(&s->k, m0 + k, head, t->sequence), t->rows + k * d);
    }
    for (int64_t k = 0; k < n_keys; k += TN_GEMM_ROWS) {
        const float * rows[TN_GEMM_ROWS];
        float out[TN_GEMM_ROWS * TN_GEMM_COLS];
        for (int64_t r = 0; r < TN_GEMM_ROWS; r++)
            rows[r] = t->rows + tn_min_i64(k + r, n_keys - 1) * d;
        const struct tn_gemm_size size = { (int) tn_min_i64(TN_GEMM_ROWS, n_keys - k), (int) t->n_queries };
        tn_gemm_float_tile(d, &size, rows, t->panel, out);
        for (int64_t r = 0; r < TN_GEMM_ROWS && k + r < n_keys; r++) {
            for (int64_t c = 0; c < t->n_queries; c++) {
                const float product = out[r * TN_GEMM_COLS + c], near = adjust(s, product);
                const bool inside = isfinite(product) && isfinite(near);
                t->scores[c][k + r] = inside ? near : far_score(s, t, rows[r], c);
            }
        }
    }
}

// Scores become weights against the largest so far, to which sum and output are brought.
static void weigh(const struct attention * s, struct item * t, int64_t n_keys) {
    for (int64_t c = 0; c < t->n_queries; c++) {
        float max = t->max[c];
        bool has_nan = false;
        for (int64_t k = 0; k < n_keys; k++) {
            max = fmaxf(max, t->scores[c][k]);
            has_nan |= isnan(t->scores[c][k]);
        }
        if (max == -INFINITY && !has_nan) {
            memset(t->scores[c], 0, sizeof(t->scores[c]));
            continue;
        }
        const float shrink = expf(t->max[c] - max);
        t->max[c] = max;
        t->sum[c] = t->sum[c] * (double) shrink + tn_softmax_exp(n_keys, t->scores[c], t->scores[c], max);
        if (shrink != 1.0f) tn_softmax_scale(s->v.ne[0], t->output + c * s->v.ne[0], shrink);
    }
}

static void add_values(const struct attention * s, struct item * t, int64_t m0, int64_t n_keys) {
    const int64_t head = t->head / (s->q.ne[2] / s->v.ne[2]);
    const int64_t d = s->v.ne[0];
    for (int64_t k = 0; k < n_keys; k++) {
        load_row(&s->v, tn_operand_row(&s->v, m0 + k, head, t->sequence), t->rows);
        for (int64_t c = 0; c < t->n_queries; c++) {
            if (t->scores[c][k] != 0.0f) tn_gemm_float_axpy(d, t->output + c * d, t->rows, t->scores[c][k]);
        }
    }
}

static void finish(const struct attention * s, struct item * t) {
    const int64_t d = s->v.ne[0];
    for (int64_t c = 0; c < t->n_queries; c++) {
        float * y = (float *) tn_operand_row(&s->y, t->head, t->n0 + c, t->sequence);
        double sum = t->sum[c];
        double factor = 1.0;
        if (s->sinks && s->sinks[t->head] != -INFINITY) {
            const float max = fmaxf(t->max[c], s->sinks[t->head]);
            factor = exp((double) t->max[c] - (double) max);
            sum = sum * factor + exp((double) s->sinks[t->head] - (double) max);
        }
        const float scale = sum != 0.0 ? (float) (factor / sum) : 0.0f;
        for (int64_t i = 0; i < d; i++)
            y[i] = t->output[c * d + i] * scale;
    }
}

static void run_item(const struct attention * s, struct item * t) {
    memset(t->output, 0, (size_t) (QUERIES * s->v.ne[0]) * sizeof(float));
    for (int c = 0; c < QUERIES; c++) {
        t->max[c] = -INFINITY;
        t->sum[c] = 0.0;
    }
    load_queries(s, t);
    for (int64_t m = 0; m < s->k.ne[1]; m += KEYS) {
        const int64_t n_keys = tn_min_i64(KEYS, s->k.ne[1] - m);
        if (!load_bias(s, t, m, n_keys)) continue;
        if (is_few(t)) {
            score_few(s, t, m, n_keys);
        } else {
            score_panel(s, t, m, n_keys);
        }
        add_bias(s, t, n_keys);
        weigh(s, t, n_keys);
        add_values(s, t, m, n_keys);
    }
    finish(s, t);
}

static void run_part(const void * arg, const struct tn_cpu_part * part) {
    const struct attention * s = arg;
    struct item t;
    t.panel = (float *) part->scratch;
    t.rows = t.panel + QUERIES * s->q.ne[0];
    t.output = t.rows + KEYS * tn_max_i64(s->q.ne[0], s->v.ne[0]);
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t matrix = u / s->n_blocks;
        t.n0 = u % s->n_blocks * QUERIES;
        t.n_queries = tn_min_i64(QUERIES, s->q.ne[1] - t.n0);
        t.head = matrix % s->q.ne[2];
        t.sequence = matrix / s->q.ne[2];
        t.slope = tn_alibi_slope(s->max_bias, s->q.ne[2], t.head);
        run_item(s, &t);
    }
}

static enum ggml_status attention_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct ggml_tensor * mask = node->src[3];
    const struct ggml_tensor * sinks = node->src[4];
    struct attention s = {
        .y = tn_operand_of(node),
        .q = tn_operand_of(node->src[0]),
        .k = tn_operand_of(node->src[1]),
        .v = tn_operand_of(node->src[2]),
        .sinks = sinks ? sinks->data : NULL,
        .scale = tn_param_f32(node, 0),
        .max_bias = tn_param_f32(node, 1),
        .softcap = tn_param_f32(node, 2),
        .n_blocks = tn_ceil_div(node->src[0]->ne[1], QUERIES),
    };
    if (mask) s.mask = tn_operand_of(mask);
    if (tn_operand_is_dense(node->src[1])) s.dot = tn_row_dot_find(s.k.type, GGML_TYPE_F32);
    const int64_t cost = s.k.ne[1] * (2 * (s.q.ne[0] + s.v.ne[0]) + 8 * QUERIES);
    const int64_t n = s.n_blocks * s.q.ne[2] * s.q.ne[3];
    tn_cpu_run_parts(run, n, cost, (struct tn_cpu_work){ run_part, &s });
    return GGML_STATUS_SUCCESS;
}

static struct tn_cpu_scratch attention_scratch(const struct ggml_tensor * node) {
    const int64_t d = node->src[0]->ne[0], dv = node->src[2]->ne[0];
    const int64_t n = QUERIES * (d + dv) + KEYS * tn_max_i64(d, dv);
    return (struct tn_cpu_scratch){ .per_thread = (size_t) n * sizeof(float) };
}

static bool has_shapes(const struct ggml_tensor * node) {
    const struct ggml_tensor * q = node->src[0];
    const struct ggml_tensor * k = node->src[1];
    const struct ggml_tensor * v = node->src[2];
    const struct ggml_tensor * mask = node->src[3];
    if (k->ne[0] != q->ne[0] || v->ne[1] != k->ne[1]) return tn_refuse("q, k and v do not fit each other");
    if (k->ne[3] != q->ne[3] || v->ne[3] != q->ne[3])
        return tn_refuse("q, k and v must have as many sequences");
    if (!tn_shape_divides(k->ne[2], q->ne[2]) || !tn_shape_divides(v->ne[2], q->ne[2]))
        return tn_refuse("heads of k and v must divide those of q");
    if (!mask) return true;
    if (mask->ne[0] != k->ne[1] || mask->ne[1] < q->ne[1]) {
        return tn_refuse("the mask must have a column for each key and a row for each query");
    }
    if (tn_shape_divides(mask->ne[2], q->ne[2]) && tn_shape_divides(mask->ne[3], q->ne[3])) return true;
    return tn_refuse("heads and sequences of the mask must divide those of q");
}

static bool attention_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * mask = node->src[3];
    const struct ggml_tensor * sinks = node->src[4];
    for (int i = 0; i < 3; i++) {
        const struct ggml_tensor * x = node->src[i];
        if (!tn_operand_can_load(x->type) || x->type == GGML_TYPE_I32) {
            return tn_refuse("src%d: there is no decoder of %s", i, ggml_type_name(x->type));
        }
        if (ggml_is_quantized(x->type) && !tn_operand_is_dense(x))
            return tn_refuse("src%d: rows must be contiguous", i);
    }
    if (mask && !tn_operand_is_float(mask->type))
        return tn_refuse("a mask of type %s", ggml_type_name(mask->type));
    if (sinks && (sinks->type != GGML_TYPE_F32 || !tn_operand_is_dense(sinks) ||
                  sinks->ne[0] != node->src[0]->ne[2])) {
        return tn_refuse("sinks must be contiguous f32, one for each head");
    }
    if (node->type != GGML_TYPE_F32 || !tn_operand_is_dense(node))
        return tn_refuse("the result must be contiguous f32");
    return has_shapes(node);
}

const struct tn_cpu_op tn_cpu_op_attention = { .supports = attention_supports,
                                               .scratch = attention_scratch,
                                               .run = attention_run };
