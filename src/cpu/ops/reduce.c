// SPDX-License-Identifier: MIT
// sum, sums and means of rows, running sums, index of the largest, count of equal elements. Sums are kept in
// double, tile after tile.
#include "cpu/kernels/reduce/reduce.h"

#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct reduce {
    struct tn_operand y, x;
    int64_t n_rows;
    int64_t step;
    double * sums; // SUM: one a part
    double factor;
};

static const char * row_of(const struct tn_operand * x, int64_t row) {
    const int64_t i1 = row % x->ne[1];
    const int64_t i2 = row / x->ne[1] % x->ne[2];
    return tn_operand_row(x, i1, i2, row / x->ne[1] / x->ne[2]);
}

static double sum_row(const struct tn_operand * x, const char * row) {
    float buf[TN_TILE];
    double sum = 0.0;
    for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
        sum += tn_reduce_sum(n, tn_operand_load(x, row, i, n, buf));
    }
    return sum;
}

static struct reduce reduce_of(const struct ggml_tensor * node) {
    struct reduce s = { .y = tn_operand_of(node), .x = tn_operand_of(node->src[0]), .factor = 1.0 };
    s.n_rows = s.x.ne[1] * s.x.ne[2] * s.x.ne[3];
    return s;
}

static void sum_rows_part(const void * arg, const struct tn_cpu_part * part) {
    const struct reduce * s = arg;
    for (int64_t i = part->begin; i < part->end; i++) {
        const float sum = (float) (sum_row(&s->x, row_of(&s->x, i)) * s->factor);
        tn_operand_store(&s->y, (char *) row_of(&s->y, i), 0, 1, &sum);
    }
}

static enum ggml_status sum_rows_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct reduce s = reduce_of(node);
    tn_cpu_run_parts(run, s.n_rows, s.x.ne[0], (struct tn_cpu_work){ sum_rows_part, &s });
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status mean_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct reduce s = reduce_of(node);
    s.factor = 1.0 / (double) s.x.ne[0];
    tn_cpu_run_parts(run, s.n_rows, s.x.ne[0], (struct tn_cpu_work){ sum_rows_part, &s });
    return GGML_STATUS_SUCCESS;
}

static void sum_part(const void * arg, const struct tn_cpu_part * part) {
    const struct reduce * s = arg;
    double sum = 0.0;
    for (int64_t i = part->begin; i < part->end; i++)
        sum += sum_row(&s->x, row_of(&s->x, i));
    s->sums[part->begin / s->step] = sum;
}

// A double or a count for each part of src[0]'s rows.
static struct tn_cpu_scratch sum_scratch(const struct ggml_tensor * node) {
    const struct reduce s = reduce_of(node);
    const int64_t n = tn_ceil_div(s.n_rows, tn_cpu_run_step(s.n_rows, s.x.ne[0]));
    return (struct tn_cpu_scratch){ .shared = (size_t) n * sizeof(double) };
}

static enum ggml_status sum_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct reduce s = reduce_of(node);
    s.step = tn_cpu_run_step(s.n_rows, s.x.ne[0]);
    s.sums = (double *) run->shared;
    tn_cpu_run_parts(run, s.n_rows, s.x.ne[0], (struct tn_cpu_work){ sum_part, &s });
    double sum = 0.0;
    for (int64_t i = 0; i < tn_ceil_div(s.n_rows, s.step); i++)
        sum += s.sums[i];
    const float result = (float) sum;
    tn_operand_store(&s.y, s.y.data, 0, 1, &result);
    return GGML_STATUS_SUCCESS;
}

// The last one when tied. A row without a number above -infinity gives 0.
static int32_t argmax_row(const struct tn_operand * x, const char * row) {
    float buf[TN_TILE];
    float best = -INFINITY;
    int64_t index = 0;
    for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
        const float * v = tn_operand_load(x, row, i, n, buf);
        for (int64_t k = 0; k < n; k++) {
            if (v[k] < best || v[k] != v[k]) continue;
            best = v[k];
            index = i + k;
        }
    }
    return (int32_t) index;
}

static void argmax_part(const void * arg, const struct tn_cpu_part * part) {
    const struct reduce * s = arg;
    for (int64_t i = part->begin; i < part->end; i++) {
        *(int32_t *) (s->y.data + (size_t) i * s->y.nb[0]) = argmax_row(&s->x, row_of(&s->x, i));
    }
}

static enum ggml_status argmax_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct reduce s = reduce_of(node);
    tn_cpu_run_parts(run, s.n_rows, s.x.ne[0], (struct tn_cpu_work){ argmax_part, &s });
    return GGML_STATUS_SUCCESS;
}

// sum: the double running through the row.
static double cumsum_tile(int64_t n, float * y, const float * x, double sum) {
    for (int64_t k = 0; k < n; k++) {
        sum += (double) x[k];
        y[k] = (float) sum;
    }
    return sum;
}

static void cumsum_part(const void * arg, const struct tn_cpu_part * part) {
    const struct reduce * s = arg;
    float buf_x[TN_TILE], buf_y[TN_TILE];
    for (int64_t row = part->begin; row < part->end; row++) {
        char * to = (char *) row_of(&s->y, row);
        double sum = 0.0;
        for (int64_t i = 0; i < s->x.ne[0]; i += TN_TILE) {
            const int64_t n = tn_min_i64(TN_TILE, s->x.ne[0] - i);
            float * y = tn_operand_target(&s->y, to, i, buf_y);
            sum = cumsum_tile(n, y, tn_operand_load(&s->x, row_of(&s->x, row), i, n, buf_x), sum);
            tn_operand_store(&s->y, to, i, n, y);
        }
    }
}

static enum ggml_status cumsum_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct reduce s = reduce_of(node);
    tn_cpu_run_parts(run, s.n_rows, 4 * s.x.ne[0], (struct tn_cpu_work){ cumsum_part, &s });
    return GGML_STATUS_SUCCESS;
}

// One count a part, as for sums.
struct count {
    struct tn_operand a, b;
    int64_t step;
    int64_t * counts;
};

static int64_t count_row(const struct count * s, const char * a, const char * b) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->a.ne[0]; i++) {
        n += *(const int32_t *) (a + (size_t) i * s->a.nb[0]) ==
             *(const int32_t *) (b + (size_t) i * s->b.nb[0]);
    }
    return n;
}

static void count_part(const void * arg, const struct tn_cpu_part * part) {
    const struct count * s = arg;
    int64_t n = 0;
    for (int64_t i = part->begin; i < part->end; i++)
        n += count_row(s, row_of(&s->a, i), row_of(&s->b, i));
    s->counts[part->begin / s->step] = n;
}

static enum ggml_status count_equal_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct count s = { tn_operand_of(node->src[0]), tn_operand_of(node->src[1]), 0, (int64_t *) run->shared };
    const int64_t n_rows = s.a.ne[1] * s.a.ne[2] * s.a.ne[3];
    s.step = tn_cpu_run_step(n_rows, s.a.ne[0]);
    tn_cpu_run_parts(run, n_rows, s.a.ne[0], (struct tn_cpu_work){ count_part, &s });
    int64_t n = 0;
    for (int64_t i = 0; i < tn_ceil_div(n_rows, s.step); i++)
        n += s.counts[i];
    *(int64_t *) node->data = n;
    return GGML_STATUS_SUCCESS;
}

static bool count_equal_supports(const struct ggml_tensor * node) {
    const enum ggml_type a = node->src[0]->type, b = node->src[1]->type;
    if (a == GGML_TYPE_I32 && b == GGML_TYPE_I32) return true;
    return tn_refuse("types %s and %s: only i32 are compared", ggml_type_name(a), ggml_type_name(b));
}

static bool floats(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->src[0]->type) && tn_operand_is_float(node->type)) return true;
    return tn_refuse("type %s: only f32, f16 and bf16 are summed", ggml_type_name(node->src[0]->type));
}

static bool argmax_supports(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->src[0]->type)) return true;
    return tn_refuse("type %s: only f32, f16 and bf16 are compared", ggml_type_name(node->src[0]->type));
}

const struct tn_cpu_op tn_cpu_op_sum = { .supports = floats, .scratch = sum_scratch, .run = sum_run };
const struct tn_cpu_op tn_cpu_op_sum_rows = { .supports = floats, .run = sum_rows_run };
const struct tn_cpu_op tn_cpu_op_mean = { .supports = floats, .run = mean_run };
const struct tn_cpu_op tn_cpu_op_argmax = { .supports = argmax_supports, .run = argmax_run };
const struct tn_cpu_op tn_cpu_op_cumsum = { .supports = floats, .run = cumsum_run };
const struct tn_cpu_op tn_cpu_op_count_equal = { .supports = count_equal_supports,
                                                 .scratch = sum_scratch,
                                                 .run = count_equal_run };
