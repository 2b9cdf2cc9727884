// SPDX-License-Identifier: MIT
// conv_2d conv_3d: each output is a kernel times the column that it covers (cpu/unfold.h), without storing
// the columns of all outputs.
//
// An item is 128 outputs of one image and some of the output channels, all of them if there are many outputs.
// Columns are taken 256 elements at a time, 16 side by side, and multiplied with 8 kernels at a time:
//
//     for each 256 elements:   pack 8 panels (128 KiB, which stay in the cache)
//       for each 8 kernels:    decode, if they are not f32
//         for each panel:      8 by 16 sums of 256 products, added to the result
//
// All sums are f32; data is never rounded, whatever the type of the kernel. Blocks are added in order, so the
// cut into items changes nothing.
#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/require.h"
#include "cpu/unfold.h"

enum {
    OUTPUTS = 128, // of an item
    BLOCK = 256,   // elements of a column
    ITEMS = 32,    // below this many, channels are shared out as well
    FEWEST = 32,   // channels of an item
    PANEL = BLOCK * TN_GEMM_COLS
};

struct conv {
    struct tn_unfold u;
    struct tn_operand w; // kernels as rows
    float * y;           // [outputs, channels, batch]
    int64_t out[3];
    int64_t n_outputs, n_channels;
    int64_t n_tiles; // of outputs
    int64_t n_parts; // of channels
    int64_t part_size;
};

struct item {
    struct tn_unfold_place places[OUTPUTS];
    int64_t n_outputs;
    int64_t first, last; // channels: first .. last - 1
    float * y;           // of the first output in channel 0
    float * panels;
    float * kernels; // [8][256], decoded
};

// Elements k .. k + n - 1 of a column, 16 places apart.
static void pack_column(const struct tn_unfold * u, const struct tn_unfold_place * p, int64_t k, int64_t n,
                        float * to) {
    const size_t step = (size_t) u->dilation[0] * u->nb[0];
    struct tn_unfold_line line = tn_unfold_line_of(u, k / u->kernel[0]);
    for (int64_t kw = k % u->kernel[0]; n > 0; kw = 0) {
        const int64_t end = tn_min_i64(u->kernel[0], kw + n);
        const char * from = tn_unfold_data(u, p, &line);
        n -= end - kw;
        for (; kw < end; kw++, to += TN_GEMM_COLS) {
            const bool inside = from && kw >= p->lo[0] && kw < p->hi[0];
            *to = inside ? *(const float *) (from + (size_t) (kw - p->lo[0]) * step) : 0.0f;
        }
        tn_unfold_next(u, &line);
    }
}

static void pack(const struct conv * s, const struct item * t, int64_t k, int64_t n) {
    for (int64_t o = 0; o < tn_ceil_div(t->n_outputs, TN_GEMM_COLS) * TN_GEMM_COLS; o++) {
        float * to = t->panels + o / TN_GEMM_COLS * PANEL + o % TN_GEMM_COLS;
        if (o < t->n_outputs) {
            pack_column(&s->u, &t->places[o], k, n, to);
        } else {
            for (int64_t i = 0; i < n; i++)
                to[i * TN_GEMM_COLS] = 0.0f;
        }
    }
}

// The first block of elements stores its sums, the others add theirs.
static void add_sums(const struct conv * s, const struct item * t, int64_t channel, int64_t output,
                     bool is_first, const float * sums) {
    const int64_t n_rows = tn_min_i64(TN_GEMM_ROWS, t->last - channel);
    const int64_t n_cols = tn_min_i64(TN_GEMM_COLS, t->n_outputs - output);
    for (int64_t r = 0; r < n_rows; r++) {
        float * y = t->y + (channel + r) * s->n_outputs + output;
        for (int64_t c = 0; c < n_cols; c++)
            y[c] = (is_first ? 0.0f : y[c]) + sums[r * TN_GEMM_COLS + c];
    }
}

static void multiply(const struct conv * s, const struct item * t, int64_t k, int64_t n) {
    float sums[TN_GEMM_ROWS * TN_GEMM_COLS];
    for (int64_t channel = t->first; channel < t->last; channel += TN_GEMM_ROWS) {
        const float * rows[TN_GEMM_ROWS];
        for (int64_t r = 0; r < TN_GEMM_ROWS; r++) { // channels that do not exist repeat the last one
            const char * row = tn_operand_row(&s->w, tn_min_i64(channel + r, t->last - 1), 0, 0);
            rows[r] = tn_operand_load(&s->w, row, k, n, t->kernels + r * BLOCK);
        }
        for (int64_t output = 0; output < t->n_outputs; output += TN_GEMM_COLS) {
            const struct tn_gemm_size size = { (int) tn_min_i64(TN_GEMM_ROWS, t->last - channel),
                                               (int) tn_min_i64(TN_GEMM_COLS, t->n_outputs - output) };
            tn_gemm_float_tile(n, &size, rows, t->panels + output / TN_GEMM_COLS * PANEL, sums);
            add_sums(s, t, channel, output, k == 0, sums);
        }
    }
}

static void compute_item(const struct conv * s, int64_t index, float * scratch) {
    const int64_t part = index % s->n_parts, tile = index / s->n_parts % s->n_tiles;
    const int64_t batch = index / s->n_parts / s->n_tiles;
    const int64_t first = tile * OUTPUTS;
    struct item t = { .panels = scratch, .kernels = scratch + OUTPUTS / TN_GEMM_COLS * PANEL };
    t.n_outputs = tn_min_i64(OUTPUTS, s->n_outputs - first);
    t.first = part * s->part_size;
    t.last = tn_min_i64(t.first + s->part_size, s->n_channels);
    t.y = s->y + batch * s->n_channels * s->n_outputs + first;
    for (int64_t o = 0; o < t.n_outputs; o++) {
        const int64_t row = (first + o) / s->out[0];
        const int64_t out[] = { (first + o) % s->out[0], row % s->out[1], row / s->out[1] };
        t.places[o] = tn_unfold_at(&s->u, out, batch);
    }
    int64_t k = 0; // an empty column has the sum 0
    do {
        const int64_t n = tn_min_i64(BLOCK, s->w.ne[0] - k);
        pack(s, &t, k, n);
        multiply(s, &t, k, n);
        k += BLOCK;
    } while (k < s->w.ne[0]);
}

static void compute_part(const void * arg, const struct tn_cpu_part * part) {
    for (int64_t i = part->begin; i < part->end; i++)
        compute_item(arg, i, (float *) part->scratch);
}

static void share_out(struct conv * s) {
    s->n_tiles = tn_ceil_div(s->n_outputs, OUTPUTS);
    const int64_t wanted = tn_ceil_div(ITEMS, s->n_tiles * s->u.batch);
    const int64_t least = tn_min_i64(s->n_channels, FEWEST);
    const int64_t size = tn_max_i64(tn_ceil_div(s->n_channels, wanted), least);
    s->part_size = tn_ceil_div(size, TN_GEMM_ROWS) * TN_GEMM_ROWS;
    s->n_parts = tn_ceil_div(s->n_channels, s->part_size);
}

static enum ggml_status run_conv(struct tn_cpu_run * run, const struct ggml_tensor * node, int dims,
                                 int64_t n_channels) {
    const struct ggml_tensor * kernel = node->src[0];
    struct conv s = { .u = tn_unfold_of(node, dims, dims), .y = node->data, .n_channels = n_channels };
    const size_t size = ggml_type_size(kernel->type);
    const int64_t n = tn_unfold_size(&s.u);
    s.w = (struct tn_operand){ kernel->type, kernel->data, { n, n_channels }, { size, (size_t) n * size } };
    for (int d = 0; d < 3; d++)
        s.out[d] = d < dims ? node->ne[d] : 1;
    s.n_outputs = s.out[0] * s.out[1] * s.out[2];
    share_out(&s);
    const int64_t outputs = tn_min_i64(OUTPUTS, s.n_outputs);
    const int64_t cost = outputs * tn_min_i64(n, 1 << 20) * (s.part_size + 16) / 8;
    tn_cpu_run_parts(run, s.n_tiles * s.n_parts * s.u.batch, cost, (struct tn_cpu_work){ compute_part, &s });
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status conv_2d_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_conv(run, node, 2, node->src[0]->ne[3]);
}

// op_params word 11: output channels
static enum ggml_status conv_3d_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_conv(run, node, 3, tn_param_i32(node, 11));
}

static struct tn_cpu_scratch conv_scratch(const struct ggml_tensor * node) {
    (void) node;
    return (struct tn_cpu_scratch){ .per_thread = (OUTPUTS / TN_GEMM_COLS * PANEL + TN_GEMM_ROWS * BLOCK) *
                                                  sizeof(float) };
}

static bool conv_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * kernel = node->src[0];
    if (!tn_require_type(node, 1, 1, GGML_TYPE_F32) || !tn_require_f32_result(node)) return false;
    if (!tn_operand_is_float(kernel->type))
        return tn_refuse("a kernel of %s, not f32, f16 or bf16", ggml_type_name(kernel->type));
    return ggml_is_contiguous(kernel) || tn_refuse("the kernel must be contiguous");
}

const struct tn_cpu_op tn_cpu_op_conv_2d = { .supports = conv_supports,
                                             .scratch = conv_scratch,
                                             .run = conv_2d_run };
const struct tn_cpu_op tn_cpu_op_conv_3d = { .supports = conv_supports,
                                             .scratch = conv_scratch,
                                             .run = conv_3d_run };
