// SPDX-License-Identifier: MIT
// im2col im2col_back im2col_3d col2im_1d: data unfolded into the columns that a kernel sees, and folded back.
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/unfold.h"

struct im2col {
    struct tn_operand y;
    struct tn_unfold u;
    enum ggml_type type; // of the data
    int dims;
};

enum { IS_2D = 6 };

static struct tn_unfold_place place_of(const struct im2col * s, const struct tn_tile * t) {
    const int64_t depth = s->y.ne[3] / s->u.batch; // three dimensions: of the output
    switch (s->dims) {
    case 1: return tn_unfold_at(&s->u, (const int64_t[]){ t->i1, 0, 0 }, t->i2);
    case 2: return tn_unfold_at(&s->u, (const int64_t[]){ t->i1, t->i2, 0 }, t->i3);
    default: return tn_unfold_at(&s->u, (const int64_t[]){ t->i1, t->i2, t->i3 % depth }, t->i3 / depth);
    }
}

// n elements of a column from i0 on, in the type of the data. Inlined for each size.
TN_INLINE void gather(const struct tn_unfold * u, const struct tn_unfold_place * p, int64_t i0, int64_t n,
                      char * to, size_t size) {
    const size_t step = (size_t) u->dilation[0] * u->nb[0];
    struct tn_unfold_line line = tn_unfold_line_of(u, i0 / u->kernel[0]);
    for (int64_t kw = i0 % u->kernel[0]; n > 0; kw = 0) {
        const int64_t end = tn_min_i64(u->kernel[0], kw + n);
        const char * from = tn_unfold_data(u, p, &line);
        n -= end - kw;
        for (; kw < end; kw++, to += size) {
            if (from && kw >= p->lo[0] && kw < p->hi[0]) {
                memcpy(to, from + (size_t) (kw - p->lo[0]) * step, size);
            } else {
                memset(to, 0, size);
            }
        }
        tn_unfold_next(u, &line);
    }
}

static void gather_any(const struct im2col * s, const struct tn_tile * t, void * to) {
    const struct tn_unfold_place p = place_of(s, t);
    if (s->type == GGML_TYPE_F32) {
        gather(&s->u, &p, t->i0, t->n, to, sizeof(float));
    } else {
        gather(&s->u, &p, t->i0, t->n, to, sizeof(uint16_t));
    }
}

static void unfold_tile(const void * arg, const struct tn_tile * t) {
    const struct im2col * s = arg;
    const size_t size = ggml_type_size(s->type);
    char * y = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    if (s->type == s->y.type && s->y.nb[0] == size) {
        gather_any(s, t, y + (size_t) t->i0 * size);
        return;
    }
    float dense[TN_TILE], buf[TN_TILE];
    const struct tn_operand x = { .type = s->type, .nb = { size } };
    gather_any(s, t, dense);
    tn_operand_store(&s->y, y, t->i0, t->n, tn_operand_load(&x, (const char *) dense, 0, t->n, buf));
}

static enum ggml_status run_im2col(struct tn_cpu_run * run, const struct ggml_tensor * node, int words,
                                   int dims) {
    const struct im2col s = {
        .y = tn_operand_of(node),
        .u = tn_unfold_of(node, words, dims),
        .type = node->src[1]->type,
        .dims = dims,
    };
    tn_operand_tiles(run, &s.y, 3, (struct tn_tile_work){ unfold_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status im2col_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_im2col(run, node, 2, tn_param_i32(node, IS_2D) ? 2 : 1);
}

static enum ggml_status im2col_3d_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_im2col(run, node, 3, 3);
}

static bool im2col_supports(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->src[1]->type) && tn_operand_is_float(node->type)) return true;
    return tn_refuse("data of %s into columns of %s: only f32, f16 and bf16 are unfolded",
                     ggml_type_name(node->src[1]->type), ggml_type_name(node->type));
}

// --- im2col_back: each element of the data is the sum of what was taken from it

struct fold {
    struct tn_operand y, g;
    int64_t kernel[2], stride[2], pad[2], dilation[2], out[2];
    size_t nb_y, nb_batch; // of the gradient: next row of outputs, next batch element
};

// What a tile of the result gets from line kh of all kernels of one row of outputs: `g` is that of output 0,
// kernel element 0.
static void add_line(const struct fold * s, const struct tn_tile * t, const char * g, double * sums) {
    float buf[1];
    for (int64_t kw = 0; kw < s->kernel[0]; kw++) {
        const int64_t shift = kw * s->dilation[0] - s->pad[0] - t->i0; // output ox goes to ox*stride + shift
        const int64_t first = shift < 0 ? tn_ceil_div(-shift, s->stride[0]) : 0;
        for (int64_t ox = first; ox < s->out[0] && ox * s->stride[0] + shift < t->n; ox++) {
            const char * at = g + (size_t) ox * s->g.nb[1];
            sums[ox * s->stride[0] + shift] += (double) *tn_operand_load(&s->g, at, kw, 1, buf);
        }
    }
}

// Adds up the rows y of one channel.
static void fold_tile(const struct fold * s, const struct tn_tile * t, int64_t y, int64_t channel,
                      const char * g) {
    double sums[TN_TILE] = { 0 };
    float values[TN_TILE];
    for (int64_t kh = 0; kh < s->kernel[1]; kh++) {
        const int64_t top = y + s->pad[1] - kh * s->dilation[1];
        if (top < 0 || top % s->stride[1] != 0 || top / s->stride[1] >= s->out[1]) continue;
        const int64_t line = (channel * s->kernel[1] + kh) * s->kernel[0];
        add_line(s, t, g + (size_t) (top / s->stride[1]) * s->nb_y + (size_t) line * s->g.nb[0], sums);
    }
    for (int64_t i = 0; i < t->n; i++)
        values[i] = (float) sums[i];
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, values);
}

static void fold_tile_1d(const void * arg, const struct tn_tile * t) {
    const struct fold * s = arg;
    fold_tile(s, t, 0, t->i1, s->g.data + (size_t) t->i2 * s->nb_batch);
}

static void fold_tile_2d(const void * arg, const struct tn_tile * t) {
    const struct fold * s = arg;
    fold_tile(s, t, t->i1, t->i2, s->g.data + (size_t) t->i3 * s->nb_batch);
}

static enum ggml_status im2col_back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct fold s = { .y = tn_operand_of(node), .g = tn_operand_of(node->src[0]) };
    const bool is_2d = tn_param_i32(node, IS_2D) != 0;
    for (int d = 0; d < 2; d++) {
        const bool counts = d == 0 || is_2d;
        s.kernel[d] = counts ? node->src[1]->ne[d] : 1;
        s.stride[d] = counts ? tn_param_i32(node, d) : 1;
        s.pad[d] = counts ? tn_param_i32(node, 2 + d) : 0;
        s.dilation[d] = counts ? tn_param_i32(node, 4 + d) : 1;
        s.out[d] = counts ? s.g.ne[1 + d] : 1;
    }
    s.nb_y = is_2d ? s.g.nb[2] : 0;
    s.nb_batch = s.g.nb[is_2d ? 3 : 2];
    const int64_t cost = 4 * tn_min_i64(s.kernel[0] * s.kernel[1], 1 << 20);
    tn_operand_tiles(run, &s.y, cost, (struct tn_tile_work){ is_2d ? fold_tile_2d : fold_tile_1d, &s });
    return GGML_STATUS_SUCCESS;
}

static bool im2col_back_supports(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->src[0]->type)) return true;
    return tn_refuse("a gradient of %s: only f32, f16 and bf16 are folded",
                     ggml_type_name(node->src[0]->type));
}

// --- col2im_1d: column i of K elements a channel is laid down from i*stride - pad on

struct col2im {
    struct tn_operand y, a;
    int64_t kernel, stride, pad;
};

static void col2im_tile(const void * arg, const struct tn_tile * t) {
    const struct col2im * s = arg;
    const int64_t begin = t->i0 + s->pad, end = begin + t->n; // of the tile, counted as the columns are
    const int64_t first = begin >= s->kernel ? (begin - s->kernel) / s->stride + 1 : 0;
    double sums[TN_TILE] = { 0 };
    float values[TN_TILE];
    for (int64_t i = first; i < s->a.ne[1] && i * s->stride < end; i++) {
        const int64_t lo = tn_max_i64(begin - i * s->stride, 0);
        const int64_t n = tn_min_i64(end - i * s->stride, s->kernel) - lo;
        const float * a =
            tn_operand_load(&s->a, tn_operand_row(&s->a, i, 0, 0), t->i1 * s->kernel + lo, n, values);
        for (int64_t k = 0; k < n; k++)
            sums[i * s->stride + lo - begin + k] += (double) a[k];
    }
    for (int64_t i = 0; i < t->n; i++)
        values[i] = (float) sums[i];
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, values);
}

static enum ggml_status col2im_1d_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct col2im s = {
        .y = tn_operand_of(node),
        .a = tn_operand_of(node->src[0]),
        .stride = tn_param_i32(node, 0),
        .pad = tn_param_i32(node, 2),
    };
    s.kernel = s.a.ne[0] / s.y.ne[1];
    const int64_t cost = 2 + 2 * (s.kernel / s.stride);
    tn_operand_tiles(run, &s.y, cost, (struct tn_tile_work){ col2im_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool col2im_1d_supports(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->type)) return true;
    return tn_refuse("columns of %s: only f32, f16 and bf16 are folded", ggml_type_name(node->type));
}

const struct tn_cpu_op tn_cpu_op_im2col = { .supports = im2col_supports, .run = im2col_run };
const struct tn_cpu_op tn_cpu_op_im2col_back = { .supports = im2col_back_supports, .run = im2col_back_run };
const struct tn_cpu_op tn_cpu_op_im2col_3d = { .supports = im2col_supports, .run = im2col_3d_run };
const struct tn_cpu_op tn_cpu_op_col2im_1d = { .supports = col2im_1d_supports, .run = col2im_1d_run };
