// SPDX-License-Identifier: MIT
// upscale pad pad_reflect_1d roll, windows and relative positions, generators.
#include "contract/make/makers.h"

static int size(struct draw * d, int64_t n) {
    return 1 + (int) draw_below(d, n);
}

struct ggml_tensor * make_upscale(struct draw * d) {
    static const uint32_t modes[] = {
        GGML_SCALE_MODE_NEAREST,
        GGML_SCALE_MODE_BILINEAR,
        GGML_SCALE_MODE_BICUBIC,
        GGML_SCALE_MODE_BILINEAR | GGML_SCALE_FLAG_ANTIALIAS,
        GGML_SCALE_MODE_NEAREST | GGML_SCALE_FLAG_ALIGN_CORNERS,
        GGML_SCALE_MODE_BILINEAR | GGML_SCALE_FLAG_ALIGN_CORNERS,
        GGML_SCALE_MODE_BICUBIC | GGML_SCALE_FLAG_ALIGN_CORNERS,
        GGML_SCALE_MODE_BILINEAR | GGML_SCALE_FLAG_ANTIALIAS | GGML_SCALE_FLAG_ALIGN_CORNERS,
    };
    const int64_t block = ggml_blck_size(d->types[0]);
    const int64_t ne[] = { block * size(d, block > 1 ? 1 : 14), size(d, 6), draw_size(d, 2),
                           draw_size(d, 2) };
    struct ggml_tensor * a = draw_source(d, 0, ne);
    if (draw_chance(d, 4)) return ggml_upscale(d->ctx, a, 2 + (int) draw_below(d, 2), draw_below(d, 3));
    return ggml_interpolate(d->ctx, a, size(d, 20), size(d, 9), ne[2] * size(d, 2), ne[3] * size(d, 2),
                            modes[draw_below(d, 8)]);
}

struct ggml_tensor * make_pad(struct draw * d) {
    int64_t ne[4];
    int p[8];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    for (int i = 0; i < 8; i++)
        p[i] = (int) (draw_chance(d, 2) ? 0 : draw_below(d, 4));
    if (ggml_nelements(a) > 0 && draw_chance(d, 2))
        return ggml_pad_ext_circular(d->ctx, a, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
    if (draw_chance(d, 4)) return ggml_pad(d->ctx, a, p[0], p[1], p[2], p[3]);
    return ggml_pad_ext(d->ctx, a, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
}

struct ggml_tensor * make_pad_reflect_1d(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const int64_t most = ne[0] ? ne[0] : 1;
    return ggml_pad_reflect_1d(d->ctx, a, (int) draw_below(d, most), (int) draw_below(d, most));
}

struct ggml_tensor * make_roll(struct draw * d) {
    int64_t ne[4];
    int shift[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    for (int i = 0; i < 4; i++)
        shift[i] = ne[i] ? (int) (draw_below(d, 2 * ne[i] - 1) - (ne[i] - 1)) : 0;
    return ggml_roll(d->ctx, a, shift[0], shift[1], shift[2], shift[3]);
}

struct ggml_tensor * make_win_part(struct draw * d) {
    const int64_t ne[] = { draw_row(d, 1, false), size(d, 9), size(d, 7), 1 };
    struct ggml_tensor * a = draw_source(d, 0, ne);
    return ggml_win_part(d->ctx, a, size(d, 5));
}

struct ggml_tensor * make_win_unpart(struct draw * d) {
    const int w0 = size(d, 9), h0 = size(d, 7), w = size(d, 5);
    const int64_t n = (int64_t) ((w0 + w - 1) / w) * ((h0 + w - 1) / w);
    const int64_t ne[] = { draw_size(d, 20) * ggml_blck_size(d->types[0]), w, w, n };
    return ggml_win_unpart(d->ctx, draw_source(d, 0, ne), w0, h0, w);
}

struct ggml_tensor * make_get_rel_pos(struct draw * d) {
    const int n = size(d, 9);
    struct ggml_tensor * a = draw_source(d, 0, (const int64_t[]){ draw_row(d, 1, false), 2 * n - 1, 1, 1 });
    return ggml_get_rel_pos(d->ctx, a, n, n);
}

struct ggml_tensor * make_add_rel_pos(struct draw * d) {
    int64_t ne[] = { size(d, 7), size(d, 5), size(d, 5), draw_size(d, 3) };
    if (ggml_blck_size(d->types[0]) > 1) ne[0] = 16;
    struct ggml_tensor * a = draw_source(d, 0, (const int64_t[]){ ne[0] * ne[0], ne[1] * ne[2], ne[3], 1 });
    const bool in_place = draw_in_place(d);
    if (ggml_blck_size(d->types[1]) > 1 || ggml_blck_size(d->types[2]) > 1) ne[0] = 256;
    struct ggml_tensor * w = draw_source(d, 1, ne);
    struct ggml_tensor * h = draw_source(d, 2, ne);
    return (in_place ? ggml_add_rel_pos_inplace : ggml_add_rel_pos)(d->ctx, a, w, h);
}

struct ggml_tensor * make_arange(struct draw * d) {
    const float start = draw_float(d, -5.0f, 5.0f), step = draw_float(d, 0.05f, 2.0f);
    return ggml_arange(d->ctx, start, start + draw_float(d, 0.01f, 40.0f), step);
}

struct ggml_tensor * make_timestep(struct draw * d) {
    const int64_t n = draw_size(d, 6) * ggml_blck_size(d->types[0]);
    struct ggml_tensor * t = draw_ranged(d, 0, (const int64_t[]){ n, 1, 1, 1 }, 0.0f, 1000.0f);
    return ggml_timestep_embedding(d->ctx, t, size(d, 130), 10 + (int) draw_below(d, 10000));
}
