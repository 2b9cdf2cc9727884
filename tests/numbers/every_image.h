// SPDX-License-Identifier: MIT
// Nodes of operators on images: unfolding, convolution, pooling, sizes, windows; included by every_op.h.
#ifndef TN_TESTS_EVERY_IMAGE_H
#define TN_TESTS_EVERY_IMAGE_H

static const enum ggml_type every_kernels[] = { GGML_TYPE_F32, GGML_TYPE_F16 };

static inline struct ggml_tensor * every_im2col(struct cpu_test * t, int i) {
    if (i > 2) return NULL;
    if (i == 2) {
        struct ggml_tensor * k = every_source(t, GGML_TYPE_F16, 3, 5, 4, 1);
        return ggml_im2col(t->ctx, k, every_f32(t, 6001, 5, 2, 1), 1, 0, 1, 0, 1, 0, false, GGML_TYPE_F32);
    }
    struct ggml_tensor * k = every_source(t, GGML_TYPE_F16, 3, 3, 5, 4);
    return ggml_im2col(t->ctx, k, every_f32(t, 61, 53, 5, 1), 1, 1, 1, 1, 1, 1, true,
                       i ? GGML_TYPE_F16 : GGML_TYPE_F32);
}

static inline struct ggml_tensor * every_im2col_back(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    int64_t ne[] = { 61, 53, 5, 1 };
    struct ggml_tensor * k = every_source(t, GGML_TYPE_F16, 3, 3, 5, 4);
    return ggml_im2col_back(t->ctx, every_f32(t, 45, 61, 53, 1), k, ne, 1, 1, 1, 1, 1, 1, true);
}

static inline struct ggml_tensor * every_im2col_3d(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    struct ggml_tensor * k = every_source(t, GGML_TYPE_F16, 3, 2, 2, 3 * 4);
    return ggml_im2col_3d(t->ctx, k, every_f32(t, 31, 23, 9, 3), 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, GGML_TYPE_F32);
}

static inline struct ggml_tensor * every_col2im_1d(struct cpu_test * t, int i) {
    if (i > 2) return NULL;
    return ggml_col2im_1d(t->ctx, every_source(t, every_floats[i], 5 * 24, 1201, 1, 1), 2, 24, 1);
}

static inline struct ggml_tensor * every_conv_2d(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * k = every_source(t, every_kernels[i], 3, 3, 17, 37);
    return ggml_conv_2d_direct(t->ctx, k, every_f32(t, 41, 37, 17, 2), 1, 1, 1, 1, 1, 1);
}

static inline struct ggml_tensor * every_conv_3d(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * k = every_source(t, every_kernels[i], 3, 3, 2, 5 * 19);
    return ggml_conv_3d_direct(t->ctx, k, every_f32(t, 21, 17, 9, 5), 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 1, 19);
}

// Channels one after the other, and side by side.
static inline struct ggml_tensor * every_conv_2d_dw(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * k = every_source(t, every_kernels[i], 3, 3, 1, 37);
    struct ggml_tensor * x =
        i ? ggml_permute(t->ctx, every_f32(t, 37, 41, 33, 1), 2, 0, 1, 3) : every_f32(t, 41, 33, 37, 1);
    return ggml_conv_2d_dw_direct(t->ctx, k, x, 1, 1, 1, 1, 1, 1);
}

static inline struct ggml_tensor * every_conv_transpose_1d(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * k = every_source(t, every_kernels[i], 7, 23, 31, 1);
    return ggml_conv_transpose_1d(t->ctx, k, every_f32(t, 301, 31, 1, 1), 3, 0, 1);
}

static inline struct ggml_tensor * every_conv_transpose_2d(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * k = every_source(t, every_kernels[i], 3, 3, 9, 31);
    return ggml_conv_transpose_2d_p0(t->ctx, k, every_f32(t, 31, 23, 31, 1), 2);
}

static inline struct ggml_tensor * every_pool_1d(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    return ggml_pool_1d(t->ctx, every_f32(t, 1031, 97, 1, 1), i ? GGML_OP_POOL_AVG : GGML_OP_POOL_MAX, 3, 2,
                        1);
}

static inline struct ggml_tensor * every_pool_2d(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    return ggml_pool_2d(t->ctx, every_f32(t, 121, 97, 7, 2), i ? GGML_OP_POOL_AVG : GGML_OP_POOL_MAX, 3, 3, 2,
                        2, 1, 1);
}

static inline struct ggml_tensor * every_pool_2d_back(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    return ggml_pool_2d_back(t->ctx, every_f32(t, 30, 25, 14, 1), every_f32(t, 59, 49, 14, 1),
                             i ? GGML_OP_POOL_AVG : GGML_OP_POOL_MAX, 3, 3, 2, 2, 1, 1);
}

static inline struct ggml_tensor * every_upscale(struct cpu_test * t, int i) {
    static const uint32_t modes[] = { GGML_SCALE_MODE_NEAREST, GGML_SCALE_MODE_BILINEAR,
                                      GGML_SCALE_MODE_BICUBIC,
                                      GGML_SCALE_MODE_BILINEAR | GGML_SCALE_FLAG_ANTIALIAS };
    if (i >= EVERY_COUNT(modes)) return NULL;
    return ggml_interpolate(t->ctx, every_f32(t, 61, 53, 6, 1), 97, 85, 7, 2, modes[i]);
}

static inline struct ggml_tensor * every_pad(struct cpu_test * t, int i) {
    if (i > 1) return NULL;
    struct ggml_tensor * x = every_f32(t, 521, 97, 2, 2);
    return i ? ggml_pad_ext_circular(t->ctx, x, 3, 4, 1, 2, 0, 1, 0, 1)
             : ggml_pad_ext(t->ctx, x, 3, 4, 1, 2, 0, 1, 0, 1);
}

static inline struct ggml_tensor * every_pad_reflect_1d(struct cpu_test * t, int i) {
    return i < 1 ? ggml_pad_reflect_1d(t->ctx, every_f32(t, 521, 97, 4, 1), 7, 9) : NULL;
}

static inline struct ggml_tensor * every_roll(struct cpu_test * t, int i) {
    return i < 1 ? ggml_roll(t->ctx, every_f32(t, 521, 97, 4, 1), 7, -9, 1, 0) : NULL;
}

static inline struct ggml_tensor * every_win_part(struct cpu_test * t, int i) {
    return i < 1 ? ggml_win_part(t->ctx, every_f32(t, 67, 61, 53, 1), 14) : NULL;
}

static inline struct ggml_tensor * every_win_unpart(struct cpu_test * t, int i) {
    return i < 1 ? ggml_win_unpart(t->ctx, every_f32(t, 67, 14, 14, 5 * 4), 61, 53, 14) : NULL;
}

static inline struct ggml_tensor * every_get_rel_pos(struct cpu_test * t, int i) {
    return i < 1 ? ggml_get_rel_pos(t->ctx, every_source(t, GGML_TYPE_F16, 67, 2 * 55 - 1, 1, 1), 55, 55)
                 : NULL;
}

static inline struct ggml_tensor * every_add_rel_pos(struct cpu_test * t, int i) {
    if (i > 0) return NULL;
    return ggml_add_rel_pos(t->ctx, every_f32(t, 14 * 14, 14 * 14, 5, 1), every_f32(t, 14, 14, 14, 5),
                            every_f32(t, 14, 14, 14, 5));
}

#endif
