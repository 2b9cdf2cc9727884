// SPDX-License-Identifier: MIT
// rope rope_back.
#include "contract/make/makers.h"

struct rope {
    int n_dims, mode, sections[4];
    float scale, ext;
};

typedef struct ggml_tensor * ext_builder(struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *,
                                         struct ggml_tensor *, int, int, int, float, float, float, float,
                                         float, float);
typedef struct ggml_tensor * multi_builder(struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *,
                                           struct ggml_tensor *, int, int[4], int, int, float, float, float,
                                           float, float, float);

static struct ggml_tensor * build(struct draw * d, struct rope * r, struct ggml_tensor ** src) {
    const bool back = d->op == GGML_OP_ROPE_BACK, in_place = !back && draw_in_place(d);
    if (r->mode & GGML_ROPE_TYPE_MROPE) {
        multi_builder * f = back       ? ggml_rope_multi_back
                            : in_place ? ggml_rope_multi_inplace
                                       : ggml_rope_multi;
        return f(d->ctx, src[0], src[1], src[2], r->n_dims, r->sections, r->mode, 4096, 1e4f, r->scale,
                 r->ext, 1.2f, 32.0f, 1.0f);
    }
    ext_builder * f = back ? ggml_rope_ext_back : in_place ? ggml_rope_ext_inplace : ggml_rope_ext;
    return f(d->ctx, src[0], src[1], src[2], r->n_dims, r->mode, 4096, 1e4f, r->scale, r->ext, 1.2f, 32.0f,
             1.0f);
}

struct ggml_tensor * make_rope(struct draw * d) {
    static const int modes[] = { GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE,
                                 GGML_ROPE_TYPE_IMROPE, GGML_ROPE_TYPE_VISION };
    struct rope r = { .n_dims = 2 * (1 + (int) draw_below(d, 33)), .mode = modes[draw_below(d, 5)] };
    const bool vision = r.mode == GGML_ROPE_TYPE_VISION, multi = (r.mode & GGML_ROPE_TYPE_MROPE) != 0;
    const int64_t rest = vision ? r.n_dims : draw_below(d, 20);
    int64_t ne[] = { r.n_dims + rest, draw_size(d, 4), draw_size(d, 6), draw_size(d, 2) };
    const int64_t block = ggml_blck_size(d->types[0]);
    ne[0] = (ne[0] + block - 1) / block * block;
    struct ggml_tensor * src[3] = { NULL };
    src[0] = draw_source(d, 0, ne);
    src[1] = draw_indices(d, 1, (const int64_t[]){ multi ? 4 * ne[2] : ne[2], 1, 1, 1 }, 5000);
    if (draw_chance(d, 2)) src[2] = draw_ranged(d, 2, (const int64_t[]){ r.n_dims, 1, 1, 1 }, 0.5f, 8.0f);
    for (int i = 0; i < 4; i++)
        r.sections[i] = (int) draw_below(d, 9) + (i == 0);
    r.scale = draw_float(d, 0.3f, 1.0f);
    r.ext = draw_chance(d, 2) ? draw_float(d, 0.1f, 1.0f) : 0.0f;
    struct ggml_tensor * y = build(d, &r, src);
    return !vision && draw_chance(d, 2) ? ggml_rope_set_offset(y, (int) (rest / 2 * 2)) : y;
}
