// SPDX-License-Identifier: MIT
// acc set.
#include "contract/make/makers.h"

// The strides of the tensor that the result is: those of a in place, else contiguous ones.
static void result_strides(const struct ggml_tensor * a, bool in_place, size_t * nb) {
    nb[0] = ggml_type_size(a->type);
    for (int i = 1; i < 4; i++)
        nb[i] = nb[i - 1] * (size_t) a->ne[i - 1];
    if (in_place) memcpy(nb, a->nb, sizeof(a->nb));
}

struct ggml_tensor * make_region(struct draw * d) {
    int64_t ne[4], part[4];
    draw_shape(d, 2, false, ne);
    struct ggml_tensor * a = draw_source(d, 0, ne);
    const bool in_place = draw_in_place(d);
    size_t nb[4], offset = 0;
    result_strides(a, in_place, nb);
    for (int i = 0; i < 4; i++) {
        part[i] = ne[i] ? 1 + draw_below(d, ne[i]) : 0;
        offset += (size_t) draw_below(d, ne[i] - part[i] + 1) * nb[i];
    }
    struct ggml_tensor * b = draw_source(d, 1, part);
    if (!in_place && draw_chance(d, 4)) // rows may overlap
        nb[1 + draw_below(d, 3)] = nb[0] * (size_t) (1 + draw_below(d, 8));
    if (d->op == GGML_OP_ACC)
        return (in_place ? ggml_acc_inplace : ggml_acc)(d->ctx, a, b, nb[1], nb[2], nb[3], offset);
    return (in_place ? ggml_set_inplace : ggml_set)(d->ctx, a, b, nb[1], nb[2], nb[3], offset);
}
