// SPDX-License-Identifier: MIT
// Builders that compute sizes, given extreme sizes and parameters: each result is either refused with a text,
// or a tensor with which its rule agrees. Sanitizers watch the arithmetic.
#include "op/op_check.h"

struct draw {
    struct ggml_context * ctx;
    struct test_rng rng;
};

static int num(struct draw * d) {
    static const int values[] = { INT32_MIN, -2, -1, 0, 1, 1, 1, 2, 2, 3, 4, 7, 1 << 30, INT32_MAX };
    return values[test_rng_below(&d->rng, (int64_t) (sizeof(values) / sizeof(values[0])))];
}

static int64_t size(struct draw * d) {
    static const int64_t values[] = { 0, 1, 1, 2, 3, 4, 6, 12, 24, 1 << 20, INT32_MAX, 1ll << 31, 1ll << 40 };
    return values[test_rng_below(&d->rng, (int64_t) (sizeof(values) / sizeof(values[0])))];
}

// Sizes below and of one dimension above 2^31, so that most tensors can be.
static struct ggml_tensor * tensor(struct draw * d) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    int64_t ne[GGML_MAX_DIMS];
    for (int i = 0; i < GGML_MAX_DIMS; i++)
        ne[i] = 1 + test_rng_below(&d->rng, 6);
    if (test_rng_below(&d->rng, 2)) ne[test_rng_below(&d->rng, GGML_MAX_DIMS)] = size(d);
    return ggml_new_tensor(d->ctx, types[test_rng_below(&d->rng, 4)], GGML_MAX_DIMS, ne);
}

// Another with a size in common, so that rules are passed now and then.
static struct ggml_tensor * with_size(struct draw * d, int dim, int64_t ne) {
    struct ggml_tensor * t = tensor(d);
    int64_t sizes[GGML_MAX_DIMS];
    for (int i = 0; i < GGML_MAX_DIMS; i++)
        sizes[i] = i == dim ? ne : t->ne[i];
    return ggml_new_tensor(d->ctx, t->type, GGML_MAX_DIMS, sizes);
}

static struct ggml_tensor * conv_2d(struct draw * d) {
    struct ggml_tensor * k = tensor(d);
    struct ggml_tensor * x = with_size(d, 2, k->ne[2]);
    return ggml_conv_2d_direct(d->ctx, k, x, num(d), num(d), num(d), num(d), num(d), num(d));
}

static struct ggml_tensor * conv_2d_dw(struct draw * d) {
    struct ggml_tensor * k = with_size(d, 2, 1);
    struct ggml_tensor * x = with_size(d, 2, k->ne[3]);
    return ggml_conv_2d_dw_direct(d->ctx, k, x, num(d), num(d), num(d), num(d), num(d), num(d));
}

static struct ggml_tensor * conv_2d_unfolded(struct draw * d) {
    struct ggml_tensor * k = tensor(d);
    struct ggml_tensor * x = with_size(d, 2, k->ne[2]);
    return ggml_conv_2d(d->ctx, k, x, num(d), num(d), num(d), num(d), num(d), num(d));
}

static struct ggml_tensor * conv_3d(struct draw * d) {
    return ggml_conv_3d_direct(d->ctx, tensor(d), tensor(d), num(d), num(d), num(d), num(d), num(d), num(d),
                               num(d), num(d), num(d), num(d), num(d), num(d));
}

static struct ggml_tensor * conv_3d_unfolded(struct draw * d) {
    struct ggml_tensor *k = tensor(d), *x = tensor(d);
    return ggml_conv_3d(d->ctx, k, x, size(d), num(d), num(d), num(d), num(d), num(d), num(d), num(d), num(d),
                        num(d));
}

static struct ggml_tensor * conv_transpose_1d(struct draw * d) {
    struct ggml_tensor * k = with_size(d, 3, 1);
    struct ggml_tensor * x = ggml_new_tensor_2d(d->ctx, GGML_TYPE_F32, size(d), k->ne[2]);
    return ggml_conv_transpose_1d(d->ctx, k, x, num(d), 0, 1);
}

static struct ggml_tensor * conv_transpose_2d(struct draw * d) {
    struct ggml_tensor * k = tensor(d);
    return ggml_conv_transpose_2d_p0(d->ctx, k, with_size(d, 2, k->ne[3]), num(d));
}

static struct ggml_tensor * im2col(struct draw * d) {
    struct ggml_tensor * k = tensor(d);
    const bool is_2d = test_rng_below(&d->rng, 2);
    struct ggml_tensor * x = with_size(d, is_2d ? 2 : 1, k->ne[is_2d ? 2 : 1]);
    return ggml_im2col(d->ctx, k, x, num(d), num(d), num(d), num(d), num(d), num(d), is_2d, GGML_TYPE_F16);
}

static struct ggml_tensor * im2col_back(struct draw * d) {
    int64_t ne[GGML_MAX_DIMS] = { size(d), size(d), size(d), -size(d) };
    if (test_rng_below(&d->rng, 2)) ne[3] = 1;
    return ggml_im2col_back(d->ctx, tensor(d), tensor(d), ne, num(d), num(d), num(d), num(d), num(d), num(d),
                            true);
}

static struct ggml_tensor * im2col_3d(struct draw * d) {
    return ggml_im2col_3d(d->ctx, tensor(d), tensor(d), num(d), num(d), num(d), num(d), num(d), num(d),
                          num(d), num(d), num(d), num(d), GGML_TYPE_F32);
}

static struct ggml_tensor * col2im_1d(struct draw * d) {
    struct ggml_tensor * a = ggml_new_tensor_2d(d->ctx, GGML_TYPE_F32, size(d), size(d));
    return ggml_col2im_1d(d->ctx, a, num(d), num(d), num(d));
}

static struct ggml_tensor * pool_1d(struct draw * d) {
    return ggml_pool_1d(d->ctx, tensor(d), GGML_OP_POOL_AVG, num(d), num(d), num(d));
}

static struct ggml_tensor * pool_2d(struct draw * d) {
    return ggml_pool_2d(d->ctx, tensor(d), GGML_OP_POOL_MAX, num(d), num(d), num(d), num(d),
                        (float) num(d) * 0.75f, (float) num(d));
}

static struct ggml_tensor * pool_2d_back(struct draw * d) {
    return ggml_pool_2d_back(d->ctx, tensor(d), tensor(d), GGML_OP_POOL_MAX, num(d), num(d), num(d), num(d),
                             (float) num(d), (float) num(d));
}

static struct ggml_tensor * pad(struct draw * d) {
    return ggml_pad_ext_circular(d->ctx, tensor(d), num(d), num(d), num(d), num(d), num(d), num(d), num(d),
                                 num(d));
}

static struct ggml_tensor * pad_reflect(struct draw * d) {
    return ggml_pad_reflect_1d(d->ctx, tensor(d), num(d), num(d));
}

static struct ggml_tensor * roll(struct draw * d) {
    return ggml_roll(d->ctx, tensor(d), num(d), num(d), num(d), num(d));
}

static struct ggml_tensor * upscale(struct draw * d) {
    return ggml_upscale(d->ctx, tensor(d), num(d), (enum ggml_scale_mode) num(d));
}

static struct ggml_tensor * win_part(struct draw * d) {
    return ggml_win_part(d->ctx, with_size(d, 3, 1), num(d));
}

static struct ggml_tensor * win_unpart(struct draw * d) {
    return ggml_win_unpart(d->ctx, tensor(d), num(d), num(d), num(d));
}

static struct ggml_tensor * get_rel_pos(struct draw * d) {
    const int n = num(d);
    return ggml_get_rel_pos(d->ctx, tensor(d), n, n);
}

static struct ggml_tensor * arange(struct draw * d) {
    return ggml_arange(d->ctx, (float) num(d), (float) num(d), (float) num(d));
}

static struct ggml_tensor * top_k(struct draw * d) {
    return ggml_top_k(d->ctx, tensor(d), num(d));
}

static struct ggml_tensor * (*const builders[])(struct draw * d) = {
    conv_2d,
    conv_2d_dw,
    conv_2d_unfolded,
    conv_3d,
    conv_3d_unfolded,
    conv_transpose_1d,
    conv_transpose_2d,
    im2col,
    im2col_back,
    im2col_3d,
    col2im_1d,
    pool_1d,
    pool_2d,
    pool_2d_back,
    pad,
    pad_reflect,
    roll,
    upscale,
    win_part,
    win_unpart,
    get_rel_pos,
    arange,
    top_k,
};

static void refused_or_right(void ** state) {
    struct draw d = { *state, { test_seed() } };
    for (size_t i = 0; i < sizeof(builders) / sizeof(builders[0]); i++) {
        int64_t made = 0, refused = 0;
        for (int64_t round = test_rounds(20000); round > 0; round--) {
            ggml_reset(d.ctx);
            tn_error_clear();
            const struct ggml_tensor * t = builders[i](&d);
            if (tn_tensor_is_poisoned(t)) {
                assert_true(tn_error_text()[0]);
                refused++;
                continue;
            }
            for (int k = 0; k < GGML_MAX_DIMS; k++)
                assert_true(t->ne[k] >= 0);
            if (!tn_op_get(t->op)->is_view) op_check_rule(t);
            made++;
        }
        printf("builder %zu: %d made, %d refused\n", i, (int) made, (int) refused);
        assert_true(refused > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { OP_CHECK_TEST(refused_or_right) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
