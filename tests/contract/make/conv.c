// SPDX-License-Identifier: MIT
// Convolutions, unfolding, pooling.
#include "contract/make/makers.h"
#include "op/draw_window.h"

static int size(struct draw * d, int64_t n) {
    return 1 + (int) draw_below(d, n);
}

// Small images with small kernels: the first source is the kernel.
struct ggml_tensor * make_conv_2d(struct draw * d) {
    const int64_t ic = draw_size(d, 5);
    const int64_t kernel[] = { size(d, 4), size(d, 3), ic, draw_size(d, 5) };
    const int64_t in[] = { size(d, 16), size(d, 7), ic, draw_size(d, 2) };
    const struct oracle_window w = draw_window(&d->rng, (const int64_t[]){ kernel[0], kernel[1], 1 }, in);
    struct ggml_tensor * a = draw_source(d, 0, kernel);
    return ggml_conv_2d_direct(d->ctx, a, draw_source(d, 1, in), w.s[0], w.s[1], w.p[0], w.p[1], w.d[0],
                               w.d[1]);
}

struct ggml_tensor * make_conv_3d(struct draw * d) {
    const int ic = size(d, 3), oc = size(d, 3), n = (int) draw_size(d, 2);
    const int64_t kernel[] = { size(d, 3), size(d, 3), size(d, 2), ic * oc };
    const int64_t in[] = { size(d, 8), size(d, 6), size(d, 5), ic * n };
    const struct oracle_window w = draw_window(&d->rng, kernel, in);
    struct ggml_tensor * a = draw_source(d, 0, kernel);
    return ggml_conv_3d_direct(d->ctx, a, draw_source(d, 1, in), w.s[0], w.s[1], w.s[2], w.p[0], w.p[1],
                               w.p[2], w.d[0], w.d[1], w.d[2], ic, n, oc);
}

// The channels come first in memory.
static struct ggml_tensor * channels_first(struct draw * d, int i, const int64_t * ne, const int * axes) {
    int64_t in_memory[4];
    for (int k = 0; k < 4; k++)
        in_memory[k] = ne[axes[k]];
    struct ggml_tensor * base = draw_source(d, i, in_memory);
    return ggml_permute(d->ctx, base, axes[0], axes[1], axes[2], axes[3]);
}

struct ggml_tensor * make_conv_2d_dw(struct draw * d) {
    const int64_t channels = draw_size(d, 20);
    const int64_t kernel[] = { size(d, 4), size(d, 3), 1, channels };
    const int64_t in[] = { size(d, 14), size(d, 6), channels, draw_size(d, 2) };
    const struct oracle_window w = draw_window(&d->rng, (const int64_t[]){ kernel[0], kernel[1], 1 }, in);
    const bool turned = draw_chance(d, 2);
    struct ggml_tensor * a =
        turned ? channels_first(d, 0, kernel, (const int[]){ 3, 0, 1, 2 }) : draw_source(d, 0, kernel);
    struct ggml_tensor * x =
        turned ? channels_first(d, 1, in, (const int[]){ 2, 0, 1, 3 }) : draw_source(d, 1, in);
    return ggml_conv_2d_dw_direct(d->ctx, a, x, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1]);
}

struct ggml_tensor * make_conv_transpose_1d(struct draw * d) {
    const int64_t ic = draw_size(d, 5);
    const int64_t kernel[] = { size(d, 9), draw_size(d, 5), ic, 1 };
    struct ggml_tensor * a = draw_source(d, 0, kernel);
    struct ggml_tensor * x = draw_source(d, 1, (const int64_t[]){ size(d, 24), ic, 1, 1 });
    return ggml_conv_transpose_1d(d->ctx, a, x, size(d, 6), 0, 1);
}

struct ggml_tensor * make_conv_transpose_2d(struct draw * d) {
    const int64_t ic = draw_size(d, 4);
    const int64_t kernel[] = { size(d, 4), size(d, 3), draw_size(d, 4), ic };
    struct ggml_tensor * a = draw_source(d, 0, kernel);
    struct ggml_tensor * x =
        draw_source(d, 1, (const int64_t[]){ size(d, 9), size(d, 6), ic, draw_size(d, 2) });
    return ggml_conv_transpose_2d_p0(d->ctx, a, x, size(d, 3));
}

// --- columns

struct ggml_tensor * make_im2col(struct draw * d) {
    const bool is_2d = draw_chance(d, 2);
    const int64_t kernel[] = { size(d, 4), is_2d ? size(d, 3) : 1, 1 };
    const int64_t in[] = { size(d, 16), size(d, 6), draw_size(d, 4), is_2d ? draw_size(d, 2) : 1 };
    const struct oracle_window w = draw_window(&d->rng, kernel, in);
    struct ggml_tensor * x = draw_source(d, 1, in);
    const int64_t ne[] = { kernel[0], is_2d ? kernel[1] : in[1], is_2d ? in[2] : 2, is_2d ? 2 : 1 };
    struct ggml_tensor * a = draw_source(d, 0, ne);
    return ggml_im2col(d->ctx, a, x, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1], is_2d, d->result);
}

struct ggml_tensor * make_im2col_back(struct draw * d) {
    const bool is_2d = draw_chance(d, 2);
    const int64_t kernel[] = { size(d, 4), is_2d ? size(d, 3) : 1, 1 };
    int64_t in[] = { size(d, 16), size(d, 6), draw_size(d, 4), is_2d ? draw_size(d, 2) : 1 };
    const struct oracle_window w = draw_window(&d->rng, kernel, in);
    const int64_t ne[] = { kernel[0], is_2d ? kernel[1] : in[1], is_2d ? in[2] : 2, is_2d ? 2 : 1 };
    struct ggml_tensor * a = draw_source(d, 1, ne);
    struct ggml_tensor * x = ggml_new_tensor(d->ctx, GGML_TYPE_F32, 4, in);
    struct ggml_tensor * columns =
        ggml_im2col(d->ctx, a, x, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1], is_2d, GGML_TYPE_F32);
    struct ggml_tensor * g = draw_source(d, 0, columns->ne);
    return ggml_im2col_back(d->ctx, g, a, in, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1], is_2d);
}

struct ggml_tensor * make_im2col_3d(struct draw * d) {
    const int64_t ic = 1 + draw_below(d, 3);
    const int64_t kernel[] = { size(d, 3), size(d, 3), size(d, 2), ic * 2 };
    const int64_t in[] = { size(d, 9), size(d, 5), size(d, 4), ic * draw_size(d, 2) };
    const struct oracle_window w = draw_window(&d->rng, kernel, in);
    struct ggml_tensor * a = draw_source(d, 0, kernel);
    return ggml_im2col_3d(d->ctx, a, draw_source(d, 1, in), ic, w.s[0], w.s[1], w.s[2], w.p[0], w.p[1],
                          w.p[2], w.d[0], w.d[1], w.d[2], d->result);
}

struct ggml_tensor * make_col2im_1d(struct draw * d) {
    const int oc = size(d, 4), k = size(d, 8), stride = size(d, 4);
    const int64_t columns = 1 + draw_below(d, 12);
    struct ggml_tensor * a = draw_source(d, 0, (const int64_t[]){ k * oc, columns, 1, 1 });
    const int64_t length = (columns - 1) * stride + k;
    return ggml_col2im_1d(d->ctx, a, stride, oc, (int) draw_below(d, (length + 1) / 2));
}

// --- pools

static enum ggml_op_pool kind(struct draw * d) {
    return draw_chance(d, 2) ? GGML_OP_POOL_MAX : GGML_OP_POOL_AVG;
}

struct pool {
    int k[2], s[2], p[2];
};

// Such that a window fits.
static struct pool draw_pool(struct draw * d, const int64_t * ne) {
    struct pool w;
    for (int i = 0; i < 2; i++) {
        w.p[i] = (int) draw_below(d, 3);
        const int64_t most = ne[i] + 2 * w.p[i];
        w.k[i] = size(d, most > 5 ? 5 : most > 0 ? most : 1);
        w.s[i] = size(d, 4);
    }
    return w;
}

struct ggml_tensor * make_pool_1d(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    const struct pool w = draw_pool(d, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    return ggml_pool_1d(d->ctx, a, kind(d), w.k[0], w.s[0], w.p[0]);
}

struct ggml_tensor * make_pool_2d(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    const struct pool w = draw_pool(d, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const float half = draw_chance(d, 4) ? 0.5f : 0.0f; // half a padding counts in the size alone
    return ggml_pool_2d(d->ctx, a, kind(d), w.k[0], w.k[1], w.s[0], w.s[1], (float) w.p[0] + half,
                        (float) w.p[1] + half);
}

struct ggml_tensor * make_pool_2d_back(struct draw * d) {
    const int64_t ne[] = { ggml_blck_size(d->types[1]) > 1 ? draw_row(d, 2, false) : size(d, 20), size(d, 6),
                           draw_size(d, 3), draw_size(d, 2) };
    const struct pool w = draw_pool(d, ne);
    struct ggml_tensor * x = draw_source(d, 1, ne);
    const enum ggml_op_pool op = kind(d);
    struct ggml_tensor * y = ggml_pool_2d(d->ctx, ggml_new_tensor(d->ctx, GGML_TYPE_F32, 4, ne), op, w.k[0],
                                          w.k[1], w.s[0], w.s[1], (float) w.p[0], (float) w.p[1]);
    struct ggml_tensor * g = draw_source(d, 0, y->ne);
    return ggml_pool_2d_back(d->ctx, g, x, op, w.k[0], w.k[1], w.s[0], w.s[1], (float) w.p[0],
                             (float) w.p[1]);
}
