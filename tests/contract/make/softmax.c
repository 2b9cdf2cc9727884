// SPDX-License-Identifier: MIT
// soft_max soft_max_back cross_entropy_loss and its gradient, steps of optimisers.
#include "contract/make/makers.h"

// From nothing to everything is masked.
static void sprinkle(struct draw * d, struct ggml_tensor * mask) {
    const int64_t in_ten = draw_below(d, 11);
    int64_t i[4] = { 0 };
    for (int64_t k = 0; ggml_blck_size(mask->type) == 1 && k < ggml_nelements(mask); k++, cpu_next(mask, i)) {
        if (draw_below(d, 10) < in_ten) cpu_put(mask, i, -INFINITY);
    }
}

struct ggml_tensor * make_soft_max(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 1, false, ne);
    struct ggml_tensor * a = draw_ranged(d, 0, ne, -6.0f, 6.0f);
    const bool in_place = draw_in_place(d);
    struct ggml_tensor * mask = NULL;
    if (draw_chance(d, 2)) {
        const int64_t ne_mask[] = { ne[0], ne[1] + draw_below(d, 3), draw_divisor(d, ne[2]),
                                    draw_divisor(d, ne[3]) };
        mask = draw_ranged(d, 1, ne_mask, -3.0f, 0.0f);
        if (mask->type == GGML_TYPE_F16 || mask->type == GGML_TYPE_F32) sprinkle(d, mask);
    }
    const float scale = draw_float(d, 0.1f, 2.0f), bias = mask && draw_chance(d, 2) ? 8.0f : 0.0f;
    struct ggml_tensor * y =
        (in_place ? ggml_soft_max_ext_inplace : ggml_soft_max_ext)(d->ctx, a, mask, scale, bias);
    if (draw_chance(d, 2))
        ggml_soft_max_add_sinks(y, draw_ranged(d, 2, (const int64_t[]){ ne[2], 1, 1, 1 }, -3.0f, 9.0f));
    return y;
}

struct ggml_tensor * make_soft_max_back(struct draw * d) {
    int64_t ne[4];
    draw_shape(d, 2, false, ne);
    struct ggml_tensor * g = draw_source(d, 0, ne);
    struct ggml_tensor * y = draw_ranged(d, 1, ne, 0.0f, 0.1f);
    const float scale = draw_float(d, 0.1f, 2.0f);
    return (draw_in_place(d) ? ggml_soft_max_ext_back_inplace : ggml_soft_max_ext_back)(d->ctx, g, y, scale,
                                                                                        0.0f);
}

struct ggml_tensor * make_cross_entropy(struct draw * d) {
    const int first = d->op == GGML_OP_CROSS_ENTROPY_LOSS_BACK;
    int64_t ne[4];
    draw_shape(d, first + 2, false, ne);
    struct ggml_tensor * logits = draw_ranged(d, first, ne, -9.0f, 9.0f);
    struct ggml_tensor * labels = draw_ranged(d, first + 1, ne, 0.0f, 0.1f);
    if (!first) return ggml_cross_entropy_loss(d->ctx, logits, labels);
    struct ggml_tensor * g = draw_source(d, 0, (const int64_t[]){ 1, 1, 1, 1 });
    return ggml_cross_entropy_loss_back(d->ctx, g, logits, labels);
}

struct ggml_tensor * make_opt_step(struct draw * d) {
    static const float usual[] = { 0.01f, 0.9f, 0.999f, 1e-8f, 0.1f, 2.5f, 50.0f };
    static const float other[] = { 0.3f, 0.6f, 0.8f, 0.2f, 0.05f, 1.5f, 3.0f };
    const float * settings = draw_chance(d, 2) ? usual : other;
    const bool adamw = d->op == GGML_OP_OPT_STEP_ADAMW;
    int64_t ne[4];
    draw_shape(d, adamw ? 4 : 2, false, ne);
    struct ggml_tensor * w = draw_target(d, 0, ne);
    w->op = GGML_OP_NONE; // parameters are leafs
    struct ggml_tensor * g = draw_source(d, 1, ne);
    struct ggml_tensor * m = adamw ? draw_target(d, 2, ne) : NULL;
    struct ggml_tensor * v = adamw ? draw_target(d, 3, ne) : NULL;
    const int64_t n = adamw ? 7 : 2;
    struct ggml_tensor * p = draw_source(d, adamw ? 4 : 2, (const int64_t[]){ n, 1, 1, 1 });
    ggml_set_param(w);
    if (ggml_blck_size(p->type) > 1) return ggml_opt_step_sgd(d->ctx, w, g, p);
    for (int64_t i = 0; i < ggml_nelements(p); i++) // one, where a wild type refuses a row of n
        cpu_put(p, (const int64_t[]){ i, 0, 0, 0 }, (double) settings[i]);
    if (!adamw) return ggml_opt_step_sgd(d->ctx, w, g, p);
    int64_t i[4] = { 0 };
    for (int64_t k = 0; ggml_blck_size(v->type) == 1 && k < ggml_nelements(v); k++, cpu_next(v, i))
        cpu_put(v, i, fabs(cpu_get(v, i[0], i[1], i[2], i[3])));
    return ggml_opt_step_adamw(d->ctx, w, g, m, v, p);
}
