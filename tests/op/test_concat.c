// SPDX-License-Identifier: MIT
// CONCAT: nodes along every dimension, refusals.
#include "op/op_grad.h"

static void nodes_along_every_dimension(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_new_tensor_4d(ctx, GGML_TYPE_Q8_0, 64, 3, 2, 4);
    for (int dim = 0; dim < GGML_MAX_DIMS; dim++) {
        int64_t ne[GGML_MAX_DIMS] = { 64, 3, 2, 4 };
        ne[dim] = dim ? 5 : 32;
        struct ggml_tensor * b = ggml_new_tensor(ctx, GGML_TYPE_Q8_0, 4, ne);
        struct op_node node = { .t = ggml_concat(ctx, a, b, dim),
                                .op = GGML_OP_CONCAT,
                                .type = GGML_TYPE_Q8_0,
                                .ne = { 64, 3, 2, 4 },
                                .params = { dim },
                                .src = { a, b } };
        node.ne[dim] += ne[dim];
        op_check_node(&node);
    }
}

static void refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 4, 3, 2, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 4, 2, 2, 1);
    struct ggml_tensor * h = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 4, 3, 2);
    OP_CHECK_REFUSED(ggml_concat(ctx, a, b, 0), "src1 ne[1] = 2 must equal src0 ne[1] = 3");
    OP_CHECK_REFUSED(ggml_concat(ctx, a, b, -1), "dim must be 0 to 3, it is -1");
    OP_CHECK_REFUSED(ggml_concat(ctx, a, a, 4), "dim must be 0 to 3, it is 4");
    OP_CHECK_REFUSED(ggml_concat(ctx, a, h, 0), "src1 must be f32, it is f16");
    OP_CHECK_REFUSED(ggml_concat(ctx, a, NULL, 0), "source 1 is NULL");
    struct ggml_tensor * huge = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, INT64_MAX);
    OP_CHECK_REFUSED(ggml_concat(ctx, huge, huge, 0), "ne[0] of the result is 2^63 or more");
    struct ggml_tensor * p = op_param(ctx, "p", 4, 3, 2, 1);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_concat(ctx, p, a, 0)), "CONCAT");
}

int main(void) {
    const struct CMUnitTest tests[] = { OP_CHECK_TEST(nodes_along_every_dimension), OP_CHECK_TEST(refusals) };
    return cmocka_run_group_tests_name("concat", tests, NULL, NULL);
}
