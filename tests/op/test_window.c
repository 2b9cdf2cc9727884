// SPDX-License-Identifier: MIT
// core/ops/window.c: WIN_PART, WIN_UNPART, GET_REL_POS, ADD_REL_POS.
#include "op/op_check.h"

static void parts(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 10, 12, 9, 1);
    struct ggml_tensor * p = op_f32_tensor(ctx, 10, 5, 5, 6);
    const struct op_node nodes[] = {
        OP_NODE(ggml_win_part(ctx, a, 5), GGML_OP_WIN_PART, GGML_TYPE_F32, .ne = { 10, 5, 5, 6 },
                .params = { 3, 2, 5 }, .src = { a }),
        OP_NODE(ggml_win_part(ctx, a, 3), GGML_OP_WIN_PART, GGML_TYPE_F32, .ne = { 10, 3, 3, 12 },
                .params = { 4, 3, 3 }, .src = { a }),
        OP_NODE(ggml_win_unpart(ctx, p, 12, 9, 5), GGML_OP_WIN_UNPART, GGML_TYPE_F32, .ne = { 10, 12, 9, 1 },
                .params = { 5 }, .src = { p }),
    };
    OP_CHECK_NODES(nodes);
}

static void parts_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 10, 12, 9, 1);
    struct ggml_tensor * p = op_f32_tensor(ctx, 10, 5, 5, 6);
    struct ggml_tensor * batch = op_f32_tensor(ctx, 10, 12, 9, 2);
    struct ggml_tensor * half = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 10, 5, 5, 6);
    struct ggml_tensor * wide = op_f32_tensor(ctx, 1, (int64_t) 1 << 40, 1, 1);
    OP_CHECK_REFUSED(ggml_win_part(ctx, a, 0), "window must be above 0, it is 0");
    OP_CHECK_REFUSED(ggml_win_part(ctx, a, -5), "window must be above 0, it is -5");
    OP_CHECK_REFUSED(ggml_win_part(ctx, batch, 5), "src0 ne[3] must be 1");
    OP_CHECK_REFUSED(ggml_win_part(ctx, half, 5), "src0 must be f32");
    OP_CHECK_REFUSED(ggml_win_part(ctx, wide, 1), "must fit in 32 bits");
    OP_CHECK_REFUSED(ggml_win_part(ctx, NULL, 5), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_win_unpart(ctx, p, 12, 9, 0), "window must be above 0");
    OP_CHECK_REFUSED(ggml_win_unpart(ctx, p, -12, 9, 5), "must not be negative");
    OP_CHECK_REFUSED(ggml_win_unpart(ctx, p, 16, 9, 5), "src0 must be [any, 5, 5, 8]");
    OP_CHECK_REFUSED(ggml_win_unpart(ctx, p, 12, 9, 4), "src0 must be [any, 4, 4, 9]");
    OP_CHECK_REFUSED(ggml_win_unpart(ctx, half, 12, 9, 5), "src0 must be f32");
    OP_CHECK_REFUSED(ggml_win_unpart(ctx, p, INT32_MAX, INT32_MAX, 1), "src0 must be");
}

static void positions(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 6, 9);
    struct ggml_tensor * b = ggml_new_tensor_2d(ctx, GGML_TYPE_BF16, 6, 9);
    const struct op_node nodes[] = {
        OP_NODE(ggml_get_rel_pos(ctx, a, 5, 5), GGML_OP_GET_REL_POS, GGML_TYPE_F16, .ne = { 6, 5, 5, 1 },
                .src = { a }),
        OP_NODE(ggml_get_rel_pos(ctx, b, 5, 5), GGML_OP_GET_REL_POS, GGML_TYPE_F16, .ne = { 6, 5, 5, 1 },
                .src = { b }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_get_rel_pos(ctx, a, 5, 4), "qh and kh must be equal and above 0, they are 5 and 4");
    OP_CHECK_REFUSED(ggml_get_rel_pos(ctx, a, 4, 4), "src0 must be [any, 7, 1, 1]");
    OP_CHECK_REFUSED(ggml_get_rel_pos(ctx, a, -1, -1), "above 0");
    OP_CHECK_REFUSED(ggml_get_rel_pos(ctx, NULL, 5, 5), "source 0 is NULL");
}

static void adding_positions(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(op_f32_tensor(ctx, 25, 6, 3, 1), "a");
    struct ggml_tensor * pw = op_f32_tensor(ctx, 5, 3, 2, 3);
    struct ggml_tensor * ph = op_f32_tensor(ctx, 5, 3, 2, 3);
    const struct op_node nodes[] = {
        OP_NODE(ggml_add_rel_pos(ctx, a, pw, ph), GGML_OP_ADD_REL_POS, GGML_TYPE_F32, .ne = { 25, 6, 3, 1 },
                .src = { a, pw, ph }),
        OP_NODE(ggml_add_rel_pos_inplace(ctx, a, pw, ph), GGML_OP_ADD_REL_POS, GGML_TYPE_F32,
                .ne = { 25, 6, 3, 1 }, .params = { 1 }, .src = { a, pw, ph }, .base = a, .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
    struct ggml_tensor * half = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 5, 3, 2, 3);
    struct ggml_tensor * other = op_f32_tensor(ctx, 5, 2, 3, 3);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 5, 3, 2, 3);
    OP_CHECK_REFUSED(ggml_add_rel_pos(ctx, a, half, ph), "src1 must be f32");
    OP_CHECK_REFUSED(ggml_add_rel_pos(ctx, a, pw, half), "src2 must be f32");
    OP_CHECK_REFUSED(ggml_add_rel_pos(ctx, a, pw, other), "src2 must have the shape of src1");
    OP_CHECK_REFUSED(ggml_add_rel_pos_inplace(ctx, a, pw, strided), "src2 must be contiguous");
    OP_CHECK_REFUSED(ggml_add_rel_pos(ctx, op_f32_tensor(ctx, 24, 6, 3, 1), pw, ph),
                     "src0 must be [25, 6, 3, 1]");
    OP_CHECK_REFUSED(ggml_add_rel_pos(ctx, op_f32_tensor(ctx, 25, 6, 2, 1), pw, ph),
                     "src0 must be [25, 6, 3, 1]");
    struct ggml_tensor * wide = op_f32_tensor(ctx, (int64_t) 1 << 32, 1, 1, 1);
    OP_CHECK_REFUSED(ggml_add_rel_pos(ctx, a, wide, wide), "below 2^63");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(parts),
        OP_CHECK_TEST(parts_refused),
        OP_CHECK_TEST(positions),
        OP_CHECK_TEST(adding_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
