// SPDX-License-Identifier: MIT
// solve_tri: row i of X = (row i of B - sum of A[t, i] * row t of X, t < i) / A[i, i].
//
// An item is 64 columns of one matrix. Sums are in double: what is lost in an early row would spread to all
// that follow.
#include "base/bits.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/require.h"

enum { COLUMNS = 64 };

struct solve {
    struct tn_operand x, a, b;
    int64_t n_blocks; // of columns
};

// Row i of these columns. x, b: the matrices' columns; a: row i of A.
static void solve_row(const struct solve * s, int64_t i, float * x, const float * b, const float * a,
                      int64_t n) {
    const int64_t width = s->x.ne[0];
    double sum[COLUMNS];
    for (int64_t j = 0; j < n; j++)
        sum[j] = (double) b[i * width + j];
    for (int64_t t = 0; t < i; t++) {
        for (int64_t j = 0; j < n; j++)
            sum[j] -= (double) a[t] * (double) x[t * width + j];
    }
    for (int64_t j = 0; j < n; j++)
        x[i * width + j] = (float) (sum[j] / (double) a[i]);
}

static void run_part(const void * arg, const struct tn_cpu_part * part) {
    const struct solve * s = arg;
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t matrix = u / s->n_blocks, i2 = matrix % s->x.ne[2], i3 = matrix / s->x.ne[2];
        const int64_t j0 = u % s->n_blocks * COLUMNS;
        const int64_t n = tn_min_i64(COLUMNS, s->x.ne[0] - j0);
        for (int64_t i = 0; i < s->a.ne[0]; i++) {
            solve_row(s, i, (float *) tn_operand_row(&s->x, 0, i2, i3) + j0,
                      (const float *) tn_operand_row(&s->b, 0, i2, i3) + j0,
                      (const float *) tn_operand_row(&s->a, i, i2, i3), n);
        }
    }
}

static enum ggml_status solve_tri_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct solve s = { .x = tn_operand_of(node),
                       .a = tn_operand_of(node->src[0]),
                       .b = tn_operand_of(node->src[1]) };
    s.n_blocks = tn_ceil_div(s.x.ne[0], COLUMNS);
    const int64_t cost = s.a.ne[0] * s.a.ne[0] * tn_min_i64(COLUMNS, s.x.ne[0]) / 2;
    tn_cpu_run_parts(run, s.n_blocks * s.x.ne[2] * s.x.ne[3], cost, (struct tn_cpu_work){ run_part, &s });
    return GGML_STATUS_SUCCESS;
}

// The rule of core has seen that both sources are contiguous f32.
static bool solve_tri_supports(const struct ggml_tensor * node) {
    return tn_require_f32_result(node);
}

const struct tn_cpu_op tn_cpu_op_solve_tri = { .supports = solve_tri_supports, .run = solve_tri_run };
