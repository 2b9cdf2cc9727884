// SPDX-License-Identifier: MIT
// dup cpy cont repeat repeat_back concat, and the views.
#include "contract/make/makers.h"

struct ggml_tensor * make_dup(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, true, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    if (d->result == d->types[0] && draw_in_place(d)) return ggml_dup_inplace(d->ctx, a);
    return draw_retyped(d, ggml_dup(d->ctx, a));
}

// Another shape for as many elements: neighbouring dimensions become one.
static void merge(struct draw * d, const int64_t * from, int64_t * to) {
    const int joined = (int) draw_below(d, 4); // 0: as it is
    int n = 0;
    for (int i = 0; i < 4; i++) {
        if (i > 0 && i == joined)
            to[n - 1] *= from[i];
        else
            to[n++] = from[i];
    }
    while (n < 4)
        to[n++] = 1;
}

struct ggml_tensor * make_cpy(struct draw * d) {
    int64_t ne[4], other[4];
    draw_shape(d, 1, true, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    if (draw_chance(d, 2)) return ggml_cast(d->ctx, a, d->result);
    merge(d, ne, other);
    return ggml_cpy(d->ctx, a, draw_destination(d, d->result, other));
}

struct ggml_tensor * make_cont(struct draw * d) {
    int64_t ne[4], other[4];
    draw_shape(d, 1, true, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    if (draw_chance(d, 2)) return ggml_cont(d->ctx, a);
    merge(d, ne, other);
    return ggml_cont_4d(d->ctx, a, other[0], other[1], other[2], other[3]);
}

struct ggml_tensor * make_repeat(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    for (int i = 0; i < 4; i++)
        ne[i] *= 1 + draw_below(d, ne[i] > 40 ? 2 : 3);
    if (draw_chance(d, 2)) return ggml_repeat_4d(d->ctx, a, ne[0], ne[1], ne[2], ne[3]);
    return ggml_repeat(d->ctx, a, ggml_new_tensor(d->ctx, a->type, 4, ne));
}

struct ggml_tensor * make_repeat_back(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * like = ggml_new_tensor(d->ctx, GGML_TYPE_F32, 4, ne);
    for (int i = 0; i < 4; i++)
        ne[i] *= 1 + draw_below(d, ne[i] > 40 ? 2 : 4);
    return ggml_repeat_back(d->ctx, draw_source(d, 0, ne), like);
}

struct ggml_tensor * make_concat(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 2, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const int dim = (int) draw_below(d, 4);
    ne[dim] = dim == 0 ? draw_row(d, 2, false) : draw_size(d, 3);
    return ggml_concat(d->ctx, a, draw_source(d, 1, ne), dim);
}

// --- views

struct ggml_tensor * make_reshape(struct draw * d) {
    int64_t ne[4], other[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    merge(d, ne, other);
    if (draw_chance(d, 2)) return ggml_reshape(d->ctx, a, ggml_new_tensor(d->ctx, a->type, 4, other));
    return ggml_reshape_4d(d->ctx, a, other[0], other[1], other[2], other[3]);
}

// A part of a.
struct ggml_tensor * make_view(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const int64_t block = ggml_blck_size(a->type);
    size_t offset = 0;
    for (int i = 0; i < 4; i++) {
        const int64_t unit = i == 0 ? block : 1, n = ne[i] / unit;
        const int64_t left = n > 0 ? 1 + draw_below(d, n) : 0;
        offset += (size_t) draw_below(d, n - left + 1) * a->nb[i];
        ne[i] = left * unit;
    }
    if (draw_chance(d, 4)) return ggml_view_1d(d->ctx, a, ne[0], offset);
    return ggml_view_4d(d->ctx, a, ne[0], ne[1], ne[2], ne[3], a->nb[1], a->nb[2], a->nb[3], offset);
}

struct ggml_tensor * make_permute(struct draw * d) {
    int64_t ne[4];
    int axes[] = { 0, 1, 2, 3 };
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const int first = ggml_blck_size(a->type) > 1 && !draw_chance(d, 8); // rows of blocks stay rows
    for (int i = 3; i > first; i--) {
        const int j = first + (int) draw_below(d, i - first + 1), t = axes[i];
        axes[i] = axes[j];
        axes[j] = t;
    }
    return ggml_permute(d->ctx, a, axes[0], axes[1], axes[2], axes[3]);
}

struct ggml_tensor * make_transpose(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    if (ggml_blck_size(d->types[0]) > 1) ne[1] = draw_row(d, 1, false);
    return ggml_transpose(d->ctx, draw_source(d, 0, ne));
}
