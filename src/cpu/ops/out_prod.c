// SPDX-License-Identifier: MIT
// out_prod: result[i, j] = sum over c of a[i, c] * b[j, c], for each matrix of b; those of a are repeated.
//
// A part is a strip of up to 512 elements of up to 16 result rows. Row c of a is loaded once for all of them;
// sums are f32, over c in ascending order.
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"

enum { ROWS = 16 };

struct product {
    struct tn_operand y, a, b;
    int64_t n_strips, n_blocks; // of a row, of the rows of a matrix
};

// Where a part lies in the result.
struct strip {
    int64_t i, n;      // elements
    int64_t j, n_rows; // rows
    int64_t i2, i3;
};

static void compute_strip(const struct product * s, const struct strip * p, float * sums) {
    const int64_t r2 = s->b.ne[2] / s->a.ne[2], r3 = s->b.ne[3] / s->a.ne[3];
    float buf_a[TN_TILE], buf_b[ROWS];
    memset(sums, 0, ROWS * TN_TILE * sizeof(float));
    for (int64_t c = 0; c < s->a.ne[1]; c++) {
        const char * row_a = tn_operand_row(&s->a, c, p->i2 / r2, p->i3 / r3);
        const char * row_b = tn_operand_row(&s->b, c, p->i2, p->i3);
        const float * a = tn_operand_load(&s->a, row_a, p->i, p->n, buf_a);
        const float * b = tn_operand_load(&s->b, row_b, p->j, p->n_rows, buf_b);
        for (int64_t r = 0; r < p->n_rows; r++)
            tn_gemm_float_axpy(p->n, sums + r * TN_TILE, a, b[r]);
    }
    for (int64_t r = 0; r < p->n_rows; r++) {
        tn_operand_store(&s->y, tn_operand_row(&s->y, p->j + r, p->i2, p->i3), p->i, p->n,
                         sums + r * TN_TILE);
    }
}

static void run_part(const void * arg, const struct tn_cpu_part * part) {
    const struct product * s = arg;
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t block = u / s->n_strips, matrix = block / s->n_blocks;
        struct strip p = { .i = u % s->n_strips * TN_TILE, .j = block % s->n_blocks * ROWS };
        p.n = tn_min_i64(TN_TILE, s->y.ne[0] - p.i);
        p.n_rows = tn_min_i64(ROWS, s->y.ne[1] - p.j);
        p.i2 = matrix % s->y.ne[2];
        p.i3 = matrix / s->y.ne[2];
        compute_strip(s, &p, (float *) part->scratch);
    }
}

static enum ggml_status out_prod_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct product s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_operand_of(node->src[1]), 0,
                         0 };
    s.n_strips = tn_ceil_div(s.y.ne[0], TN_TILE);
    s.n_blocks = tn_ceil_div(s.y.ne[1], ROWS);
    const int64_t n = s.n_strips * s.n_blocks * s.y.ne[2] * s.y.ne[3];
    const int64_t size = tn_min_i64(TN_TILE, s.y.ne[0]) * tn_min_i64(ROWS, s.y.ne[1]);
    tn_cpu_run_parts(run, n, ROWS * TN_TILE / 8 + s.a.ne[1] * size / 4, (struct tn_cpu_work){ run_part, &s });
    return GGML_STATUS_SUCCESS;
}

static struct tn_cpu_scratch out_prod_scratch(const struct ggml_tensor * node) {
    (void) node;
    return (struct tn_cpu_scratch){ .per_thread = ROWS * TN_TILE * sizeof(float) };
}

static bool out_prod_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    if (!tn_operand_can_load(a->type) || a->type == GGML_TYPE_I32)
        return tn_refuse("src0: there is no decoder of %s", ggml_type_name(a->type));
    if (ggml_is_quantized(a->type) && !tn_operand_is_dense(a))
        return tn_refuse("src0: quantised rows must be contiguous");
    if (!tn_operand_is_float(b->type)) return tn_refuse("src1 is %s", ggml_type_name(b->type));
    return true;
}

const struct tn_cpu_op tn_cpu_op_out_prod = { .supports = out_prod_supports,
                                              .scratch = out_prod_scratch,
                                              .run = out_prod_run };
