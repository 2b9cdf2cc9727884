// SPDX-License-Identifier: MIT
// conv_transpose_1d conv_transpose_2d: each element of the data lays down a kernel, multiplied with it. One
// dimension is two with rows of one.
//
// A tile of a row of the result collects from all kernel rows that reach it. For each, the products of 8
// kernel elements with 16 elements of the data, summed over 256 input channels at a time, are computed at
// once (kernels/gemm_float) and added where they belong. Those sums are f32, what is collected double; data
// is never rounded, whatever the type of the kernel.
#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/require.h"

enum { BLOCK = 256 };

struct transpose {
    struct tn_operand y, w, x; // [OW, OH, OC, N], [KW, KH, OC, IC], [W, H, IC, N]
    int64_t stride;
};

// A tile and its scratch memory.
struct item {
    const struct tn_tile * t;
    float * kernel; // [KW, a multiple of 4][256]
    float * panel;  // [256][8] of the data
    double sums[TN_TILE];
};

// Row ky of the kernels of this output channel, input channels c .. c + n - 1, turned: a row an element.
static void pack_kernel(const struct transpose * s, struct item * it, int64_t ky, int64_t c, int64_t n) {
    float buf[TN_TILE];
    for (int64_t i = 0; i < n; i++) {
        const char * row = tn_operand_row(&s->w, ky, it->t->i2, c + i);
        for (int64_t k = 0; k < s->w.ne[0]; k += TN_TILE) {
            const int64_t count = tn_min_i64(TN_TILE, s->w.ne[0] - k);
            const float * w = tn_operand_load(&s->w, row, k, count, buf);
            for (int64_t j = 0; j < count; j++)
                it->kernel[(k + j) * BLOCK + i] = w[j];
        }
    }
}

// Elements x .. x + 15 of row y of the data, as many as there are.
static void pack_data(const struct transpose * s, struct item * it, int64_t x, int64_t y, int64_t c,
                      int64_t n) {
    const int64_t count = tn_min_i64(TN_GEMM_COLS, s->x.ne[0] - x);
    for (int64_t i = 0; i < n; i++) {
        const char * from = tn_operand_row(&s->x, y, c + i, it->t->i3) + (size_t) x * s->x.nb[0];
        for (int64_t j = 0; j < TN_GEMM_COLS; j++) {
            it->panel[i * TN_GEMM_COLS + j] =
                j < count ? *(const float *) (from + (size_t) j * s->x.nb[0]) : 0.0f;
        }
    }
}

// Products of kernel elements k .. k + 7 and data elements x .. x + 15 go to x*stride + k.
static void collect(const struct transpose * s, struct item * it, int64_t k, int64_t x,
                    const float * products) {
    const int64_t n_rows = tn_min_i64(TN_GEMM_ROWS, s->w.ne[0] - k);
    const int64_t n_cols = tn_min_i64(TN_GEMM_COLS, s->x.ne[0] - x);
    for (int64_t c = 0; c < n_cols; c++) {
        const int64_t to = (x + c) * s->stride + k - it->t->i0;
        for (int64_t r = 0; r < n_rows; r++) {
            if (to + r < 0 || to + r >= it->t->n) continue;
            it->sums[to + r] += (double) products[r * TN_GEMM_COLS + c];
        }
    }
}

// All of row y of the data that reaches the tile, under the packed row of the kernel.
static void add_row(const struct transpose * s, struct item * it, int64_t y, int64_t c, int64_t n) {
    const int64_t before =
        it->t->i0 - s->w.ne[0]; // elements laid down from here on or earlier do not reach it
    const int64_t first = before >= 0 ? before / s->stride + 1 : 0;
    const int64_t end = tn_min_i64((it->t->i0 + it->t->n - 1) / s->stride + 1, s->x.ne[0]);
    for (int64_t x = first; x < end; x += TN_GEMM_COLS) {
        pack_data(s, it, x, y, c, n);
        for (int64_t k = 0; k < s->w.ne[0]; k += TN_GEMM_ROWS) {
            const float * rows[TN_GEMM_ROWS];
            float products[TN_GEMM_ROWS * TN_GEMM_COLS];
            for (int64_t r = 0; r < TN_GEMM_ROWS; r++) // elements that do not exist repeat the last one
                rows[r] = it->kernel + tn_min_i64(k + r, s->w.ne[0] - 1) * BLOCK;
            const struct tn_gemm_size size = { (int) tn_min_i64(TN_GEMM_ROWS, s->w.ne[0] - k),
                                               (int) tn_min_i64(TN_GEMM_COLS, s->x.ne[0] - x) };
            tn_gemm_float_tile(n, &size, rows, it->panel, products);
            collect(s, it, k, x, products);
        }
    }
}

static void compute_tile(const void * arg, const struct tn_tile * t) {
    const struct transpose * s = arg;
    struct item it = { .t = t, .panel = (float *) t->scratch };
    it.kernel = it.panel + BLOCK * TN_GEMM_COLS;
    float values[TN_TILE];
    for (int64_t ky = 0; ky < s->w.ne[1]; ky++) {
        const int64_t y = (t->i1 - ky) / s->stride;
        if (t->i1 < ky || (t->i1 - ky) % s->stride != 0 || y >= s->x.ne[1]) continue;
        for (int64_t c = 0; c < s->w.ne[3]; c += BLOCK) {
            const int64_t n = tn_min_i64(BLOCK, s->w.ne[3] - c);
            pack_kernel(s, &it, ky, c, n);
            add_row(s, &it, y, c, n);
        }
    }
    for (int64_t i = 0; i < t->n; i++)
        values[i] = (float) it.sums[i];
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, values);
}

static enum ggml_status run_transpose(struct tn_cpu_run * run, const struct transpose * s) {
    const int64_t rows = s->w.ne[1] / s->stride + 1, per_output = s->w.ne[0] / s->stride + 1;
    const int64_t products = tn_min_i64(rows * per_output, 1 << 20) * tn_min_i64(s->w.ne[3], 1 << 20);
    tn_operand_tiles(run, &s->y, 2 + products / 4, (struct tn_tile_work){ compute_tile, s });
    return GGML_STATUS_SUCCESS;
}

// A dimension of size 1 behind the first.
static struct tn_operand with_rows_of_one(const struct ggml_tensor * t) {
    return (struct tn_operand){
        t->type, t->data, { t->ne[0], 1, t->ne[1], t->ne[2] }, { t->nb[0], 0, t->nb[1], t->nb[2] }
    };
}

static enum ggml_status conv_transpose_1d_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct transpose s = { with_rows_of_one(node), with_rows_of_one(node->src[0]),
                                 with_rows_of_one(node->src[1]), tn_param_i32(node, 0) };
    return run_transpose(run, &s);
}

static enum ggml_status conv_transpose_2d_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct transpose s = { tn_operand_of(node), tn_operand_of(node->src[0]),
                                 tn_operand_of(node->src[1]), tn_param_i32(node, 0) };
    return run_transpose(run, &s);
}

static struct tn_cpu_scratch transpose_scratch(const struct ggml_tensor * node) {
    const size_t rows = (size_t) node->src[0]->ne[0] + TN_GEMM_COLS;
    return (struct tn_cpu_scratch){ .per_thread = rows * BLOCK * sizeof(float) };
}

static bool transpose_supports(const struct ggml_tensor * node) {
    const enum ggml_type type = node->src[0]->type;
    if (!tn_require_type(node, 1, 1, GGML_TYPE_F32)) return false;
    return tn_operand_is_float(type) ||
           tn_refuse("a kernel of %s, not f32, f16 or bf16", ggml_type_name(type));
}

const struct tn_cpu_op tn_cpu_op_conv_transpose_1d = { .supports = transpose_supports,
                                                       .scratch = transpose_scratch,
                                                       .run = conv_transpose_1d_run };
const struct tn_cpu_op tn_cpu_op_conv_transpose_2d = { .supports = transpose_supports,
                                                       .scratch = transpose_scratch,
                                                       .run = conv_transpose_2d_run };
