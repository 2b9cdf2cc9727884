// SPDX-License-Identifier: MIT
// cross_entropy_loss and its gradient; one optimiser step, adamw or sgd.
#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/shape.h"
#include "cpu/kernels/reduce/reduce.h"
#include "cpu/kernels/softmax/softmax.h"
#include "cpu/op.h"
#include "cpu/operand.h"

enum { COST = 20 };

struct loss {
    struct tn_operand y, logits, labels;
    int64_t n_rows;
    int64_t step;
    double * sums; // CROSS_ENTROPY_LOSS: one a part
    double factor; // CROSS_ENTROPY_LOSS_BACK: gradient of the loss / rows
};

static char * row_of(const struct tn_operand * x, int64_t row) {
    return tn_operand_row(x, row % x->ne[1], row / x->ne[1] % x->ne[2], row / x->ne[1] / x->ne[2]);
}

// softmax(x)[i] = exp(x[i] - max) / sum
struct scores {
    float max;
    double sum;
};

static struct scores scores_of(const struct tn_operand * x, const char * row) {
    struct scores s = { -INFINITY, 0.0 };
    float buf[TN_TILE], e[TN_TILE];
    for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
        s.max = fmaxf(s.max, tn_reduce_max(n, tn_operand_load(x, row, i, n, buf)));
    }
    for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
        s.sum += tn_softmax_exp(n, e, tn_operand_load(x, row, i, n, buf), s.max);
    }
    return s;
}

// Sum of label * log(softmax). A label of 0 adds nothing, whatever its logit, -infinity included.
static double row_loss(const struct loss * s, int64_t row) {
    const char * x = row_of(&s->logits, row);
    const char * labels = row_of(&s->labels, row);
    const struct scores scores = scores_of(&s->logits, x);
    const double shift = (double) scores.max + log(scores.sum);
    float buf_x[TN_TILE], buf_labels[TN_TILE];
    double sum = 0.0;
    for (int64_t i = 0; i < s->logits.ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, s->logits.ne[0] - i);
        const float * v = tn_operand_load(&s->logits, x, i, n, buf_x);
        const float * label = tn_operand_load(&s->labels, labels, i, n, buf_labels);
        for (int64_t k = 0; k < n; k++)
            sum += label[k] != 0.0f ? (double) label[k] * ((double) v[k] - shift) : 0.0;
    }
    return sum;
}

static void loss_part(const void * arg, const struct tn_cpu_part * part) {
    const struct loss * s = arg;
    double sum = 0.0;
    for (int64_t i = part->begin; i < part->end; i++)
        sum += row_loss(s, i);
    s->sums[part->begin / s->step] = sum;
}

static struct loss loss_of(const struct ggml_tensor * node, int first) {
    struct loss s = { .y = tn_operand_of(node),
                      .logits = tn_operand_of(node->src[first]),
                      .labels = tn_operand_of(node->src[first + 1]) };
    s.n_rows = s.logits.ne[1] * s.logits.ne[2] * s.logits.ne[3];
    s.step = tn_cpu_run_step(s.n_rows, COST * s.logits.ne[0]);
    return s;
}

static struct tn_cpu_scratch loss_scratch(const struct ggml_tensor * node) {
    const struct loss s = loss_of(node, 0);
    return (struct tn_cpu_scratch){ .shared = (size_t) tn_ceil_div(s.n_rows, s.step) * sizeof(double) };
}

static enum ggml_status loss_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct loss s = loss_of(node, 0);
    s.sums = (double *) run->shared;
    if (s.logits.ne[0] == 0) s.n_rows = 0;
    tn_cpu_run_parts(run, s.n_rows, COST * s.logits.ne[0], (struct tn_cpu_work){ loss_part, &s });
    double sum = 0.0;
    for (int64_t i = 0; i < tn_ceil_div(s.n_rows, s.step); i++)
        sum += s.sums[i];
    const float result = s.n_rows > 0 ? (float) (-sum / (double) s.n_rows) : 0.0f;
    tn_operand_store(&s.y, s.y.data, 0, 1, &result);
    return GGML_STATUS_SUCCESS;
}

// (softmax - label) * factor
static void back_row(const struct loss * s, int64_t row) {
    const char * x = row_of(&s->logits, row);
    const char * labels = row_of(&s->labels, row);
    char * to = row_of(&s->y, row);
    const struct scores scores = scores_of(&s->logits, x);
    float e[TN_TILE], buf_y[TN_TILE], buf_x[TN_TILE], buf_labels[TN_TILE];
    for (int64_t i = 0; i < s->y.ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, s->y.ne[0] - i);
        const float * label = tn_operand_load(&s->labels, labels, i, n, buf_labels);
        float * y = tn_operand_target(&s->y, to, i, buf_y);
        tn_softmax_exp(n, e, tn_operand_load(&s->logits, x, i, n, buf_x), scores.max);
        for (int64_t k = 0; k < n; k++)
            y[k] = (float) (((double) e[k] / scores.sum - (double) label[k]) * s->factor);
        tn_operand_store(&s->y, to, i, n, y);
    }
}

static void back_part(const void * arg, const struct tn_cpu_part * part) {
    for (int64_t i = part->begin; i < part->end; i++)
        back_row(arg, i);
}

static enum ggml_status back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct loss s = loss_of(node, 1);
    const struct tn_operand gradient = tn_operand_of(node->src[0]);
    float buf[1];
    s.factor = (double) *tn_operand_load(&gradient, gradient.data, 0, 1, buf) / (double) s.n_rows;
    tn_cpu_run_parts(run, s.n_rows, 2 * COST * s.y.ne[0], (struct tn_cpu_work){ back_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool all_floats(const struct ggml_tensor * node, int n_src) {
    for (int i = 0; i < n_src; i++) {
        const enum ggml_type type = node->src[i]->type;
        if (!tn_operand_is_float(type))
            return tn_refuse("src%d: type %s, not f32, f16 or bf16", i, ggml_type_name(type));
    }
    return true;
}

static bool loss_supports(const struct ggml_tensor * node) {
    return all_floats(node, 2);
}

static bool back_supports(const struct ggml_tensor * node) {
    return all_floats(node, 3);
}

// --- optimiser steps: weights, and with adamw both moments, are changed where they lie

struct step {
    struct tn_operand w, g, m, v;
    const float * params;
};

// params: alpha, beta1, beta2, eps, wd, beta1h, beta2h
static void adamw_values(const float * p, int64_t n, float * w, const float * g, float * m, float * v) {
    const float keep = 1.0f - p[0] * p[4];
    for (int64_t i = 0; i < n; i++) {
        m[i] = m[i] * p[1] + g[i] * (1.0f - p[1]);
        v[i] = v[i] * p[2] + g[i] * g[i] * (1.0f - p[2]);
        w[i] = w[i] * keep - p[0] * (m[i] * p[5]) / (sqrtf(v[i] * p[6]) + p[3]);
    }
}

// A tile that is read, changed and stored again: where it lies, or copied into buf.
static float * load_own(const struct tn_operand * x, const struct tn_tile * t, float * buf) {
    char * row = tn_operand_row(x, t->i1, t->i2, t->i3);
    float * values = tn_operand_target(x, row, t->i0, buf);
    tn_operand_load(x, row, t->i0, t->n, values);
    return values;
}

static void store_own(const struct tn_operand * x, const struct tn_tile * t, const float * values) {
    tn_operand_store(x, tn_operand_row(x, t->i1, t->i2, t->i3), t->i0, t->n, values);
}

static void adamw_tile(const void * arg, const struct tn_tile * t) {
    const struct step * s = arg;
    float buf_w[TN_TILE], buf_g[TN_TILE], buf_m[TN_TILE], buf_v[TN_TILE];
    float * w = load_own(&s->w, t, buf_w);
    float * m = load_own(&s->m, t, buf_m);
    float * v = load_own(&s->v, t, buf_v);
    const char * g = tn_operand_row(&s->g, t->i1, t->i2, t->i3);
    adamw_values(s->params, t->n, w, tn_operand_load(&s->g, g, t->i0, t->n, buf_g), m, v);
    store_own(&s->w, t, w);
    store_own(&s->m, t, m);
    store_own(&s->v, t, v);
}

static enum ggml_status adamw_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct step s = { .w = tn_operand_of(node),
                      .g = tn_operand_of(node->src[1]),
                      .m = tn_operand_of(node->src[2]),
                      .v = tn_operand_of(node->src[3]),
                      .params = node->src[4]->data };
    tn_operand_flatten((struct tn_operand *[]){ &s.w, &s.g, &s.m, &s.v }, 4);
    tn_operand_tiles(run, &s.w, 8, (struct tn_tile_work){ adamw_tile, &s });
    return GGML_STATUS_SUCCESS;
}

// params: alpha, wd
static void sgd_tile(const void * arg, const struct tn_tile * t) {
    const struct step * s = arg;
    const float * p = s->params;
    float buf_w[TN_TILE], buf_g[TN_TILE];
    float * w = load_own(&s->w, t, buf_w);
    const float * g = tn_operand_load(&s->g, tn_operand_row(&s->g, t->i1, t->i2, t->i3), t->i0, t->n, buf_g);
    for (int64_t i = 0; i < t->n; i++)
        w[i] = w[i] * (1.0f - p[0] * p[1]) - p[0] * g[i];
    store_own(&s->w, t, w);
}

static enum ggml_status sgd_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct step s = { .w = tn_operand_of(node),
                      .g = tn_operand_of(node->src[1]),
                      .params = node->src[2]->data };
    tn_operand_flatten((struct tn_operand *[]){ &s.w, &s.g }, 2);
    tn_operand_tiles(run, &s.w, 2, (struct tn_tile_work){ sgd_tile, &s });
    return GGML_STATUS_SUCCESS;
}

// The builder makes the result a view of the weights; a node made by hand may be none.
static bool step_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * w = node->src[0];
    const struct ggml_tensor * base = w->view_src ? w->view_src : w;
    if (node->view_src != base || node->view_offs != w->view_offs || !tn_shape_same_strides(node, w))
        return tn_refuse("the result must be the weights' own memory");
    return true;
}

static bool adamw_supports(const struct ggml_tensor * node) {
    return all_floats(node, 4) && step_supports(node);
}

static bool sgd_supports(const struct ggml_tensor * node) {
    return all_floats(node, 2) && step_supports(node);
}

const struct tn_cpu_op tn_cpu_op_cross_entropy_loss = { .supports = loss_supports,
                                                        .scratch = loss_scratch,
                                                        .run = loss_run };
const struct tn_cpu_op tn_cpu_op_cross_entropy_loss_back = { .supports = back_supports, .run = back_run };
const struct tn_cpu_op tn_cpu_op_opt_step_adamw = { .supports = adamw_supports, .run = adamw_run };
const struct tn_cpu_op tn_cpu_op_opt_step_sgd = { .supports = sgd_supports, .run = sgd_run };
