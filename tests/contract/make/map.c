// SPDX-License-Identifier: MIT
// Maps of one argument, gated units, scale clamp leaky_relu fill.
#include "contract/make/makers.h"

typedef struct ggml_tensor * builder(struct ggml_context * ctx, struct ggml_tensor * a);

struct ggml_tensor * make_map(struct draw * d) {
    builder * const plain[] = { ggml_sqr, ggml_sqrt, ggml_log, ggml_sin, ggml_cos };
    builder * const in_place[] = { ggml_sqr_inplace, ggml_sqrt_inplace, ggml_log_inplace, ggml_sin_inplace,
                                   ggml_cos_inplace };
    const int which = (int) (d->op - GGML_OP_SQR);
    const bool positive = d->op == GGML_OP_SQRT || d->op == GGML_OP_LOG;
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_ranged(d, 0, ne, positive ? 0.05f : -8.0f, 8.0f);
    if (d->result == d->types[0] && draw_in_place(d)) return in_place[which](d->ctx, a);
    return draw_retyped(d, plain[which](d->ctx, a));
}

struct ggml_tensor * make_unary(struct draw * d) {
    const enum ggml_unary_op which = (enum ggml_unary_op) d->which;
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_ranged(d, 0, ne, -6.0f, 6.0f);
    if (which == GGML_UNARY_OP_XIELU)
        return draw_retyped(d, ggml_xielu(d->ctx, a, draw_float(d, 0.1f, 1.0f), draw_float(d, 0.1f, 1.0f),
                                          draw_float(d, 0.2f, 0.8f), draw_chance(d, 2) ? -1e-6f : -0.4f));
    if (d->result == d->types[0] && draw_in_place(d)) return ggml_unary_inplace(d->ctx, a, which);
    return draw_retyped(d, ggml_unary(d->ctx, a, which));
}

struct ggml_tensor * make_glu(struct draw * d) {
    const enum ggml_glu_op which = (enum ggml_glu_op) d->which;
    const bool split = draw_chance(d, 2);
    int64_t ne[4];
    draw_shape(d, 2, false, ne);
    if (!split) ne[0] *= 2;
    struct ggml_tensor * a = draw_ranged(d, 0, ne, -4.0f, 4.0f);
    struct ggml_tensor * b = split ? draw_ranged(d, 1, ne, -4.0f, 4.0f) : NULL;
    if (which == GGML_GLU_OP_SWIGLU_CLAMP) return ggml_swiglu_clamp(d->ctx, a, b, draw_float(d, 0.0f, 3.0f));
    if (which == GGML_GLU_OP_SWIGLU_OAI && split)
        return ggml_swiglu_oai(d->ctx, a, b, draw_float(d, 0.5f, 2.0f), draw_float(d, 0.5f, 3.0f));
    return split ? ggml_glu_split(d->ctx, a, b, which) : ggml_glu(d->ctx, a, which, draw_chance(d, 2));
}

struct ggml_tensor * make_scale(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const float s = draw_float(d, -3.0f, 3.0f), b = draw_chance(d, 2) ? 0.0f : draw_float(d, -1.0f, 1.0f);
    return (draw_in_place(d) ? ggml_scale_bias_inplace : ggml_scale_bias)(d->ctx, a, s, b);
}

struct ggml_tensor * make_clamp(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const float lo = draw_float(d, -2.0f, 0.5f), hi = draw_float(d, 0.5f, 2.0f);
    return (draw_in_place(d) ? ggml_clamp_inplace : ggml_clamp)(d->ctx, a, lo, hi);
}

struct ggml_tensor * make_leaky_relu(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    return ggml_leaky_relu(d->ctx, a, draw_float(d, 0.0f, 0.5f), draw_in_place(d));
}

struct ggml_tensor * make_fill(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    return (draw_in_place(d) ? ggml_fill_inplace : ggml_fill)(d->ctx, a, (float) draw_below(d, 9) - 4.5f);
}
