// SPDX-License-Identifier: MIT
// core/ops/conv_unfold.c: which operators the forms of convolution consist of, and what they refuse.
#include "op/op_check.h"

static void check_shape(const struct ggml_tensor * t, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    if (tn_tensor_is_poisoned(t)) fail_msg("refused: %s", tn_error_text());
    const int64_t ne[] = { ne0, ne1, ne2, ne3 };
    for (int d = 0; d < GGML_MAX_DIMS; d++)
        assert_int_equal(t->ne[d], ne[d]);
    assert_int_equal(t->type, GGML_TYPE_F32);
    assert_true(ggml_is_contiguous(t));
}

// Source i, which must be a result of this operator.
static struct ggml_tensor * from(const struct ggml_tensor * t, int i, enum ggml_op op) {
    if (t->src[i]->op != op)
        fail_msg("source %d is %s, not %s", i, ggml_op_name(t->src[i]->op), ggml_op_name(op));
    return t->src[i];
}

static void check_columns(struct ggml_tensor * cols, enum ggml_type type, int32_t * words,
                          const int64_t * ne) {
    assert_int_equal(cols->op, GGML_OP_IM2COL);
    assert_int_equal(cols->type, type);
    for (int i = 0; i < 7; i++)
        assert_int_equal(cols->op_params[i], words[i]);
    for (int d = 0; d < GGML_MAX_DIMS; d++)
        assert_int_equal(cols->ne[d], ne[d]);
    op_check_rule(cols);
}

static void one_dimension(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 4, 3, 5, 1);
    struct ggml_tensor * x = op_f32_tensor(ctx, 14, 3, 2, 1);
    struct ggml_tensor * y = ggml_conv_1d(ctx, k, x, 3, 3, 2);
    check_shape(y, 5, 5, 2, 1);
    assert_int_equal(y->op, GGML_OP_RESHAPE);
    struct ggml_tensor * product = from(y, 0, GGML_OP_MUL_MAT);
    check_shape(product, 10, 5, 1, 1);
    assert_ptr_equal(from(product, 1, GGML_OP_RESHAPE)->src[0], k);
    struct ggml_tensor * cols = from(from(product, 0, GGML_OP_RESHAPE), 0, GGML_OP_IM2COL);
    check_columns(cols, GGML_TYPE_F16, (int32_t[]){ 3, 0, 3, 0, 2, 0, 0 }, (int64_t[]){ 12, 5, 2, 1 });
    assert_ptr_equal(cols->src[0], k);
    assert_ptr_equal(cols->src[1], x);
    struct ggml_tensor * half_padded = ggml_conv_1d_ph(ctx, k, x, 3, 2);
    check_shape(half_padded, 4, 5, 2, 1);
    cols = from(from(from(half_padded, 0, GGML_OP_MUL_MAT), 0, GGML_OP_RESHAPE), 0, GGML_OP_IM2COL);
    check_columns(cols, GGML_TYPE_F16, (int32_t[]){ 3, 0, 2, 0, 2, 0, 0 }, (int64_t[]){ 12, 4, 2, 1 });
}

static void one_dimension_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 4, 3, 5, 1);
    struct ggml_tensor * x = op_f32_tensor(ctx, 14, 3, 2, 1);
    struct ggml_tensor * other = op_f32_tensor(ctx, 14, 2, 1, 1);
    struct ggml_tensor * deep = op_f32_tensor(ctx, 4, 3, 5, 2);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 4, 3, 5, 1);
    OP_CHECK_REFUSED(ggml_conv_1d(ctx, k, other, 1, 0, 1), "same channels, ne[1]: 3 and 2");
    OP_CHECK_REFUSED(ggml_conv_1d(ctx, k, x, 0, 0, 1), "stride of dimension 0");
    OP_CHECK_REFUSED(ggml_conv_1d(ctx, k, x, 1, 0, 5), "output of dimension 0 must be positive");
    OP_CHECK_REFUSED(ggml_conv_1d(ctx, deep, x, 1, 0, 1), "src0 ne[3] must be 1");
    OP_CHECK_REFUSED(ggml_conv_1d(ctx, strided, x, 1, 0, 1), "src0 must be contiguous");
    OP_CHECK_REFUSED(ggml_conv_1d(ctx, NULL, x, 1, 0, 1), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_conv_1d_ph(ctx, NULL, x, 1, 1), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_conv_1d_ph(ctx, k, NULL, 1, 1), "source 1 is NULL");
    OP_CHECK_REFUSED(ggml_conv_1d_ph(ctx, k, x, -1, 1), "stride of dimension 0");
    struct ggml_tensor * huge = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, (int64_t) 1 << 40, 3);
    OP_CHECK_REFUSED(ggml_conv_1d_ph(ctx, huge, x, 1, 1), "padding of dimension 0");
}

static void one_dimension_by_channel(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 4, 1, 3, 1);
    struct ggml_tensor * x = op_f32_tensor(ctx, 14, 3, 1, 1);
    struct ggml_tensor * y = ggml_conv_1d_dw(ctx, k, x, 3, 3, 2);
    check_shape(y, 5, 3, 1, 1);
    struct ggml_tensor * product = from(y, 0, GGML_OP_MUL_MAT);
    assert_ptr_equal(product->src[1], k);
    check_columns(product->src[0], GGML_TYPE_F16, (int32_t[]){ 3, 0, 3, 0, 2, 0, 0 },
                  (int64_t[]){ 4, 5, 3, 1 });
    check_shape(ggml_conv_1d_dw_ph(ctx, k, x, 3, 2), 4, 3, 1, 1);
    struct ggml_tensor * batch = op_f32_tensor(ctx, 14, 3, 2, 1);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 14, 3, 1, 1);
    OP_CHECK_REFUSED(ggml_conv_1d_dw(ctx, op_f32_tensor(ctx, 4, 1, 2, 1), x, 1, 0, 1),
                     "src0 must be [any, 1, 3, 1]");
    OP_CHECK_REFUSED(ggml_conv_1d_dw(ctx, k, batch, 1, 0, 1), "src1 ne[2] must be 1");
    OP_CHECK_REFUSED(ggml_conv_1d_dw(ctx, k, strided, 1, 0, 1), "src1 must be contiguous");
    OP_CHECK_REFUSED(ggml_conv_1d_dw(ctx, k, x, 1, 0, 0), "dilation of dimension 0");
    OP_CHECK_REFUSED(ggml_conv_1d_dw_ph(ctx, NULL, x, 1, 1), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_conv_1d_dw_ph(ctx, k, NULL, 1, 1), "source 1 is NULL");
}

static struct ggml_tensor * columns_of_2d(const struct ggml_tensor * y) {
    struct ggml_tensor * turned = from(y, 0, GGML_OP_PERMUTE);
    struct ggml_tensor * product = from(from(turned, 0, GGML_OP_RESHAPE), 0, GGML_OP_MUL_MAT);
    return from(from(product, 0, GGML_OP_RESHAPE), 0, GGML_OP_IM2COL);
}

static void two_dimensions(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 2, 3, 4, 5);
    struct ggml_tensor * x = op_f32_tensor(ctx, 16, 12, 4, 2);
    struct ggml_tensor * y = ggml_conv_2d(ctx, k, x, 3, 2, 2, 1, 2, 2);
    check_shape(y, 6, 5, 5, 2);
    assert_int_equal(y->op, GGML_OP_CONT);
    check_columns(columns_of_2d(y), GGML_TYPE_F16, (int32_t[]){ 3, 2, 2, 1, 2, 2, 1 },
                  (int64_t[]){ 24, 6, 5, 2 });
    y = ggml_conv_2d_sk_p0(ctx, k, x);
    check_shape(y, 8, 4, 5, 2);
    check_columns(columns_of_2d(y), GGML_TYPE_F16, (int32_t[]){ 2, 3, 0, 0, 1, 1, 1 },
                  (int64_t[]){ 24, 8, 4, 2 });
    y = ggml_conv_2d_s1_ph(ctx, k, x);
    check_shape(y, 17, 12, 5, 2);
    check_columns(columns_of_2d(y), GGML_TYPE_F16, (int32_t[]){ 1, 1, 1, 1, 1, 1, 1 },
                  (int64_t[]){ 24, 17, 12, 2 });
    struct ggml_tensor * bf16 = ggml_new_tensor_4d(ctx, GGML_TYPE_BF16, 2, 3, 4, 5);
    assert_int_equal(columns_of_2d(ggml_conv_2d_s1_ph(ctx, bf16, x))->type, GGML_TYPE_F32);
}

static void two_dimensions_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 2, 3, 4, 5);
    struct ggml_tensor * x = op_f32_tensor(ctx, 16, 12, 4, 2);
    struct ggml_tensor * other = op_f32_tensor(ctx, 16, 12, 3, 2);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 2, 3, 4, 5);
    struct ggml_tensor * huge = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, (int64_t) 1 << 33, 3, 4, 1);
    OP_CHECK_REFUSED(ggml_conv_2d(ctx, k, other, 1, 1, 0, 0, 1, 1), "same channels, ne[2]: 4 and 3");
    OP_CHECK_REFUSED(ggml_conv_2d(ctx, strided, x, 1, 1, 0, 0, 1, 1), "src0 must be contiguous");
    OP_CHECK_REFUSED(ggml_conv_2d(ctx, k, x, 1, 0, 0, 0, 1, 1), "stride of dimension 1");
    OP_CHECK_REFUSED(ggml_conv_2d_sk_p0(ctx, NULL, x), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_conv_2d_sk_p0(ctx, k, NULL), "source 1 is NULL");
    OP_CHECK_REFUSED(ggml_conv_2d_sk_p0(ctx, huge, x), "stride of dimension 0");
    OP_CHECK_REFUSED(ggml_conv_2d_s1_ph(ctx, NULL, x), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_conv_2d_s1_ph(ctx, k, other), "same channels");
    OP_CHECK_REFUSED(ggml_conv_2d_s1_ph(NULL, k, x), "context is NULL");
}

static void two_dimensions_by_channel(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 3, 2, 1, 4);
    struct ggml_tensor * full = op_f32_tensor(ctx, 3, 2, 1, 4);
    struct ggml_tensor * x = op_f32_tensor(ctx, 16, 8, 4, 2);
    struct ggml_tensor * y = ggml_conv_2d_dw(ctx, k, x, 1, 2, 1, 0, 1, 1);
    check_shape(y, 16, 4, 4, 2);
    struct ggml_tensor * product = from(y, 0, GGML_OP_MUL_MAT);
    struct ggml_tensor * cols = from(from(product, 1, GGML_OP_RESHAPE), 0, GGML_OP_IM2COL);
    check_columns(cols, GGML_TYPE_F16, (int32_t[]){ 1, 2, 1, 0, 1, 1, 1 }, (int64_t[]){ 6, 16, 4, 8 });
    product = from(ggml_conv_2d_dw(ctx, full, x, 1, 1, 0, 0, 1, 1), 0, GGML_OP_MUL_MAT);
    assert_int_equal(product->src[1]->type, GGML_TYPE_F32); // the second factor of an F32 matrix
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 16, 8, 4, 2);
    OP_CHECK_REFUSED(ggml_conv_2d_dw(ctx, k, strided, 1, 1, 0, 0, 1, 1), "src1 must be contiguous");
    OP_CHECK_REFUSED(ggml_conv_2d_dw(ctx, k, op_f32_tensor(ctx, 16, 8, 3, 2), 1, 1, 0, 0, 1, 1),
                     "4 slices, 3 channels");
    OP_CHECK_REFUSED(ggml_conv_2d_dw(ctx, k, x, 1, 1, 0, -1, 1, 1), "padding of dimension 1");
    OP_CHECK_REFUSED(ggml_conv_2d_dw(ctx, k, NULL, 1, 1, 0, 0, 1, 1), "source 1 is NULL");
}

static void three_dimensions(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 1, 2, 3, 6); // 3 in, 2 out
    struct ggml_tensor * x = op_f32_tensor(ctx, 8, 9, 10, 12);
    struct ggml_tensor * y = ggml_conv_3d(ctx, k, x, 3, 1, 2, 3, 0, 1, 2, 1, 2, 1);
    check_shape(y, 8, 5, 4, 8);
    struct ggml_tensor * turned = from(from(y, 0, GGML_OP_CONT), 0, GGML_OP_PERMUTE);
    struct ggml_tensor * product = from(from(turned, 0, GGML_OP_RESHAPE), 0, GGML_OP_MUL_MAT);
    const struct op_node cols =
        OP_NODE(from(product, 0, GGML_OP_RESHAPE)->src[0], GGML_OP_IM2COL_3D, GGML_TYPE_F16,
                .ne = { 18, 8, 5, 16 }, .params = { 1, 2, 3, 0, 1, 2, 1, 2, 1, 3 }, .src = { k, x });
    op_check_node(&cols);
    check_shape(ggml_conv_3d(ctx, k, op_f32_tensor(ctx, 8, 9, 10, 0), 3, 1, 1, 1, 0, 0, 0, 1, 1, 1), 8, 8, 0,
                0);
    OP_CHECK_REFUSED(ggml_conv_3d(ctx, k, x, 5, 1, 1, 1, 0, 0, 0, 1, 1, 1), "IC must be above 0 and divide");
    OP_CHECK_REFUSED(ggml_conv_3d(ctx, k, x, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1), "IC must be above 0");
    OP_CHECK_REFUSED(ggml_conv_3d(ctx, k, x, INT64_MIN, 1, 1, 1, 0, 0, 0, 1, 1, 1), "IC must be above 0");
    OP_CHECK_REFUSED(ggml_conv_3d(ctx, k, x, 3, 1, 1, 1, 0, 0, 0, 1, 1, 0), "dilation of dimension 2");
    OP_CHECK_REFUSED(ggml_conv_3d(ctx, k, NULL, 3, 1, 1, 1, 0, 0, 0, 1, 1, 1), "source 1 is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(one_dimension),
        OP_CHECK_TEST(one_dimension_refused),
        OP_CHECK_TEST(one_dimension_by_channel),
        OP_CHECK_TEST(two_dimensions),
        OP_CHECK_TEST(two_dimensions_refused),
        OP_CHECK_TEST(two_dimensions_by_channel),
        OP_CHECK_TEST(three_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
