// SPDX-License-Identifier: MIT
// mul_mat: result[i, j] = row i of a times row j of b, for each matrix of b; those of a are repeated.
//
// Many columns: weights of any type are decoded to f32, 32 rows by 256 elements at a time, and used for all
// columns before the next ones are decoded. The columns are packed first, once for all rows:
//
//     round:  pack as many panels of 16 columns side by side as fit 4 MiB; then for each block of 32 rows
//             and each matrix
//                 for each 256 elements: decode the rows; for each panel: 8 rows by 16 columns at a time
//
// Few columns: each is a panel of its own, and weights are multiplied as they are (cpu/columns.h). Only where
// they cannot be are they decoded as above.
//
// Sums are f32 for 256 or 512 products at most (in one accumulator, or in several for few columns) and f32 or
// double beyond; of blocks see kernels/codes.h. Activations become blocks of eight bits only where the node's
// precision allows it; else nothing is rounded below f32 on the way.
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "cpu/columns.h"
#include "cpu/kernels/dot_float/dot_float.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"

enum {
    ROWS = 32,              // of an item
    BLOCK = 256,            // elements of a row decoded at once: a multiple of every type's block
    FEW = 4,                // fewer columns than this are panels of their own
    FEW_OF_BLOCKS = 6,      // likewise, where weights in blocks need not be decoded then
    ROUND = 4 * 1024 * 1024 // bytes of packed columns
};

struct product {
    struct tn_operand y, a, b;
    struct tn_columns columns; // how few of them are taken
    int64_t width;             // columns of a panel
    int64_t n_panels;          // of a matrix
    int64_t n_blocks;          // of rows
    size_t panel_size;         // bytes; 0: panels are columns in place
    char * packed;
    int64_t first, last; // panels of this round, counted through all matrices
};

static bool is_few(const struct product * s) {
    const bool in_blocks = s->columns.dot && ggml_is_quantized(s->a.type);
    return s->b.ne[1] < (in_blocks ? FEW_OF_BLOCKS : FEW);
}

static struct product product_of(const struct ggml_tensor * node) {
    struct product s = { .y = tn_operand_of(node),
                         .a = tn_operand_of(node->src[0]),
                         .b = tn_operand_of(node->src[1]),
                         .columns = tn_columns_of(node) };
    s.width = is_few(&s) ? 1 : TN_GEMM_COLS;
    s.panel_size = s.width == 1 ? s.columns.size : (size_t) (s.b.ne[0] * s.width) * sizeof(float);
    s.n_panels = tn_ceil_div(s.b.ne[1], s.width);
    s.n_blocks = tn_ceil_div(s.a.ne[1], ROWS);
    return s;
}

static int64_t panels_in_round(const struct product * s) {
    const int64_t n = s->n_panels * s->b.ne[2] * s->b.ne[3];
    return s->panel_size == 0 ? n : tn_min_i64(tn_max_i64(ROUND / (int64_t) s->panel_size, 1), n);
}

static char * panel_at(const struct product * s, int64_t panel) {
    return s->packed + (size_t) (panel - s->first) * s->panel_size;
}

static const char * column_in_b(const struct product * s, int64_t panel) {
    const int64_t matrix = panel / s->n_panels;
    return tn_operand_row(&s->b, panel % s->n_panels, matrix % s->b.ne[2], matrix / s->b.ne[2]);
}

// Of few columns.
static const char * column_at(const struct product * s, int64_t panel) {
    return s->columns.in_place ? column_in_b(s, panel) : panel_at(s, panel);
}

// Column c of a panel, or zeros where there is none.
static void pack_column(const struct product * s, float * panel, int64_t c, const char * row) {
    float buf[TN_TILE];
    for (int64_t k = 0; k < s->b.ne[0]; k += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, s->b.ne[0] - k);
        const float * x = row ? tn_operand_load(&s->b, row, k, n, buf) : NULL;
        for (int64_t i = 0; i < n; i++)
            panel[(k + i) * s->width + c] = x ? x[i] : 0.0f;
    }
}

static void pack_panel(const struct product * s, int64_t panel) {
    const int64_t matrix = panel / s->n_panels;
    const int64_t i2 = matrix % s->b.ne[2], i3 = matrix / s->b.ne[2];
    for (int64_t c = 0; c < s->width; c++) {
        const int64_t j = panel % s->n_panels * s->width + c;
        const char * row = j < s->b.ne[1] ? tn_operand_row(&s->b, j, i2, i3) : NULL;
        pack_column(s, (float *) panel_at(s, panel), c, row);
    }
}

static void pack_part(const void * arg, const struct tn_cpu_part * part) {
    const struct product * s = arg;
    for (int64_t p = s->first + part->begin; p < s->first + part->end; p++) {
        if (s->width == 1) {
            tn_columns_pack(&s->columns, &s->b, column_in_b(s, p), panel_at(s, p));
        } else {
            pack_panel(s, p);
        }
    }
}

// 32 rows of one matrix, 256 elements of each.
struct block {
    const float * rows[ROWS];
    int64_t n_rows;
    int64_t k, n;   // elements k .. k + n - 1
    int64_t i;      // first row
    const char * a; // it
    char * y;       // the result's matrix
};

static void load_block(const struct product * s, struct block * b, float * scratch) {
    for (int64_t r = 0; r < ROWS; r++) {
        // Rows that do not exist repeat the last one; their sums are not stored.
        const char * row = b->a + (size_t) tn_min_i64(r, b->n_rows - 1) * s->a.nb[1];
        b->rows[r] =
            r < b->n_rows ? tn_operand_load(&s->a, row, b->k, b->n, scratch + r * BLOCK) : b->rows[r - 1];
    }
}

// The first block of elements stores its sums, the others add theirs.
static void add_panel(const struct product * s, const struct block * b, int64_t panel) {
    const float * columns = (const float *) panel_at(s, panel) + b->k * TN_GEMM_COLS;
    const int64_t j0 = panel % s->n_panels * TN_GEMM_COLS;
    const int64_t n_cols = tn_min_i64(TN_GEMM_COLS, s->y.ne[1] - j0);
    float sums[TN_GEMM_ROWS * TN_GEMM_COLS];
    for (int64_t r = 0; r < b->n_rows; r += TN_GEMM_ROWS) {
        const int64_t n_rows = tn_min_i64(TN_GEMM_ROWS, b->n_rows - r);
        const struct tn_gemm_size size = { (int) n_rows, (int) n_cols };
        tn_gemm_float_tile(b->n, &size, b->rows + r, columns, sums);
        for (int64_t c = 0; c < n_cols; c++) {
            float * y = (float *) (b->y + (size_t) (j0 + c) * s->y.nb[1]) + b->i + r;
            for (int64_t i = 0; i < n_rows; i++)
                y[i] = (b->k ? y[i] : 0.0f) + sums[i * TN_GEMM_COLS + c];
        }
    }
}

static float * column_of_y(const struct product * s, const struct block * b, int64_t panel) {
    return (float *) (b->y + (size_t) (panel % s->n_panels) * s->y.nb[1]) + b->i;
}

static void add_column(const struct product * s, const struct block * b, int64_t panel) {
    const float * column = tn_columns_f32(&s->columns, panel_at(s, panel)) + b->k;
    float * y = column_of_y(s, b, panel);
    for (int64_t r = 0; r < b->n_rows; r++)
        y[r] = (b->k ? y[r] : 0.0f) + tn_dot_float(b->n, b->rows[r], column);
}

// Panels of an item: those of its matrix in this round, or one of them.
struct range {
    int64_t first, last;
};

static void compute_decoded(const struct product * s, struct block * b, struct range panels,
                            float * scratch) {
    for (b->k = 0; b->k < s->a.ne[0]; b->k += BLOCK) {
        b->n = tn_min_i64(BLOCK, s->a.ne[0] - b->k);
        load_block(s, b, scratch);
        for (int64_t p = panels.first; p < panels.last; p++) {
            if (s->width == 1) {
                add_column(s, b, p);
            } else {
                add_panel(s, b, p);
            }
        }
    }
}

static bool has_dot(const struct product * s, int64_t panel) {
    return tn_columns_has_dot(&s->columns, column_at(s, panel));
}

static void multiply_singly(const struct product * s, const struct block * b, int64_t r, int64_t panel) {
    if (!has_dot(s, panel)) return;
    const char * row = b->a + (size_t) r * s->a.nb[1];
    column_of_y(s, b, panel)[r] = (float) tn_columns_dot(&s->columns, row, column_at(s, panel));
}

// Rows r and r + 1 with two panels; or one with one, if no more are there. All give the same bits.
static void multiply(const struct product * s, const struct block * b, int64_t r, struct range panels) {
    const int64_t n_rows = tn_min_i64(s->columns.dot_2x2 ? 2 : 1, b->n_rows - r);
    const int64_t p = panels.first;
    if (n_rows == 2 && panels.last - p == 2 && has_dot(s, p) && has_dot(s, p + 1)) {
        const char * row = b->a + (size_t) r * s->a.nb[1];
        double sums[4];
        tn_columns_dot_2x2(&s->columns, (const char * [2]){ row, row + s->a.nb[1] },
                           (const char * [2]){ column_at(s, p), column_at(s, p + 1) }, sums);
        for (int i = 0; i < 4; i++)
            column_of_y(s, b, p + i % 2)[r + i / 2] = (float) sums[i];
        return;
    }
    for (int64_t i = r; i < r + n_rows; i++) {
        for (int64_t j = p; j < panels.last; j++)
            multiply_singly(s, b, i, j);
    }
}

// A row, or two, for all columns while it is near.
static void compute_few(const struct product * s, struct block * b, struct range panels, float * scratch) {
    for (int64_t p = panels.first; p < panels.last; p++) {
        if (!has_dot(s, p)) compute_decoded(s, b, (struct range){ p, p + 1 }, scratch);
    }
    const int64_t step = s->columns.dot_2x2 ? 2 : 1;
    for (int64_t r = 0; r < b->n_rows; r += step) {
        for (int64_t p = panels.first; p < panels.last; p += step)
            multiply(s, b, r, (struct range){ p, tn_min_i64(p + step, panels.last) });
    }
}

static void compute_item(const struct product * s, int64_t matrix, int64_t i, float * scratch) {
    const int64_t i2 = matrix % s->b.ne[2], i3 = matrix / s->b.ne[2];
    const int64_t r2 = s->b.ne[2] / s->a.ne[2], r3 = s->b.ne[3] / s->a.ne[3];
    struct block b = { .i = i, .n_rows = tn_min_i64(ROWS, s->a.ne[1] - i) };
    b.a = tn_operand_row(&s->a, i, i2 / r2, i3 / r3);
    b.y = tn_operand_row(&s->y, 0, i2, i3);
    const struct range panels = { tn_max_i64(s->first, matrix * s->n_panels),
                                  tn_min_i64(s->last, (matrix + 1) * s->n_panels) };
    if (s->width == 1 && s->columns.dot) {
        compute_few(s, &b, panels, scratch);
    } else {
        compute_decoded(s, &b, panels, scratch);
    }
}

static void compute_part(const void * arg, const struct tn_cpu_part * part) {
    const struct product * s = arg;
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t matrix = s->first / s->n_panels + u / s->n_blocks;
        compute_item(s, matrix, u % s->n_blocks * ROWS, (float *) part->scratch);
    }
}

static void run_round(struct tn_cpu_run * run, const struct product * s) {
    const int64_t k = s->a.ne[0];
    const int64_t n = s->last - s->first;
    const int64_t n_matrices = (s->last - 1) / s->n_panels - s->first / s->n_panels + 1;
    const int64_t columns = tn_ceil_div(n, n_matrices) * s->width;
    if (s->panel_size > 0) tn_cpu_run_parts(run, n, 2 * k * s->width, (struct tn_cpu_work){ pack_part, s });
    tn_cpu_run_parts(run, n_matrices * s->n_blocks, ROWS * k * (columns + 8) / 8,
                     (struct tn_cpu_work){ compute_part, s });
}

static void fill_zero(const struct tn_operand * y) {
    for (int64_t row = 0; row < y->ne[1] * y->ne[2] * y->ne[3]; row++) {
        const int64_t i2 = row / y->ne[1] % y->ne[2], i3 = row / y->ne[1] / y->ne[2];
        memset(tn_operand_row(y, row % y->ne[1], i2, i3), 0, (size_t) y->ne[0] * sizeof(float));
    }
}

static enum ggml_status mul_mat_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct product s = product_of(node);
    s.packed = run->shared;
    s.columns.is_ref = run->use_ref;
    if (s.a.ne[0] == 0) fill_zero(&s.y);
    const int64_t n = s.a.ne[0] == 0 ? 0 : s.n_panels * s.b.ne[2] * s.b.ne[3];
    const int64_t step = panels_in_round(&s);
    for (s.first = 0; s.first < n; s.first = s.last) {
        s.last = tn_min_i64(s.first + step, n);
        run_round(run, &s);
    }
    return GGML_STATUS_SUCCESS;
}

static struct tn_cpu_scratch mul_mat_scratch(const struct ggml_tensor * node) {
    const struct product s = product_of(node);
    return (struct tn_cpu_scratch){
        .shared = (size_t) panels_in_round(&s) * s.panel_size,
        .per_thread = ROWS * BLOCK * sizeof(float),
    };
}

static bool mul_mat_supports(const struct ggml_tensor * node) {
    for (int i = 0; i < 2; i++) {
        const struct ggml_tensor * x = node->src[i];
        if (!tn_operand_can_load(x->type) || x->type == GGML_TYPE_I32) {
            return tn_refuse("src%d: there is no decoder of %s", i, ggml_type_name(x->type));
        }
        if (ggml_is_quantized(x->type) && !tn_operand_is_dense(x)) {
            return tn_refuse("src%d: quantised rows must be contiguous", i);
        }
    }
    if (node->type != GGML_TYPE_F32 || !tn_operand_is_dense(node))
        return tn_refuse("the result must be contiguous f32");
    return true;
}

const struct tn_cpu_op tn_cpu_op_mul_mat = { .supports = mul_mat_supports,
                                             .scratch = mul_mat_scratch,
                                             .run = mul_mat_run };
