// SPDX-License-Identifier: MIT
// core/ops/solve.c: SOLVE_TRI.
#include "op/op_check.h"

static void systems(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 5, 5, 3, 2);
    struct ggml_tensor * b = op_f32_tensor(ctx, 7, 5, 3, 2);
    const struct op_node node = OP_NODE(ggml_solve_tri(ctx, a, b, true, true, false), GGML_OP_SOLVE_TRI,
                                        GGML_TYPE_F32, .ne = { 7, 5, 3, 2 }, .src = { a, b });
    op_check_node(&node);
}

static void refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 5, 5, 3, 2);
    struct ggml_tensor * b = op_f32_tensor(ctx, 7, 5, 3, 2);
    struct ggml_tensor * half = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 7, 5, 3, 2);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 5, 5, 3, 2);
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, a, b, false, true, false), "only left = lower = true, uni = false");
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, a, b, true, false, false), "they are 1, 0, 0");
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, a, b, true, true, true), "they are 1, 1, 1");
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, a, half, true, true, false), "src1 must be f32");
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, strided, b, true, true, false), "src0 must be contiguous");
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, b, b, true, true, false), "src0 must be [7, 7, any, any]");
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, a, op_f32_tensor(ctx, 7, 4, 3, 2), true, true, false),
                     "[any, 5, 3, 2]");
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, a, op_f32_tensor(ctx, 7, 5, 1, 2), true, true, false),
                     "[any, 5, 3, 2]");
    OP_CHECK_REFUSED(ggml_solve_tri(ctx, a, NULL, true, true, false), "source 1 is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = { OP_CHECK_TEST(systems), OP_CHECK_TEST(refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
