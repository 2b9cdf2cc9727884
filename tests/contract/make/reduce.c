// SPDX-License-Identifier: MIT
// sum sum_rows cumsum mean argmax count_equal, and the norms.
#include "contract/make/makers.h"

typedef struct ggml_tensor * builder(struct ggml_context * ctx, struct ggml_tensor * a);

struct ggml_tensor * make_reduce(struct draw * d) {
    builder * const build[] = { ggml_sum, ggml_sum_rows, ggml_cumsum, ggml_mean };
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    return build[d->op - GGML_OP_SUM](d->ctx, draw_source(d, 0, ne));
}

// Few different values, so that there are ties.
static void make_whole(struct ggml_tensor * x) {
    int64_t i[4] = { 0 };
    for (int64_t k = 0; ggml_blck_size(x->type) == 1 && k < ggml_nelements(x); k++, cpu_next(x, i))
        cpu_put(x, i, floor(cpu_get(x, i[0], i[1], i[2], i[3])));
}

struct ggml_tensor * make_argmax(struct draw * d) {
    const int64_t ne[] = { draw_row(d, 1, false), draw_size(d, 12), 1, 1 };
    struct ggml_tensor * a = draw_source(d, 0, ne);
    if (draw_chance(d, 2)) make_whole(a);
    return ggml_argmax(d->ctx, a);
}

struct ggml_tensor * make_count_equal(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 2, false, ne);
    struct ggml_tensor * a = draw_indices(d, 0, ne, 3);
    return ggml_count_equal(d->ctx, a, draw_chance(d, 4) ? a : draw_indices(d, 1, ne, 3));
}

typedef struct ggml_tensor * norm_builder(struct ggml_context * ctx, struct ggml_tensor * a, float eps);

static norm_builder * norm_of(enum ggml_op op, bool in_place) {
    switch (op) {
    case GGML_OP_NORM: return in_place ? ggml_norm_inplace : ggml_norm;
    case GGML_OP_RMS_NORM: return in_place ? ggml_rms_norm_inplace : ggml_rms_norm;
    default: return in_place ? ggml_l2_norm_inplace : ggml_l2_norm;
    }
}

struct ggml_tensor * make_norm(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    return norm_of(d->op, draw_in_place(d))(d->ctx, a, draw_float(d, 1e-3f, 0.1f));
}

struct ggml_tensor * make_group_norm(struct draw * d) {
    const int64_t ne[] = { draw_row(d, 1, false), draw_size(d, 3), draw_size(d, 9), draw_size(d, 2) };
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const int n = 1 + (int) draw_below(d, ne[2] ? ne[2] : 1);
    return (draw_in_place(d) ? ggml_group_norm_inplace : ggml_group_norm)(d->ctx, a, n, 1e-3f);
}

struct ggml_tensor * make_rms_norm_back(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 2, false, ne);
    struct ggml_tensor * g = draw_source(d, 0, ne);
    return ggml_rms_norm_back(d->ctx, g, draw_source(d, 1, ne), draw_float(d, 1e-3f, 0.1f));
}
