// SPDX-License-Identifier: MIT
// softmax over rows of scale*a + slope*mask, with an optional sink in each row's maximum and denominator; and
// its gradient.
#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/alibi.h"
#include "cpu/kernels/reduce/reduce.h"
#include "cpu/kernels/softmax/softmax.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct softmax {
    struct tn_operand y, x, mask;
    const float * sinks; // NULL: none
    float scale, max_bias;
};

enum { COST = 12 };

// y = scale*x + slope*mask; the result is the largest of them.
static float add_mask(const struct softmax * s, float * y, const float * x, int64_t i1, int64_t i2,
                      int64_t i3) {
    const struct tn_operand * m = &s->mask;
    const float slope = tn_alibi_slope(s->max_bias, s->x.ne[2], i2);
    const char * row = m->data ? tn_operand_row(m, i1, i2 % m->ne[2], i3 % m->ne[3]) : NULL;
    float buf[TN_TILE];
    float max = -INFINITY;
    for (int64_t i = 0; i < s->x.ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, s->x.ne[0] - i);
        for (int64_t k = 0; k < n; k++)
            y[i + k] = s->scale * x[i + k];
        if (row) {
            const float * add = tn_operand_load(m, row, i, n, buf);
            for (int64_t k = 0; k < n; k++)
                y[i + k] += slope * add[k];
        }
        max = fmaxf(max, tn_reduce_max(n, y + i));
    }
    return max;
}

// A row of -infinity alone has no softmax; it gives zeros.
static void softmax_row(const struct softmax * s, int64_t i1, int64_t i2, int64_t i3) {
    const int64_t n = s->x.ne[0];
    float * y = (float *) tn_operand_row(&s->y, i1, i2, i3);
    float max = add_mask(s, y, (const float *) tn_operand_row(&s->x, i1, i2, i3), i1, i2, i3);
    if (s->sinks) max = fmaxf(max, s->sinks[i2]);
    if (max == -INFINITY) max = 0.0f; // exp(-inf - 0) = 0
    double sum = tn_softmax_exp(n, y, y, max);
    if (s->sinks) sum += exp((double) s->sinks[i2] - (double) max);
    tn_softmax_scale(n, y, sum != 0.0 ? (float) (1.0 / sum) : 0.0f);
}

static void run_part(const void * arg, const struct tn_cpu_part * part) {
    const struct softmax * s = arg;
    for (int64_t i = part->begin; i < part->end; i++) {
        softmax_row(s, i % s->x.ne[1], i / s->x.ne[1] % s->x.ne[2], i / s->x.ne[1] / s->x.ne[2]);
    }
}

static enum ggml_status softmax_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct ggml_tensor * mask = node->src[1];
    const struct ggml_tensor * sinks = node->src[2];
    struct softmax s = {
        .y = tn_operand_of(node),
        .x = tn_operand_of(node->src[0]),
        .sinks = sinks ? sinks->data : NULL,
        .scale = tn_param_f32(node, 0),
        .max_bias = tn_param_f32(node, 1),
    };
    if (mask) s.mask = tn_operand_of(mask);
    const int64_t n = s.x.ne[1] * s.x.ne[2] * s.x.ne[3];
    tn_cpu_run_parts(run, n, COST * s.x.ne[0], (struct tn_cpu_work){ run_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool softmax_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * x = node->src[0];
    const struct ggml_tensor * mask = node->src[1];
    const struct ggml_tensor * sinks = node->src[2];
    if (x->type != GGML_TYPE_F32 || node->type != GGML_TYPE_F32) {
        return tn_refuse("type %s: only f32 is computed with", ggml_type_name(x->type));
    }
    if (!tn_operand_is_dense(x) || !tn_operand_is_dense(node)) return tn_refuse("rows must be contiguous");
    if (mask && !tn_operand_is_float(mask->type))
        return tn_refuse("a mask of type %s", ggml_type_name(mask->type));
    if (sinks && (sinks->type != GGML_TYPE_F32 || !tn_operand_is_dense(sinks))) {
        return tn_refuse("sinks must be contiguous f32");
    }
    return true;
}

// --- softmax_back: scale * p * (g - sum(p*g)), p being the result of the softmax

struct softmax_back {
    struct tn_operand y, g, p;
    double scale;
};

static void back_row(const struct softmax_back * s, int64_t i1, int64_t i2, int64_t i3) {
    const char * g = tn_operand_row(&s->g, i1, i2, i3);
    const char * p = tn_operand_row(&s->p, i1, i2, i3);
    char * y = tn_operand_row(&s->y, i1, i2, i3);
    float buf_y[TN_TILE], buf_g[TN_TILE], buf_p[TN_TILE];
    double sum = 0.0;
    for (int64_t i = 0; i < s->y.ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, s->y.ne[0] - i);
        sum +=
            tn_reduce_dot(n, tn_operand_load(&s->p, p, i, n, buf_p), tn_operand_load(&s->g, g, i, n, buf_g));
    }
    for (int64_t i = 0; i < s->y.ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, s->y.ne[0] - i);
        float * to = tn_operand_target(&s->y, y, i, buf_y);
        tn_softmax_back(n, to, tn_operand_load(&s->g, g, i, n, buf_g), tn_operand_load(&s->p, p, i, n, buf_p),
                        sum, s->scale);
        tn_operand_store(&s->y, y, i, n, to);
    }
}

static void back_part(const void * arg, const struct tn_cpu_part * part) {
    const struct softmax_back * s = arg;
    for (int64_t i = part->begin; i < part->end; i++)
        back_row(s, i % s->y.ne[1], i / s->y.ne[1] % s->y.ne[2], i / s->y.ne[1] / s->y.ne[2]);
}

static enum ggml_status softmax_back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct softmax_back s = { tn_operand_of(node), tn_operand_of(node->src[0]),
                                    tn_operand_of(node->src[1]), (double) tn_param_f32(node, 0) };
    const int64_t n = s.y.ne[1] * s.y.ne[2] * s.y.ne[3];
    tn_cpu_run_parts(run, n, 4 * s.y.ne[0], (struct tn_cpu_work){ back_part, &s });
    return GGML_STATUS_SUCCESS;
}

// Slopes of a mask do not enter: what the mask did is in p already.
static bool softmax_back_supports(const struct ggml_tensor * node) {
    const enum ggml_type g = node->src[0]->type, p = node->src[1]->type;
    if (tn_operand_is_float(g) && tn_operand_is_float(p)) return true;
    return tn_refuse("types %s and %s: only f32, f16 and bf16 are computed with", ggml_type_name(g),
                     ggml_type_name(p));
}

const struct tn_cpu_op tn_cpu_op_softmax = { .supports = softmax_supports, .run = softmax_run };
const struct tn_cpu_op tn_cpu_op_softmax_back = { .supports = softmax_back_supports,
                                                  .run = softmax_back_run };
