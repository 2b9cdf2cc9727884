// SPDX-License-Identifier: MIT
// core/ops/conv.c: CONV_2D, CONV_2D_DW, CONV_3D, CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D, and the arithmetic of
// windows.
#include "op/op_check.h"

#include "core/ops/conv_int.h"

static void two_dimensions(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 2, 3, 4, 5);
    struct ggml_tensor * x = op_f32_tensor(ctx, 16, 12, 4, 2);
    struct ggml_tensor * half = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 2, 3, 4, 5);
    struct ggml_tensor * none = op_f32_tensor(ctx, 16, 12, 4, 0);
    const struct op_node nodes[] = {
        OP_NODE(ggml_conv_2d_direct(ctx, k, x, 3, 2, 2, 1, 2, 2), GGML_OP_CONV_2D, GGML_TYPE_F32,
                .ne = { 6, 5, 5, 2 }, .params = { 3, 2, 2, 1, 2, 2 }, .src = { k, x }),
        OP_NODE(ggml_conv_2d_direct(ctx, half, x, 1, 1, 0, 0, 1, 1), GGML_OP_CONV_2D, GGML_TYPE_F32,
                .ne = { 15, 10, 5, 2 }, .params = { 1, 1, 0, 0, 1, 1 }, .src = { half, x }),
        OP_NODE(ggml_conv_2d_direct(ctx, k, none, 1, 1, 0, 0, 1, 1), GGML_OP_CONV_2D, GGML_TYPE_F32,
                .ne = { 15, 10, 5, 0 }, .params = { 1, 1, 0, 0, 1, 1 }, .src = { k, none }),
    };
    OP_CHECK_NODES(nodes);
}

static void two_dimensions_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 2, 3, 4, 5);
    struct ggml_tensor * x = op_f32_tensor(ctx, 16, 12, 4, 2);
    struct ggml_tensor * other = op_f32_tensor(ctx, 16, 12, 3, 2);
    struct ggml_tensor * small = op_f32_tensor(ctx, 1, 12, 4, 2);
    struct ggml_tensor * no_kernel = op_f32_tensor(ctx, 0, 3, 4, 5);
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, other, 1, 1, 0, 0, 1, 1),
                     "src0 ne[2] = 4 must equal src1 ne[2] = 3");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, x, 0, 1, 0, 0, 1, 1),
                     "stride of dimension 0 must be above 0, it is 0");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, x, 1, INT32_MIN, 0, 0, 1, 1),
                     "stride of dimension 1 must be above 0");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, x, 1, 1, -1, 0, 1, 1),
                     "padding of dimension 0 must not be negative");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, x, 1, 1, 0, 0, 1, 0),
                     "dilation of dimension 1 must be above 0, it is 0");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, x, 1, 1, 0, 0, 16, 1),
                     "output of dimension 0 must be positive");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, x, 1, 1, 0, 0, 1, INT32_MAX), "spans 4294967295");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, small, 2, 2, 0, 0, 1, 1),
                     "output of dimension 0 must be positive");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, no_kernel, x, 1, 1, 0, 0, 1, 1),
                     "kernel must not be empty in dimension 0");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, NULL, x, 1, 1, 0, 0, 1, 1), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_conv_2d_direct(ctx, k, NULL, 1, 1, 0, 0, 1, 1), "source 1 is NULL");
}

static void depthwise(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 3, 3, 1, 6);
    struct ggml_tensor * x = op_f32_tensor(ctx, 8, 9, 6, 2);
    struct ggml_tensor * other = op_f32_tensor(ctx, 8, 9, 5, 2);
    struct ggml_tensor * deep = op_f32_tensor(ctx, 3, 3, 2, 6);
    struct ggml_tensor * first = op_f32_tensor(ctx, 6, 8, 9, 2); // channels first, seen as [8, 9, 6, 2]
    struct ggml_tensor * seen = ggml_permute(ctx, first, 2, 0, 1, 3);
    const struct op_node nodes[] = {
        OP_NODE(ggml_conv_2d_dw_direct(ctx, k, x, 2, 1, 1, 0, 1, 2), GGML_OP_CONV_2D_DW, GGML_TYPE_F32,
                .ne = { 4, 5, 6, 2 }, .params = { 2, 1, 1, 0, 1, 2 }, .src = { k, x }),
        OP_NODE(ggml_conv_2d_dw_direct(ctx, k, seen, 2, 1, 1, 0, 1, 2), GGML_OP_CONV_2D_DW, GGML_TYPE_F32,
                .ne = { 4, 5, 6, 2 }, .params = { 2, 1, 1, 0, 1, 2 }, .src = { k, seen },
                .nb = { 24, 96, 4, 480 }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_conv_2d_dw_direct(ctx, k, other, 1, 1, 0, 0, 1, 1),
                     "src0 ne[3] = 6 must equal src1 ne[2] = 5");
    OP_CHECK_REFUSED(ggml_conv_2d_dw_direct(ctx, deep, x, 1, 1, 0, 0, 1, 1), "src0 ne[2] must be 1");
    OP_CHECK_REFUSED(ggml_conv_2d_dw_direct(ctx, k, x, -2, 1, 0, 0, 1, 1), "stride of dimension 0");
}

static void three_dimensions(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 1, 2, 3, 6); // 3 in, 2 out
    struct ggml_tensor * x = op_f32_tensor(ctx, 8, 9, 10, 12);
    const struct op_node node = OP_NODE(ggml_conv_3d_direct(ctx, k, x, 1, 2, 3, 0, 1, 2, 1, 2, 1, 3, 4, 2),
                                        GGML_OP_CONV_3D, GGML_TYPE_F32, .ne = { 8, 5, 4, 8 },
                                        .params = { 1, 2, 3, 0, 1, 2, 1, 2, 1, 3, 4, 2 }, .src = { k, x });
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_conv_3d_direct(ctx, k, x, 1, 1, 1, 0, 0, 0, 1, 1, 1, 3, 4, 3),
                     "src0 must be [any, any, any, 9]");
    OP_CHECK_REFUSED(ggml_conv_3d_direct(ctx, k, x, 1, 1, 1, 0, 0, 0, 1, 1, 1, 3, 5, 2),
                     "src1 must be [any, any, any, 15]");
    OP_CHECK_REFUSED(ggml_conv_3d_direct(ctx, k, x, 1, 1, 1, 0, 0, 0, 1, 1, 1, -3, -4, -2),
                     "must not be negative");
    OP_CHECK_REFUSED(ggml_conv_3d_direct(ctx, k, x, 1, 1, 0, 0, 0, 0, 1, 1, 1, 3, 4, 2),
                     "stride of dimension 2");
    OP_CHECK_REFUSED(ggml_conv_3d_direct(ctx, k, x, 1, 1, 1, 0, 0, 0, 1, 1, 9, 3, 4, 2),
                     "output of dimension 2");
}

static void transposed(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k1 = op_f32_tensor(ctx, 4, 5, 3, 1);
    struct ggml_tensor * x1 = op_f32_tensor(ctx, 14, 3, 1, 1);
    struct ggml_tensor * k2 = op_f32_tensor(ctx, 2, 3, 5, 4);
    struct ggml_tensor * x2 = op_f32_tensor(ctx, 16, 12, 4, 2);
    const struct op_node nodes[] = {
        OP_NODE(ggml_conv_transpose_1d(ctx, k1, x1, 3, 0, 1), GGML_OP_CONV_TRANSPOSE_1D, GGML_TYPE_F32,
                .ne = { 43, 5, 1, 1 }, .params = { 3, 0, 1 }, .src = { k1, x1 }),
        OP_NODE(ggml_conv_transpose_2d_p0(ctx, k2, x2, 3), GGML_OP_CONV_TRANSPOSE_2D, GGML_TYPE_F32,
                .ne = { 47, 36, 5, 2 }, .params = { 3 }, .src = { k2, x2 }),
    };
    OP_CHECK_NODES(nodes);
}

static void transposed_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k1 = op_f32_tensor(ctx, 4, 5, 3, 1);
    struct ggml_tensor * x1 = op_f32_tensor(ctx, 14, 3, 1, 1);
    struct ggml_tensor * batch = op_f32_tensor(ctx, 14, 3, 2, 1);
    struct ggml_tensor * deep = op_f32_tensor(ctx, 4, 5, 3, 2);
    struct ggml_tensor * none = op_f32_tensor(ctx, 0, 3, 1, 1);
    struct ggml_tensor * huge = ggml_new_tensor_2d(ctx, GGML_TYPE_I8, INT64_MAX / 4, 3);
    OP_CHECK_REFUSED(ggml_conv_transpose_1d(ctx, k1, x1, 1, 1, 1), "p0 must be 0 and d0 1, they are 1 and 1");
    OP_CHECK_REFUSED(ggml_conv_transpose_1d(ctx, k1, x1, 1, 0, 2), "p0 must be 0 and d0 1, they are 0 and 2");
    OP_CHECK_REFUSED(ggml_conv_transpose_1d(ctx, k1, x1, 0, 0, 1), "stride of dimension 0");
    OP_CHECK_REFUSED(ggml_conv_transpose_1d(ctx, k1, batch, 1, 0, 1), "src1 ne[2] must be 1");
    OP_CHECK_REFUSED(ggml_conv_transpose_1d(ctx, deep, x1, 1, 0, 1), "src0 ne[3] must be 1");
    OP_CHECK_REFUSED(ggml_conv_transpose_1d(ctx, x1, x1, 1, 0, 1),
                     "src0 ne[2] = 1 must equal src1 ne[1] = 3");
    OP_CHECK_REFUSED(ggml_conv_transpose_1d(ctx, k1, none, 1, 0, 1), "data must not be empty in dimension 0");
    OP_CHECK_REFUSED(ggml_conv_transpose_1d(ctx, k1, huge, INT32_MAX, 0, 1), "2^63");
    struct ggml_tensor * k2 = op_f32_tensor(ctx, 2, 3, 5, 4);
    struct ggml_tensor * x2 = op_f32_tensor(ctx, 16, 12, 3, 2);
    OP_CHECK_REFUSED(ggml_conv_transpose_2d_p0(ctx, k2, x2, 3), "src0 ne[3] = 4 must equal src1 ne[2] = 3");
    OP_CHECK_REFUSED(ggml_conv_transpose_2d_p0(ctx, k2, op_f32_tensor(ctx, 16, 12, 4, 2), -3),
                     "stride of dimension 0");
}

// Against a count of the windows one by one.
static void windows_lie_within_the_padded_data(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int round = 0; round < 2000; round++) {
        const struct tn_conv_axis a = {
            .in = test_rng_below(&rng, 12),
            .kernel = 1 + test_rng_below(&rng, 5),
            .stride = 1 + (int32_t) test_rng_below(&rng, 4),
            .pad = (int32_t) test_rng_below(&rng, 4),
            .dilation = 1 + (int32_t) test_rng_below(&rng, 3),
        };
        int64_t count = 0, out = 0;
        for (int64_t at = -a.pad; at + (a.kernel - 1) * a.dilation < a.in + a.pad; at += a.stride)
            count++;
        assert_int_equal(tn_conv_size(&a, 0, &out), count > 0);
        assert_int_equal(out, count);
    }
}

static void sizes_at_the_limit(void ** state) {
    (void) state;
    int64_t out;
    assert_true(tn_conv_size(&(struct tn_conv_axis){ INT64_MAX, 1, 1, 0, 1 }, 0, &out));
    assert_int_equal(out, INT64_MAX);
    assert_false(tn_conv_size(&(struct tn_conv_axis){ INT64_MAX, 1, 1, 1, 1 }, 0, &out));
    assert_false(tn_conv_size(&(struct tn_conv_axis){ 1, INT64_MAX, 1, 1, 2 }, 0, &out));
    assert_true(tn_conv_size(&(struct tn_conv_axis){ 0, 1, INT32_MAX, INT32_MAX, INT32_MAX }, 0, &out));
    assert_int_equal(out, 2);
    assert_true(tn_conv_transposed_size(&(struct tn_conv_axis){ 1, 3, INT32_MAX, 1, 1 }, 0, &out));
    assert_int_equal(out, 1);
    assert_false(tn_conv_transposed_size(&(struct tn_conv_axis){ 1, 2, 1, 1, 1 }, 0, &out));
    assert_false(tn_conv_transposed_size(&(struct tn_conv_axis){ INT64_MAX, 2, 2, 0, 1 }, 0, &out));
    assert_false(tn_conv_transposed_size(&(struct tn_conv_axis){ 1, 1, 1, INT32_MAX, 1 }, 0, &out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(two_dimensions),
        OP_CHECK_TEST(two_dimensions_refused),
        OP_CHECK_TEST(depthwise),
        OP_CHECK_TEST(three_dimensions),
        OP_CHECK_TEST(transposed),
        OP_CHECK_TEST(transposed_refused),
        OP_CHECK_TEST(windows_lie_within_the_padded_data),
        OP_CHECK_TEST(sizes_at_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
