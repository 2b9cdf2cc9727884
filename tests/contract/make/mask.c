// SPDX-License-Identifier: MIT
// diag tri diag_mask_inf diag_mask_zero, and the sorts.
#include "contract/make/makers.h"

struct ggml_tensor * make_diag(struct draw * d) {
    const int64_t ne[] = { draw_size(d, 40), 1, draw_size(d, 3), draw_size(d, 2) };
    return ggml_diag(d->ctx, draw_source(d, 0, ne));
}

struct ggml_tensor * make_tri(struct draw * d) {
    const int64_t n = draw_size(d, 40);
    struct ggml_tensor * a = draw_source(d, 0, (const int64_t[]){ n, n, draw_size(d, 3), draw_size(d, 2) });
    return ggml_tri(d->ctx, a, (enum ggml_tri_type) draw_below(d, 4));
}

struct ggml_tensor * make_diag_mask(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const int n_past = (int) draw_below(d, ne[0] + 2);
    const bool in_place = draw_in_place(d);
    if (d->op == GGML_OP_DIAG_MASK_INF)
        return (in_place ? ggml_diag_mask_inf_inplace : ggml_diag_mask_inf)(d->ctx, a, n_past);
    return (in_place ? ggml_diag_mask_zero_inplace : ggml_diag_mask_zero)(d->ctx, a, n_past);
}

// Values that meet often: both zeros, both infinities, NaN.
static struct ggml_tensor * sortable(struct draw * d) {
    static const double special[] = { 0.0, -0.0, INFINITY, -INFINITY, NAN, -1.0, 1e-40, -1e-40 };
    int64_t ne[4], i[4] = { 0 };
    draw_shape(d, 1, false, ne);
    if (ne[0] > 400) ne[0] = 400; // ranks are found by comparing all with all
    struct ggml_tensor * a = draw_source(d, 0, ne);
    if (ggml_blck_size(a->type) > 1 || a->type >= GGML_TYPE_I8 || draw_chance(d, 2)) return a;
    for (int64_t k = 0; k < ggml_nelements(a); k++, cpu_next(a, i)) {
        if (draw_chance(d, 3)) cpu_put(a, i, special[draw_below(d, 8)]);
    }
    return a;
}

struct ggml_tensor * make_argsort(struct draw * d) {
    struct ggml_tensor * a = sortable(d);
    return ggml_argsort(d->ctx, a, draw_chance(d, 2) ? GGML_SORT_ORDER_ASC : GGML_SORT_ORDER_DESC);
}

struct ggml_tensor * make_top_k(struct draw * d) {
    struct ggml_tensor * a = sortable(d);
    return ggml_top_k(d->ctx, a, (int) (a->ne[0] ? 1 + draw_below(d, a->ne[0]) : 0));
}
