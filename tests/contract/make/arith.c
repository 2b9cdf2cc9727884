// SPDX-License-Identifier: MIT
// add sub mul div add1 silu_back.
#include "contract/make/makers.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // add1 must go on working

typedef struct ggml_tensor * builder(struct ggml_context * ctx, struct ggml_tensor * a,
                                     struct ggml_tensor * b);

struct ggml_tensor * make_binary(struct draw * d) {
    builder * const plain[] = { ggml_add, ggml_sub, ggml_mul, ggml_div };
    builder * const in_place[] = { ggml_add_inplace, ggml_sub_inplace, ggml_mul_inplace, ggml_div_inplace };
    const int which = d->op == GGML_OP_ADD ? 0 : 1 + (int) (d->op - GGML_OP_SUB);
    const bool cast = d->op == GGML_OP_ADD && d->result != d->types[0];
    int64_t ne[4], ne_b[4];
    draw_shape(d, 1, true, ne);
    for (int i = 0; i < 4; i++)
        ne_b[i] = ggml_blck_size(d->types[0]) > 1 || (cast && i == 0) ? ne[i] : draw_divisor(d, ne[i]);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const float lo = d->op == GGML_OP_DIV ? 0.25f : -2.0f;
    struct ggml_tensor * b = draw_ranged(d, 1, ne_b, lo, 2.0f);
    if (cast) return ggml_add_cast(d->ctx, a, b, d->result);
    if (d->result == d->types[0] && draw_in_place(d)) return in_place[which](d->ctx, a, b);
    return draw_retyped(d, plain[which](d->ctx, a, b));
}

struct ggml_tensor * make_add1(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, true, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    struct ggml_tensor * b = draw_source(d, 1, (const int64_t[]){ 1, 1, 1, 1 });
    return (draw_in_place(d) ? ggml_add1_inplace : ggml_add1)(d->ctx, a, b);
}

struct ggml_tensor * make_silu_back(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 2, false, ne);
    struct ggml_tensor * g = draw_source(d, 0, ne);
    return ggml_silu_back(d->ctx, g, draw_ranged(d, 1, ne, -9.0f, 9.0f));
}
