// SPDX-License-Identifier: MIT
// conv_2d_dw: each channel correlated with its own kernel. Rows of outputs are sums of rows of the data;
// where channels lie side by side in memory, so are runs of channels. Data may have any strides.
#include "base/bits.h"
#include "base/error.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/require.h"
#include "cpu/unfold.h"

struct conv_dw {
    struct tn_operand y, w; // y: by rows, or turned such that dimension 0 is the channel
    struct tn_unfold u;
    float * kernel; // decoded; [KW*KH, C], or turned likewise
    bool by_channels;
};

static void pack_part(const void * arg, const struct tn_cpu_part * part) {
    const struct conv_dw * s = arg;
    const int64_t size = s->u.kernel[0] * s->u.kernel[1];
    float buf[1];
    for (int64_t c = part->begin; c < part->end; c++) {
        for (int64_t k = 0; k < size; k++) {
            const char * row = tn_operand_row(&s->w, k / s->u.kernel[0], 0, c);
            const float v = *tn_operand_load(&s->w, row, k % s->u.kernel[0], 1, buf);
            s->kernel[s->by_channels ? k * s->u.channels + c : c * size + k] = v;
        }
    }
}

// --- by rows: tiles of outputs side by side

// Outputs of the tile to which element kw of the kernel contributes, from a row of the data.
static void add_row(const struct tn_unfold * u, const struct tn_tile * t, int64_t kw, float weight,
                    const char * row, float * sums) {
    const int64_t shift = kw * u->dilation[0] - u->pad[0]; // output ox takes element ox*stride + shift
    const int64_t room = u->in[0] - shift;
    const int64_t lo = tn_max_i64(shift < 0 ? tn_ceil_div(-shift, u->stride[0]) : 0, t->i0);
    const int64_t hi = tn_min_i64(room > 0 ? tn_ceil_div(room, u->stride[0]) : 0, t->i0 + t->n);
    if (lo >= hi) return;
    const char * x = row + (size_t) (lo * u->stride[0] + shift) * u->nb[0];
    const size_t step = (size_t) u->stride[0] * u->nb[0];
    if (step == sizeof(float)) {
        tn_gemm_float_axpy(hi - lo, sums + (lo - t->i0), (const float *) x, weight);
        return;
    }
    for (int64_t i = lo; i < hi; i++)
        sums[i - t->i0] += weight * *(const float *) (x + (size_t) (i - lo) * step);
}

static void row_tile(const void * arg, const struct tn_tile * t) {
    const struct conv_dw * s = arg;
    const struct tn_unfold * u = &s->u;
    float sums[TN_TILE] = { 0 };
    const char * plane = u->data + (size_t) t->i2 * u->nb_channel + (size_t) t->i3 * u->nb_batch;
    for (int64_t kh = 0; kh < u->kernel[1]; kh++) {
        const int64_t y = t->i1 * u->stride[1] - u->pad[1] + kh * u->dilation[1];
        if (y < 0 || y >= u->in[1]) continue;
        const float * weights = s->kernel + (t->i2 * u->kernel[1] + kh) * u->kernel[0];
        for (int64_t kw = 0; kw < u->kernel[0]; kw++)
            add_row(u, t, kw, weights[kw], plane + (size_t) y * u->nb[1], sums);
    }
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, sums);
}

// --- by channels: tiles of channels of one output

static void add_product(int64_t n, float * restrict sums, const float * restrict w,
                        const float * restrict x) {
    for (int64_t i = 0; i < n; i++)
        sums[i] += w[i] * x[i];
}

static void channel_tile(const void * arg, const struct tn_tile * t) {
    const struct conv_dw * s = arg;
    const struct tn_unfold * u = &s->u;
    const struct tn_unfold_place p = tn_unfold_at(u, (const int64_t[]){ t->i1, t->i2, 0 }, t->i3);
    float sums[TN_TILE] = { 0 };
    for (int64_t kh = p.lo[1]; kh < p.hi[1]; kh++) {
        const struct tn_unfold_line line = { t->i0, 0, kh };
        const char * x = tn_unfold_data(u, &p, &line);
        for (int64_t kw = p.lo[0]; kw < p.hi[0]; kw++, x += (size_t) u->dilation[0] * u->nb[0]) {
            const float * w = s->kernel + (kh * u->kernel[0] + kw) * u->channels + t->i0;
            add_product(t->n, sums, w, (const float *) x);
        }
    }
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, sums);
}

// Dimension 2 first.
static struct tn_operand turned(const struct tn_operand * y) {
    return (struct tn_operand){ y->type,
                                y->data,
                                { y->ne[2], y->ne[0], y->ne[1], y->ne[3] },
                                { y->nb[2], y->nb[0], y->nb[1], y->nb[3] } };
}

static enum ggml_status conv_2d_dw_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct conv_dw s = { .y = tn_operand_of(node), .w = tn_operand_of(node->src[0]) };
    s.u = tn_unfold_of(node, 2, 2);
    s.kernel = (float *) run->shared;
    s.by_channels = s.u.nb_channel == sizeof(float) && s.u.channels > 1;
    const int64_t size = tn_min_i64(s.u.kernel[0] * s.u.kernel[1], 1 << 20);
    tn_cpu_run_parts(run, s.u.channels, 8 * size, (struct tn_cpu_work){ pack_part, &s });
    if (s.by_channels) s.y = turned(&s.y);
    tn_operand_tiles(run, &s.y, size, (struct tn_tile_work){ s.by_channels ? channel_tile : row_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static struct tn_cpu_scratch conv_2d_dw_scratch(const struct ggml_tensor * node) {
    return (struct tn_cpu_scratch){ .shared = (size_t) ggml_nelements(node->src[0]) * sizeof(float) };
}

static bool conv_2d_dw_supports(const struct ggml_tensor * node) {
    const enum ggml_type type = node->src[0]->type;
    if (!tn_require_type(node, 1, 1, GGML_TYPE_F32)) return false;
    return tn_operand_is_float(type) ||
           tn_refuse("a kernel of %s, not f32, f16 or bf16", ggml_type_name(type));
}

const struct tn_cpu_op tn_cpu_op_conv_2d_dw = { .supports = conv_2d_dw_supports,
                                                .scratch = conv_2d_dw_scratch,
                                                .run = conv_2d_dw_run };
