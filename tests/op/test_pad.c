// SPDX-License-Identifier: MIT
// core/ops/pad.c: pad in its four forms, pad_reflect_1d, roll.
#include "op/op_grad.h"

static void paddings(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 3, 4, 5, 6);
    struct ggml_tensor * half = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 3, 4);
    struct ggml_tensor * none = op_f32_tensor(ctx, 0, 2, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_pad(ctx, a, 1, 2, 3, 4), GGML_OP_PAD, GGML_TYPE_F32, .ne = { 4, 6, 8, 10 },
                .params = { 0, 1, 0, 2, 0, 3, 0, 4 }, .src = { a }),
        OP_NODE(ggml_pad_circular(ctx, a, 1, 2, 3, 4), GGML_OP_PAD, GGML_TYPE_F32, .ne = { 4, 6, 8, 10 },
                .params = { 0, 1, 0, 2, 0, 3, 0, 4, 1 }, .src = { a }),
        OP_NODE(ggml_pad_ext(ctx, a, 1, 2, 3, 4, 5, 6, 7, 8), GGML_OP_PAD, GGML_TYPE_F32,
                .ne = { 6, 11, 16, 21 }, .params = { 1, 2, 3, 4, 5, 6, 7, 8 }, .src = { a }),
        OP_NODE(ggml_pad_ext_circular(ctx, a, 1, 2, 3, 4, 5, 6, 7, 8), GGML_OP_PAD, GGML_TYPE_F32,
                .ne = { 6, 11, 16, 21 }, .params = { 1, 2, 3, 4, 5, 6, 7, 8, 1 }, .src = { a }),
        OP_NODE(ggml_pad(ctx, half, 0, 0, 0, 2), GGML_OP_PAD, GGML_TYPE_F16, .ne = { 3, 4, 1, 3 },
                .params = { 0, 0, 0, 0, 0, 0, 0, 2 }, .src = { half }),
        OP_NODE(ggml_pad(ctx, none, 2, 0, 0, 0), GGML_OP_PAD, GGML_TYPE_F32, .ne = { 2, 2, 1, 1 },
                .params = { 0, 2 }, .src = { none }),
    };
    OP_CHECK_NODES(nodes);
}

static void paddings_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 3, 4, 5, 6);
    struct ggml_tensor * none = op_f32_tensor(ctx, 0, 2, 1, 1);
    struct ggml_tensor * huge = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, INT64_MAX);
    struct ggml_tensor * blocks = ggml_new_tensor_1d(ctx, GGML_TYPE_Q8_0, 32);
    OP_CHECK_REFUSED(ggml_pad(ctx, a, -1, 0, 0, 0),
                     "must not be negative: dimension 0 has 0 on the left, -1");
    OP_CHECK_REFUSED(ggml_pad_circular(ctx, a, 0, 0, 0, -7), "must not be negative: dimension 3");
    OP_CHECK_REFUSED(ggml_pad_ext(ctx, a, 0, 0, INT32_MIN, 0, 0, 0, 0, 0),
                     "must not be negative: dimension 1");
    OP_CHECK_REFUSED(ggml_pad_ext_circular(ctx, a, 0, 0, 0, 0, 0, -2, 0, 0),
                     "must not be negative: dimension 2");
    OP_CHECK_REFUSED(ggml_pad_circular(ctx, none, 1, 0, 0, 0), "dimension 0 is empty");
    OP_CHECK_REFUSED(ggml_pad(ctx, huge, 1, 0, 0, 0), "2^63");
    OP_CHECK_REFUSED(ggml_pad(ctx, blocks, 1, 0, 0, 0), "33");
    OP_CHECK_REFUSED(ggml_pad(ctx, NULL, 1, 0, 0, 0), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_pad(NULL, a, 1, 0, 0, 0), "context is NULL");
}

static void reflections(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 3, 4, 5, 6);
    struct ggml_tensor * half = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 3, 4);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 3, 4, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_pad_reflect_1d(ctx, a, 2, 1), GGML_OP_PAD_REFLECT_1D, GGML_TYPE_F32,
                .ne = { 6, 4, 5, 6 }, .params = { 2, 1 }, .src = { a }),
        OP_NODE(ggml_pad_reflect_1d(ctx, a, 0, 0), GGML_OP_PAD_REFLECT_1D, GGML_TYPE_F32,
                .ne = { 3, 4, 5, 6 }, .src = { a }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_pad_reflect_1d(ctx, a, 3, 0), "below ne0 = 3, are 3 and 0");
    OP_CHECK_REFUSED(ggml_pad_reflect_1d(ctx, a, 0, 3), "below ne0 = 3, are 0 and 3");
    OP_CHECK_REFUSED(ggml_pad_reflect_1d(ctx, a, -1, 0), "at least 0");
    OP_CHECK_REFUSED(ggml_pad_reflect_1d(ctx, half, 1, 1), "src0 must be f32");
    OP_CHECK_REFUSED(ggml_pad_reflect_1d(ctx, strided, 1, 1), "src0 must be contiguous");
}

static void rolls(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 3, 4, 5, 6);
    struct ggml_tensor * half = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 3, 4);
    struct ggml_tensor * none = op_f32_tensor(ctx, 3, 0, 1, 1);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 3, 4, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_roll(ctx, a, 2, -3, 4, -5), GGML_OP_ROLL, GGML_TYPE_F32, .ne = { 3, 4, 5, 6 },
                .params = { 2, -3, 4, -5 }, .src = { a }),
        OP_NODE(ggml_roll(ctx, half, 0, 1, 0, 0), GGML_OP_ROLL, GGML_TYPE_F16, .ne = { 3, 4, 1, 1 },
                .params = { 0, 1 }, .src = { half }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_roll(ctx, a, 3, 0, 0, 0), "dimension 0 is 3, its shift 3");
    OP_CHECK_REFUSED(ggml_roll(ctx, a, 0, 0, 0, INT32_MIN), "dimension 3 is 6, its shift -2147483648");
    OP_CHECK_REFUSED(ggml_roll(ctx, none, 0, 0, 0, 0), "dimension 1 is 0");
    OP_CHECK_REFUSED(ggml_roll(ctx, strided, 0, 1, 0, 0), "src0 must have contiguous rows");
}

static void none_has_a_gradient(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 7, 1, 1, 1);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_pad(ctx, a, 1, 0, 0, 0)), "PAD");
    OP_GRAD_REFUSED(op_backward(ctx, ggml_roll(ctx, a, 1, 0, 0, 0)), "ROLL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(paddings), OP_CHECK_TEST(paddings_refused),    OP_CHECK_TEST(reflections),
        OP_CHECK_TEST(rolls),    OP_CHECK_TEST(none_has_a_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
