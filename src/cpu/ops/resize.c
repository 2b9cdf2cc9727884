// SPDX-License-Identifier: MIT
// upscale: interpolation to other sizes. Along each of the first two dimensions an element of the result is a
// weighted sum of neighbours (taps), whatever the mode; so a row of the result is made from a sum of rows of
// the source, of which each element then is a sum of elements. The other two dimensions take the nearest.
//
// Positions are exact: indices by integers, fractions in double.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"

enum { MODE = 0xff };

// How elements of one dimension come about.
struct axis {
    int64_t in, out;
    int64_t from, to; // the ratio from/to of distances in source and result
    double offset;    // of a pixel's centre
    double support;   // half width of the filter, for antialiasing
    int64_t n_taps;   // at most, of one element
};

// Neighbours of an element of the result: weights [n] of elements first .. first + n - 1.
struct taps {
    int64_t first;
    int64_t n;
};

struct resize {
    struct tn_operand y, x;
    struct axis axis[2];
    const struct taps * taps[2];
    const float * weights[2];
};

static struct axis axis_of(const struct ggml_tensor * node, int dim) {
    const int32_t word = tn_param_i32(node, 0);
    struct axis a = { .in = node->src[0]->ne[dim], .out = node->ne[dim], .offset = 0.5 };
    a.from = a.in;
    a.to = a.out;
    if (word & GGML_SCALE_FLAG_ALIGN_CORNERS) {
        a.offset = 0.0;
        if (a.in > 1 && a.out > 1) {
            a.from--;
            a.to--;
        }
    }
    a.support = fmax(1.0, (double) a.from / (double) a.to);
    switch (word & MODE) {
    case GGML_SCALE_MODE_BILINEAR:
        a.n_taps = word & GGML_SCALE_FLAG_ANTIALIAS ? 2 * (int64_t) ceil(a.support) + 1 : 2;
        break;
    case GGML_SCALE_MODE_BICUBIC: a.n_taps = 4; break;
    default: a.n_taps = 1;
    }
    return a;
}

// Where element i of the result lies among those of the source.
static double position(const struct axis * a, int64_t i) {
    return ((double) i + a->offset) * (double) a->from / (double) a->to - a->offset;
}

static struct taps nearest(const struct axis * a, int64_t i, float * w) {
    w[0] = 1.0f;
    return (struct taps){ tn_min_i64(i * a->from / a->to, a->in - 1), 1 };
}

static struct taps bilinear(const struct axis * a, int64_t i, float * w) {
    const double u = fmin(fmax(position(a, i), 0.0), (double) (a->in - 1));
    const int64_t first = (int64_t) u;
    const double part = u - (double) first;
    w[0] = (float) (1.0 - part);
    w[1] = (float) part;
    return (struct taps){ first, part > 0.0 ? 2 : 1 };
}

// A triangle, cut at the edges, of sum 1.
static struct taps antialiased(const struct axis * a, int64_t i, float * w) {
    const double u = position(a, i);
    const int64_t first = tn_max_i64((int64_t) floor(u - a->support) + 1, 0);
    const int64_t end = tn_min_i64((int64_t) ceil(u + a->support), a->in);
    double sum = 0.0;
    for (int64_t j = first; j < end; j++)
        sum += fmax(0.0, 1.0 - fabs((double) j - u) / a->support);
    for (int64_t j = first; j < end; j++)
        w[j - first] = (float) (fmax(0.0, 1.0 - fabs((double) j - u) / a->support) / sum);
    return (struct taps){ first, end - first };
}

// Cubic convolution with a = -0.75, at distance d.
static double cubic(double d) {
    if (d <= 1.0) return (1.25 * d - 2.25) * d * d + 1.0;
    return d < 2.0 ? -0.75 * (((d - 5.0) * d + 8.0) * d - 4.0) : 0.0;
}

// Of neighbours beyond an edge the edge takes the weight.
static struct taps bicubic(const struct axis * a, int64_t i, float * w) {
    const double u = position(a, i);
    const int64_t base = (int64_t) floor(u) - 1;
    const int64_t first = tn_min_i64(tn_max_i64(base, 0), a->in - 1);
    const int64_t last = tn_max_i64(tn_min_i64(base + 3, a->in - 1), first);
    double sums[4] = { 0 };
    for (int64_t j = base; j < base + 4; j++)
        sums[tn_min_i64(tn_max_i64(j, first), last) - first] += cubic(fabs((double) j - u));
    for (int k = 0; k < 4; k++)
        w[k] = (float) sums[k];
    return (struct taps){ first, last - first + 1 };
}

static struct taps taps_of(const struct axis * a, int32_t word, int64_t i, float * w) {
    switch (word & MODE) {
    case GGML_SCALE_MODE_BILINEAR:
        return word & GGML_SCALE_FLAG_ANTIALIAS ? antialiased(a, i, w) : bilinear(a, i, w);
    case GGML_SCALE_MODE_BICUBIC: return bicubic(a, i, w);
    default: return nearest(a, i, w);
    }
}

static void add_row(const struct resize * s, float * sum, const char * row, float weight, bool is_first) {
    float buf[TN_TILE];
    for (int64_t i = 0; i < s->x.ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, s->x.ne[0] - i);
        const float * x = tn_operand_load(&s->x, row, i, n, buf);
        if (!is_first) {
            tn_gemm_float_axpy(n, sum + i, x, weight);
        } else if (weight == 1.0f) {
            memcpy(sum + i, x, (size_t) n * sizeof(float));
        } else {
            for (int64_t k = 0; k < n; k++)
                sum[i + k] = weight * x[k];
        }
    }
}

static int64_t nearest_of(int64_t i, int64_t in, int64_t out) {
    return i * in / out;
}

// The weighted sum of rows for row i1 of the result, in the size of the source.
static void sum_rows(const struct resize * s, int64_t i1, int64_t i2, int64_t i3, float * sum) {
    const struct taps t = s->taps[1][i1];
    const float * w = s->weights[1] + i1 * s->axis[1].n_taps;
    i2 = nearest_of(i2, s->x.ne[2], s->y.ne[2]);
    i3 = nearest_of(i3, s->x.ne[3], s->y.ne[3]);
    for (int64_t k = 0; k < t.n; k++)
        add_row(s, sum, tn_operand_row(&s->x, t.first + k, i2, i3), w[k], k == 0);
}

static float sum_taps(const float * x, const float * w, int64_t n) {
    float sum = w[0] * x[0];
    for (int64_t k = 1; k < n; k++)
        sum += w[k] * x[k];
    return sum;
}

static void resize_row(const struct resize * s, int64_t row, float * sum) {
    const int64_t i1 = row % s->y.ne[1], i2 = row / s->y.ne[1] % s->y.ne[2];
    const int64_t i3 = row / s->y.ne[1] / s->y.ne[2];
    char * y = tn_operand_row(&s->y, i1, i2, i3);
    float buf[TN_TILE];
    sum_rows(s, i1, i2, i3, sum);
    for (int64_t i = 0; i < s->y.ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, s->y.ne[0] - i);
        for (int64_t k = 0; k < n; k++) {
            const struct taps t = s->taps[0][i + k];
            buf[k] = sum_taps(sum + t.first, s->weights[0] + (i + k) * s->axis[0].n_taps, t.n);
        }
        tn_operand_store(&s->y, y, i, n, buf);
    }
}

static void resize_part(const void * arg, const struct tn_cpu_part * part) {
    for (int64_t row = part->begin; row < part->end; row++)
        resize_row(arg, row, (float *) part->scratch);
}

// Fills the tables of both dimensions.
static void make_taps(struct resize * s, int32_t word, char * memory) {
    for (int d = 0; d < 2; d++) {
        const struct axis * a = &s->axis[d];
        struct taps * taps = (struct taps *) memory;
        float * weights = (float *) (taps + a->out);
        for (int64_t i = 0; i < a->out; i++)
            taps[i] = taps_of(a, word, i, weights + i * a->n_taps);
        s->taps[d] = taps;
        s->weights[d] = weights;
        memory = (char *) tn_align_up((size_t) (weights + a->out * a->n_taps), sizeof(struct taps));
    }
}

static enum ggml_status upscale_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct resize s = { .y = tn_operand_of(node), .x = tn_operand_of(node->src[0]) };
    for (int d = 0; d < 2; d++)
        s.axis[d] = axis_of(node, d);
    make_taps(&s, tn_param_i32(node, 0), run->shared);
    const int64_t cost = s.axis[1].n_taps * s.axis[0].in + 2 * s.axis[0].n_taps * s.axis[0].out;
    tn_cpu_run_parts(run, s.y.ne[1] * s.y.ne[2] * s.y.ne[3], cost, (struct tn_cpu_work){ resize_part, &s });
    return GGML_STATUS_SUCCESS;
}

static struct tn_cpu_scratch upscale_scratch(const struct ggml_tensor * node) {
    size_t shared = 0;
    for (int d = 0; d < 2; d++) {
        const struct axis a = axis_of(node, d);
        shared += (size_t) a.out * (sizeof(struct taps) + (size_t) a.n_taps * sizeof(float));
        shared += sizeof(struct taps);
    }
    return (struct tn_cpu_scratch){ shared, (size_t) node->src[0]->ne[0] * sizeof(float) };
}

// The products of sizes and indices are formed in 64 bits.
static bool upscale_supports(const struct ggml_tensor * node) {
    for (int d = 0; d < 4; d++) {
        if (node->ne[d] <= INT32_MAX && node->src[0]->ne[d] <= INT32_MAX) continue;
        return tn_refuse("sizes of 2^31 or more: dimension %d goes from %" PRId64 " to %" PRId64, d,
                         node->src[0]->ne[d], node->ne[d]);
    }
    return true;
}

const struct tn_cpu_op tn_cpu_op_upscale = { .supports = upscale_supports,
                                             .scratch = upscale_scratch,
                                             .run = upscale_run };
