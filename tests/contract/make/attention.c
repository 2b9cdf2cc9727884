// SPDX-License-Identifier: MIT
// flash_attn_ext lightning_indexer.
#include "contract/make/makers.h"

static void sprinkle(struct draw * d, struct ggml_tensor * mask) {
    const int64_t in_ten = draw_below(d, 11);
    int64_t i[4] = { 0 };
    for (int64_t k = 0; mask->type == GGML_TYPE_F16 && k < ggml_nelements(mask); k++, cpu_next(mask, i)) {
        if (draw_below(d, 10) < in_ten) cpu_put(mask, i, -INFINITY);
    }
}

// The width of rows of one type.
static int64_t width(struct draw * d, enum ggml_type type) {
    const int64_t block = ggml_blck_size(type);
    if (block == 1) return 1 + draw_below(d, 70);
    return block * (1 + draw_below(d, block < 128 ? 128 / block : 1));
}

struct ggml_tensor * make_attention(struct draw * d) {
    const int64_t width_q = width(d, d->types[ggml_blck_size(d->types[0]) > 1 ? 0 : 1]);
    const int64_t width_v = width(d, d->types[2]), keys = draw_size(d, width_q > 128 ? 6 : 40);
    const int64_t n = draw_size(d, 5), sequences = draw_size(d, 4), k_heads = 1 + draw_below(d, 2);
    const int64_t heads = k_heads * (1 + draw_below(d, 2)), v_heads = draw_chance(d, 2) ? k_heads : heads;
    struct ggml_tensor * q =
        draw_ranged(d, 0, (const int64_t[]){ width_q, n, heads, sequences }, -1.5f, 1.5f);
    struct ggml_tensor * k =
        draw_ranged(d, 1, (const int64_t[]){ width_q, keys, k_heads, sequences }, -1.5f, 1.5f);
    struct ggml_tensor * v =
        draw_ranged(d, 2, (const int64_t[]){ width_v, keys, v_heads, sequences }, -1.5f, 1.5f);
    struct ggml_tensor * mask = NULL;
    if (draw_chance(d, 2)) {
        const int64_t ne[] = { keys, n + draw_below(d, 3), draw_divisor(d, heads),
                               draw_divisor(d, sequences) };
        mask = draw_ranged(d, 3, ne, -3.0f, 1.0f);
        sprinkle(d, mask);
    }
    struct ggml_tensor * y =
        ggml_flash_attn_ext(d->ctx, q, k, v, mask, draw_float(d, 0.05f, 0.3f),
                            mask && draw_chance(d, 2) ? 8.0f : 0.0f, draw_chance(d, 3) ? 5.0f : 0.0f);
    if (draw_chance(d, 2))
        ggml_flash_attn_ext_add_sinks(y, draw_ranged(d, 4, (const int64_t[]){ heads, 1, 1, 1 }, -3.0f, 3.0f));
    if (draw_chance(d, 4)) ggml_flash_attn_ext_set_n_kv_max(y, (int32_t) keys);
    return y;
}

struct ggml_tensor * make_lightning_indexer(struct draw * d) {
    const int64_t n = draw_row(d, 2, false), heads = draw_size(d, 5), tokens = draw_size(d, 6);
    const int64_t keys = draw_size(d, 12), sequences = draw_size(d, 4);
    struct ggml_tensor * q = draw_source(d, 0, (const int64_t[]){ n, heads, tokens, sequences });
    struct ggml_tensor * k = draw_source(d, 1, (const int64_t[]){ n, 1, keys, sequences });
    struct ggml_tensor * weights = draw_source(d, 2, (const int64_t[]){ heads, tokens, 1, sequences });
    const int64_t ne[] = { keys, tokens, 1, draw_divisor(d, sequences) };
    struct ggml_tensor * mask = draw_source(d, 3, ne);
    sprinkle(d, mask);
    return ggml_lightning_indexer(d->ctx, q, k, weights, mask);
}
