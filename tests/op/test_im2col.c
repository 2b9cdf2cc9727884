// SPDX-License-Identifier: MIT
// core/ops/im2col.c: IM2COL, IM2COL_BACK, IM2COL_3D, COL2IM_1D.
#include "op/op_grad.h"

static void unfolding(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 2, 3, 4, 5);
    struct ggml_tensor * x = op_f32_tensor(ctx, 16, 12, 4, 2);
    struct ggml_tensor * k1 = op_f32_tensor(ctx, 4, 3, 5, 1);
    struct ggml_tensor * x1 = op_f32_tensor(ctx, 14, 3, 2, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_im2col(ctx, k, x, 3, 2, 2, 1, 2, 2, true, GGML_TYPE_F16), GGML_OP_IM2COL, GGML_TYPE_F16,
                .ne = { 24, 6, 5, 2 }, .params = { 3, 2, 2, 1, 2, 2, 1 }, .src = { k, x }),
        OP_NODE(ggml_im2col(ctx, k, x, 1, 1, 0, 0, 1, 1, true, GGML_TYPE_F32), GGML_OP_IM2COL, GGML_TYPE_F32,
                .ne = { 24, 15, 10, 2 }, .params = { 1, 1, 0, 0, 1, 1, 1 }, .src = { k, x }),
        OP_NODE(ggml_im2col(ctx, k1, x1, 3, 0, 3, 0, 2, 0, false, GGML_TYPE_F32), GGML_OP_IM2COL,
                GGML_TYPE_F32, .ne = { 12, 5, 2, 1 }, .params = { 3, 0, 3, 0, 2, 0, 0 }, .src = { k1, x1 }),
    };
    OP_CHECK_NODES(nodes);
}

static void unfolding_refused(void ** state) {
    struct ggml_context * ctx = *state;
    const enum ggml_type f32 = GGML_TYPE_F32;
    struct ggml_tensor * k = op_f32_tensor(ctx, 2, 3, 4, 5);
    struct ggml_tensor * x = op_f32_tensor(ctx, 16, 12, 3, 2);
    struct ggml_tensor * fits = op_f32_tensor(ctx, 16, 12, 4, 2);
    struct ggml_tensor * k1 = op_f32_tensor(ctx, 4, 12, 5, 1);
    struct ggml_tensor * wide = op_f32_tensor(ctx, 0, 1, INT64_MAX, 1);
    struct ggml_tensor * wide_kernel = op_f32_tensor(ctx, 0, 3, INT64_MAX, 1);
    OP_CHECK_REFUSED(ggml_im2col(ctx, k, x, 1, 1, 0, 0, 1, 1, true, f32), "same channels, ne[2]: 4 and 3");
    OP_CHECK_REFUSED(ggml_im2col(ctx, k, x, 1, 1, 0, 0, 1, 1, false, f32), "same channels, ne[1]: 3 and 12");
    OP_CHECK_REFUSED(ggml_im2col(ctx, k1, fits, 1, 1, 0, 0, 1, 1, false, f32), "ne[3] = 1, it is 2");
    OP_CHECK_REFUSED(ggml_im2col(ctx, k, fits, 0, 1, 0, 0, 1, 1, true, f32), "stride of dimension 0");
    OP_CHECK_REFUSED(ggml_im2col(ctx, k, fits, 1, 1, 0, -9, 1, 1, true, f32), "padding of dimension 1");
    OP_CHECK_REFUSED(ggml_im2col(ctx, k, fits, 1, 1, 0, 0, 1, 6, true, f32),
                     "output of dimension 1 must be positive");
    OP_CHECK_REFUSED(ggml_im2col(ctx, wide_kernel, wide, 1, 1, 0, 0, 1, 1, true, f32),
                     "kernel must not be empty");
    OP_CHECK_REFUSED(ggml_im2col(ctx, k, fits, 1, 1, 0, 0, 1, 1, true, (enum ggml_type) 9999), "type");
    OP_CHECK_REFUSED(ggml_im2col(ctx, k, fits, 1, 1, INT32_MAX, INT32_MAX, 1, 1, true, f32), "2^63");
    OP_CHECK_REFUSED(ggml_im2col(ctx, NULL, fits, 1, 1, 0, 0, 1, 1, true, f32), "source 0 is NULL");
}

static void folding_back(void ** state) {
    struct ggml_context * ctx = *state;
    int64_t ne[GGML_MAX_DIMS] = { 16, 12, 4, 2 };
    int64_t other[GGML_MAX_DIMS] = { 16, 12, 4, 3 };
    int64_t negative[GGML_MAX_DIMS] = { 16, 12, 4, -2 };
    struct ggml_tensor * k = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 2, 3, 4, 5);
    struct ggml_tensor * g = op_f32_tensor(ctx, 24, 6, 5, 2);
    const struct op_node node =
        OP_NODE(ggml_im2col_back(ctx, g, k, ne, 3, 2, 2, 1, 2, 2, true), GGML_OP_IM2COL_BACK, GGML_TYPE_F32,
                .ne = { 16, 12, 4, 2 }, .params = { 3, 2, 2, 1, 2, 2, 1 }, .src = { g, k });
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_im2col_back(ctx, g, k, other, 3, 2, 2, 1, 2, 2, true),
                     "src0 must be [24, 6, 5, 3]");
    OP_CHECK_REFUSED(ggml_im2col_back(ctx, g, k, negative, 3, 2, 2, 1, 2, 2, true), "negative");
    OP_CHECK_REFUSED(ggml_im2col_back(ctx, g, k, ne, 3, 1, 2, 1, 2, 2, true), "src0 must be [24, 6, 10, 2]");
    OP_CHECK_REFUSED(ggml_im2col_back(ctx, g, k, ne, 0, 1, 2, 1, 2, 2, true), "stride of dimension 0");
    OP_CHECK_REFUSED(ggml_im2col_back(ctx, g, k, NULL, 3, 2, 2, 1, 2, 2, true), "ne must be the four sizes");
    OP_CHECK_REFUSED(ggml_im2col_back(ctx, NULL, k, ne, 3, 2, 2, 1, 2, 2, true), "source 0 is NULL");
}

static void the_gradient_is_for_the_data_alone(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_param(ctx, "k", 2, 3, 4, 5);
    struct ggml_tensor * x = op_param(ctx, "x", 16, 12, 4, 2);
    const struct op_grad d = op_backward(ctx, ggml_im2col(ctx, k, x, 3, 2, 2, 1, 2, 2, true, GGML_TYPE_F32));
    OP_GRAD(d, x, "IM2COL_BACK(g, k)");
    OP_GRAD(d, k, NULL);
    const int32_t words[] = { 3, 2, 2, 1, 2, 2, 1 };
    assert_memory_equal(ggml_graph_get_grad(d.graph, x)->op_params, words, sizeof(words));
}

static void three_have_none(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * x = op_param(ctx, "x", 8, 6, 6, 4);
    struct ggml_tensor * k = op_leaf(ctx, "k", 1, 3, 2, 6);
    struct ggml_tensor * y = ggml_im2col_3d(ctx, k, x, 2, 1, 1, 2, 0, 1, 1, 2, 2, 1, GGML_TYPE_F32);
    OP_GRAD_REFUSED(op_backward(ctx, y), "IM2COL_3D");
}

static void three_dimensions(void ** state) {
    struct ggml_context * ctx = *state;
    const enum ggml_type f32 = GGML_TYPE_F32;
    struct ggml_tensor * k = op_f32_tensor(ctx, 1, 3, 2, 6);
    struct ggml_tensor * x = op_f32_tensor(ctx, 8, 6, 6, 4);
    const struct op_node node = OP_NODE(
        ggml_im2col_3d(ctx, k, x, 2, 1, 1, 2, 0, 1, 1, 2, 2, 1, GGML_TYPE_F16), GGML_OP_IM2COL_3D,
        GGML_TYPE_F16, .ne = { 12, 8, 4, 8 }, .params = { 1, 1, 2, 0, 1, 1, 2, 2, 1, 2 }, .src = { k, x });
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_im2col_3d(ctx, k, x, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, f32), "IC must be above 0");
    OP_CHECK_REFUSED(ggml_im2col_3d(ctx, k, x, (int64_t) 1 << 32, 1, 1, 1, 0, 0, 0, 1, 1, 1, f32),
                     "fit in 32 bits");
    OP_CHECK_REFUSED(ggml_im2col_3d(ctx, k, x, 3, 1, 1, 1, 0, 0, 0, 1, 1, 1, f32),
                     "divide ne[3] of kernel and data");
    OP_CHECK_REFUSED(ggml_im2col_3d(ctx, k, x, 4, 1, 1, 1, 0, 0, 0, 1, 1, 1, f32),
                     "it is 4, they are 6 and 4");
    OP_CHECK_REFUSED(ggml_im2col_3d(ctx, k, x, 2, 1, 1, 0, 0, 0, 0, 1, 1, 1, f32), "stride of dimension 2");
    OP_CHECK_REFUSED(ggml_im2col_3d(ctx, k, x, 2, 1, 1, 1, 0, 0, 0, 1, 9, 1, f32), "output of dimension 1");
}

static void folding_one_dimension(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_new_tensor_2d(ctx, GGML_TYPE_BF16, 24, 5);
    struct ggml_tensor * deep = op_f32_tensor(ctx, 24, 5, 2, 1);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 24, 5, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_col2im_1d(ctx, a, 3, 4, 2), GGML_OP_COL2IM_1D, GGML_TYPE_BF16, .ne = { 14, 4, 1, 1 },
                .params = { 3, 4, 2 }, .src = { a }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_col2im_1d(ctx, a, 3, 5, 0), "oc must be above 0 and divide ne0 = 24, it is 5");
    OP_CHECK_REFUSED(ggml_col2im_1d(ctx, a, 3, 0, 0), "oc must be above 0");
    OP_CHECK_REFUSED(ggml_col2im_1d(ctx, a, 0, 4, 0), "stride of dimension 0");
    OP_CHECK_REFUSED(ggml_col2im_1d(ctx, a, 3, 4, -1), "padding of dimension 0");
    OP_CHECK_REFUSED(ggml_col2im_1d(ctx, a, 1, 4, 5), "output of dimension 0 must be positive, it is 0");
    OP_CHECK_REFUSED(ggml_col2im_1d(ctx, deep, 1, 4, 0), "src0 ne[2] must be 1");
    OP_CHECK_REFUSED(ggml_col2im_1d(ctx, strided, 1, 4, 0), "src0 must be contiguous");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(unfolding),
        OP_CHECK_TEST(unfolding_refused),
        OP_CHECK_TEST(folding_back),
        OP_CHECK_TEST(the_gradient_is_for_the_data_alone),
        OP_CHECK_TEST(three_have_none),
        OP_CHECK_TEST(three_dimensions),
        OP_CHECK_TEST(folding_one_dimension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
