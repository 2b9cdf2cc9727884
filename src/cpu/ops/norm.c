// SPDX-License-Identifier: MIT
// norm rms_norm l2_norm group_norm: rows, or groups of channels, brought to unit size; rms_norm_back. Sums
// are kept in double.
#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/norm/norm.h"
#include "cpu/kernels/reduce/reduce.h"
#include "cpu/op.h"
#include "cpu/operand.h"

// What is subtracted, and what the difference is multiplied by.
struct measure {
    double center;
    double factor;
};

struct norm {
    struct tn_operand y, x;
    double eps;
    int64_t group; // channels of a group, GROUP_NORM
    struct measure (*measure)(const struct norm * s, const struct tn_operand * x);
};

enum { COST = 3 };

// Sum over all rows of x: of the elements, of their squares, or of squared differences to a center.
static double sum_of(const struct tn_operand * x, double (*add)(int64_t n, const float * v, double center),
                     double center) {
    const int64_t n_rows = x->ne[1] * x->ne[2] * x->ne[3];
    float buf[TN_TILE];
    double sum = 0.0;
    for (int64_t row = 0; row < n_rows; row++) {
        const char * from =
            tn_operand_row(x, row % x->ne[1], row / x->ne[1] % x->ne[2], row / x->ne[1] / x->ne[2]);
        for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
            const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
            sum += add(n, tn_operand_load(x, from, i, n, buf), center);
        }
    }
    return sum;
}

static double plain(int64_t n, const float * v, double center) {
    (void) center;
    return tn_reduce_sum(n, v);
}

static double squares(int64_t n, const float * v, double center) {
    (void) center;
    return tn_reduce_sum_sqr(n, v);
}

static double count_of(const struct tn_operand * x) {
    return (double) (x->ne[0] * x->ne[1] * x->ne[2] * x->ne[3]);
}

// (x - mean)/sqrt(variance + eps)
static struct measure measure_norm(const struct norm * s, const struct tn_operand * x) {
    const double mean = sum_of(x, plain, 0.0) / count_of(x);
    const double variance = sum_of(x, tn_reduce_sum_dev, mean) / count_of(x);
    return (struct measure){ mean, 1.0 / sqrt(variance + s->eps) };
}

// x/sqrt(mean(x^2) + eps)
static struct measure measure_rms(const struct norm * s, const struct tn_operand * x) {
    return (struct measure){ 0.0, 1.0 / sqrt(sum_of(x, squares, 0.0) / count_of(x) + s->eps) };
}

// x/max(sqrt(sum(x^2)), eps); a NaN stays one, which fmax would swallow.
static struct measure measure_l2(const struct norm * s, const struct tn_operand * x) {
    const double length = sqrt(sum_of(x, squares, 0.0));
    return (struct measure){ 0.0, 1.0 / (length < s->eps ? s->eps : length) };
}

static void apply(const struct tn_operand * y, const struct tn_operand * x, struct measure m) {
    const int64_t n_rows = x->ne[1] * x->ne[2] * x->ne[3];
    float buf_x[TN_TILE], buf_y[TN_TILE];
    for (int64_t row = 0; row < n_rows; row++) {
        const int64_t i1 = row % x->ne[1], i2 = row / x->ne[1] % x->ne[2], i3 = row / x->ne[1] / x->ne[2];
        char * to = tn_operand_row(y, i1, i2, i3);
        const char * from = tn_operand_row(x, i1, i2, i3);
        for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
            const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
            float * out = tn_operand_target(y, to, i, buf_y);
            const float * in = tn_operand_load(x, from, i, n, buf_x);
            if (m.center == 0.0) {
                tn_norm_scale(n, out, in, (float) m.factor);
            } else {
                tn_norm_center(n, out, in, m.center, m.factor);
            }
            tn_operand_store(y, to, i, n, out);
        }
    }
}

// One row as a tensor of its own.
static struct tn_operand row_of(const struct tn_operand * x, int64_t row) {
    struct tn_operand r = *x;
    r.data = tn_operand_row(x, row % x->ne[1], row / x->ne[1] % x->ne[2], row / x->ne[1] / x->ne[2]);
    r.ne[1] = r.ne[2] = r.ne[3] = 1;
    return r;
}

static void rows_part(const void * arg, const struct tn_cpu_part * part) {
    const struct norm * s = arg;
    for (int64_t i = part->begin; i < part->end; i++) {
        const struct tn_operand x = row_of(&s->x, i), y = row_of(&s->y, i);
        apply(&y, &x, s->measure(s, &x));
    }
}

static enum ggml_status run_rows(struct tn_cpu_run * run, struct ggml_tensor * node,
                                 struct measure (*measure)(const struct norm *, const struct tn_operand *)) {
    const struct norm s = {
        .y = tn_operand_of(node),
        .x = tn_operand_of(node->src[0]),
        .eps = (double) tn_param_f32(node, 0),
        .measure = measure,
    };
    const int64_t n = s.x.ne[1] * s.x.ne[2] * s.x.ne[3];
    tn_cpu_run_parts(run, n, COST * s.x.ne[0], (struct tn_cpu_work){ rows_part, &s });
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status norm_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_rows(run, node, measure_norm);
}

static enum ggml_status rms_norm_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_rows(run, node, measure_rms);
}

static enum ggml_status l2_norm_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_rows(run, node, measure_l2);
}

// Channels first .. first + group - 1 of index i3 as a tensor of their own.
static struct tn_operand group_of(const struct tn_operand * x, int64_t first, int64_t group, int64_t i3) {
    struct tn_operand g = *x;
    g.data = tn_operand_row(x, 0, first, i3);
    g.ne[2] = tn_min_i64(group, x->ne[2] - first);
    g.ne[3] = 1;
    return g;
}

static void groups_part(const void * arg, const struct tn_cpu_part * part) {
    const struct norm * s = arg;
    const int64_t n_groups = tn_ceil_div(s->x.ne[2], s->group);
    for (int64_t i = part->begin; i < part->end; i++) {
        const int64_t first = i % n_groups * s->group;
        const struct tn_operand x = group_of(&s->x, first, s->group, i / n_groups);
        const struct tn_operand y = group_of(&s->y, first, s->group, i / n_groups);
        apply(&y, &x, measure_norm(s, &x));
    }
}

static enum ggml_status group_norm_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct norm s = {
        .y = tn_operand_of(node),
        .x = tn_operand_of(node->src[0]),
        .eps = (double) tn_param_f32(node, 1),
        .group = tn_ceil_div(node->ne[2], tn_param_i32(node, 0)),
    };
    const int64_t n = tn_ceil_div(s.x.ne[2], s.group) * s.x.ne[3];
    const int64_t cost = COST * s.x.ne[0] * s.x.ne[1] * s.group;
    tn_cpu_run_parts(run, n, cost, (struct tn_cpu_work){ groups_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool has_floats(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->src[0]->type) && tn_operand_is_float(node->type)) return true;
    return tn_refuse("type %s: only f32, f16 and bf16 are normalised", ggml_type_name(node->src[0]->type));
}

static bool rows_supports(const struct ggml_tensor * node) {
    if (!has_floats(node)) return false;
    const float eps = tn_param_f32(node, 0);
    return eps >= 0.0f ? true : tn_refuse("eps is %g, it may not be negative", (double) eps);
}

static bool group_supports(const struct ggml_tensor * node) {
    if (!has_floats(node)) return false;
    const int32_t n = tn_param_i32(node, 0);
    return n > 0 ? true : tn_refuse("%d groups: there must be at least one", n);
}

// --- rms_norm_back: (g - x*sum(x*g)/(sum(x^2) + n*eps)) / sqrt(mean(x^2) + eps)

struct norm_back {
    struct tn_operand y, g, x;
    double eps;
};

// Both sums over one row.
struct back_sums {
    double xg, xx;
};

static struct back_sums back_sums_of(const struct tn_operand * g, const struct tn_operand * x) {
    struct back_sums sums = { 0.0, 0.0 };
    float buf_g[TN_TILE], buf_x[TN_TILE];
    for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
        const float * v = tn_operand_load(x, x->data, i, n, buf_x);
        sums.xg += tn_reduce_dot(n, v, tn_operand_load(g, g->data, i, n, buf_g));
        sums.xx += tn_reduce_sum_sqr(n, v);
    }
    return sums;
}

static void back_row(const struct norm_back * s, int64_t row) {
    const struct tn_operand y = row_of(&s->y, row), g = row_of(&s->g, row), x = row_of(&s->x, row);
    const struct back_sums sums = back_sums_of(&g, &x);
    const double n_x = (double) x.ne[0];
    const double slope = sums.xg / (sums.xx + n_x * s->eps);
    const double factor = 1.0 / sqrt(sums.xx / n_x + s->eps);
    float buf_y[TN_TILE], buf_g[TN_TILE], buf_x[TN_TILE];
    for (int64_t i = 0; i < x.ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, x.ne[0] - i);
        float * to = tn_operand_target(&y, y.data, i, buf_y);
        tn_norm_back(n, to, tn_operand_load(&g, g.data, i, n, buf_g),
                     tn_operand_load(&x, x.data, i, n, buf_x), slope, factor);
        tn_operand_store(&y, y.data, i, n, to);
    }
}

static void back_part(const void * arg, const struct tn_cpu_part * part) {
    for (int64_t i = part->begin; i < part->end; i++)
        back_row(arg, i);
}

static enum ggml_status rms_norm_back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct norm_back s = { tn_operand_of(node), tn_operand_of(node->src[0]),
                                 tn_operand_of(node->src[1]), (double) tn_param_f32(node, 0) };
    const int64_t n = s.x.ne[1] * s.x.ne[2] * s.x.ne[3];
    tn_cpu_run_parts(run, n, 2 * COST * s.x.ne[0], (struct tn_cpu_work){ back_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool back_supports(const struct ggml_tensor * node) {
    const enum ggml_type x = node->src[1]->type;
    if (!rows_supports(node)) return false;
    return tn_operand_is_float(x) ? true : tn_refuse("an argument of type %s", ggml_type_name(x));
}

const struct tn_cpu_op tn_cpu_op_norm = { .supports = rows_supports, .run = norm_run };
const struct tn_cpu_op tn_cpu_op_rms_norm = { .supports = rows_supports, .run = rms_norm_run };
const struct tn_cpu_op tn_cpu_op_l2_norm = { .supports = rows_supports, .run = l2_norm_run };
const struct tn_cpu_op tn_cpu_op_group_norm = { .supports = group_supports, .run = group_norm_run };
const struct tn_cpu_op tn_cpu_op_rms_norm_back = { .supports = back_supports, .run = rms_norm_back_run };
