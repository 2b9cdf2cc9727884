// SPDX-License-Identifier: MIT
// mul_mat mul_mat_id out_prod.
#include "contract/make/makers.h"

struct ggml_tensor * make_mul_mat(struct draw * d) {
    const int64_t k = draw_row(d, 2, false);
    const int64_t b2 = draw_size(d, 4), b3 = draw_size(d, 4), n = draw_size(d, k > 200 ? 6 : 20);
    const int64_t ne_a[] = { k, draw_size(d, k > 200 ? 6 : 24), draw_divisor(d, b2), draw_divisor(d, b3) };
    struct ggml_tensor * a = draw_source(d, 0, ne_a);
    struct ggml_tensor * b = draw_source(d, 1, (const int64_t[]){ k, n, b2, b3 });
    struct ggml_tensor * y = ggml_mul_mat(d->ctx, a, b);
    if (draw_chance(d, 6)) ggml_prec_set_acc(y, GGML_PREC_F32);
    if (draw_chance(d, 6)) ggml_prec_set_src(y, GGML_PREC_F32, 1);
    return y;
}

// The parity of the bits that both indices have gives the sign.
static void make_hadamard_matrix(struct ggml_tensor * a) {
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(a); k++, cpu_next(a, i)) {
        int64_t bits = i[0] & i[1], odd = 0;
        for (; bits; bits &= bits - 1)
            odd ^= 1;
        cpu_put(a, i, (odd ? -1.0 : 1.0) / sqrt((double) a->ne[0]));
    }
}

struct ggml_tensor * make_hadamard(struct draw * d) {
    const int64_t n = (int64_t) 1 << draw_below(d, 9);
    struct ggml_tensor * a = draw_source(d, 0, (const int64_t[]){ n, n, 1, 1 });
    const int64_t ne[] = { n, draw_size(d, 6), draw_size(d, 2), 1 };
    struct ggml_tensor * y = ggml_mul_mat(d->ctx, a, draw_source(d, 1, ne));
    if (ggml_blck_size(a->type) > 1) return y;
    make_hadamard_matrix(a);
    if (a->type == GGML_TYPE_F32) ggml_mul_mat_set_hint(y, GGML_HINT_SRC0_IS_HADAMARD);
    return y;
}

struct ggml_tensor * make_mul_mat_id(struct draw * d) {
    const int64_t k = draw_row(d, 2, false), used = draw_size(d, 4), tokens = draw_size(d, 6);
    const int64_t n = 1 + draw_below(d, 6);
    struct ggml_tensor * a = draw_source(d, 0, (const int64_t[]){ k, draw_size(d, k > 200 ? 5 : 20), n, 1 });
    struct ggml_tensor * b = draw_source(d, 1, (const int64_t[]){ k, draw_divisor(d, used), tokens, 1 });
    return ggml_mul_mat_id(d->ctx, a, b, draw_indices(d, 2, (const int64_t[]){ used, tokens, 1, 1 }, n));
}

struct ggml_tensor * make_out_prod(struct draw * d) {
    const int64_t c = draw_size(d, 20), b2 = draw_size(d, 4), b3 = draw_size(d, 4);
    const bool repeats = d->types[0] == GGML_TYPE_F32;
    const int64_t ne_a[] = { draw_row(d, 1, false), c, repeats ? draw_divisor(d, b2) : b2,
                             repeats ? draw_divisor(d, b3) : b3 };
    struct ggml_tensor * a = draw_source(d, 0, ne_a);
    return ggml_out_prod(d->ctx, a, draw_source(d, 1, (const int64_t[]){ draw_size(d, 12), c, b2, b3 }));
}
