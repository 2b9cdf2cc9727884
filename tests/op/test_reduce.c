// SPDX-License-Identifier: MIT
// SUM SUM_ROWS MEAN CUMSUM ARGMAX COUNT_EQUAL: nodes, refusals, gradients.
#include "op/op_grad.h"

static void nodes_of_reductions(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * h = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 7, 3, 2, 4);
    struct ggml_tensor * p = op_strided_tensor(ctx, GGML_TYPE_F32, 7, 3, 2, 4);
    struct ggml_tensor * m = op_leaf(ctx, "m", 7, 3, 1, 1);
    struct ggml_tensor * i = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 7, 3);
    const struct op_node nodes[] = {
        { .t = ggml_sum(ctx, h),
          .op = GGML_OP_SUM,
          .type = GGML_TYPE_F16,
          .ne = { 1, 1, 1, 1 },
          .src = { h } },
        { .t = ggml_sum_rows(ctx, h),
          .op = GGML_OP_SUM_ROWS,
          .type = GGML_TYPE_F16,
          .ne = { 1, 3, 2, 4 },
          .src = { h } },
        { .t = ggml_mean(ctx, h),
          .op = GGML_OP_MEAN,
          .type = GGML_TYPE_F32,
          .ne = { 1, 3, 2, 4 },
          .src = { h } },
        { .t = ggml_cumsum(ctx, p), .op = GGML_OP_CUMSUM, .ne = { 7, 3, 2, 4 }, .src = { p } },
        { .t = ggml_argmax(ctx, m),
          .op = GGML_OP_ARGMAX,
          .type = GGML_TYPE_I32,
          .ne = { 3, 1, 1, 1 },
          .src = { m } },
        { .t = ggml_count_equal(ctx, i, i),
          .op = GGML_OP_COUNT_EQUAL,
          .type = GGML_TYPE_I64,
          .ne = { 1, 1, 1, 1 },
          .src = { i, i } },
    };
    OP_CHECK_NODES(nodes);
}

static void refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * h = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 7, 3, 2, 4);
    OP_CHECK_REFUSED(ggml_sum(ctx, NULL), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_sum_rows(NULL, h), "the context is NULL");
    OP_CHECK_REFUSED(ggml_mean(ctx, NULL), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_cumsum(ctx, h), "src0 must be f32, it is f16");
    OP_CHECK_REFUSED(ggml_argmax(ctx, h), "src0 ne[2] must be 1, it is 2");
    OP_CHECK_REFUSED(ggml_argmax(ctx, op_leaf(ctx, "", (int64_t) INT32_MAX + 1, 1, 1, 1)),
                     "src0 ne[0] = 2147483648 must fit in 32 bits");
    OP_CHECK_REFUSED(ggml_count_equal(ctx, h, op_leaf(ctx, "", 7, 3, 2, 1)),
                     "src0 must have the shape of src1");
    assert_false(tn_tensor_is_poisoned(ggml_argmax(ctx, op_leaf(ctx, "", INT32_MAX, 1, 1, 1))));
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
    struct op_grad d = op_backward(ctx, ggml_sum(ctx, a));
    OP_GRAD(d, a, "REPEAT(g)");
    d = op_backward(ctx, ggml_sum_rows(ctx, a));
    OP_GRAD(d, a, "REPEAT(g)");
    d = op_backward(ctx, ggml_mean(ctx, a));
    OP_GRAD(d, a, "REPEAT(SCALE(g))");
    assert_int_equal(ggml_graph_get_grad(d.graph, a)->src[0]->op_params[0], op_f32(0.25f));
    // a second term adds the value by itself, without repeating it first
    d = op_backward(ctx, ggml_add(ctx, ggml_sum(ctx, a), ggml_sum(ctx, ggml_sqr(ctx, a))));
    const struct ggml_tensor * grad = ggml_graph_get_grad(d.graph, a);
    assert_int_equal(grad->op, GGML_OP_ADD);
    assert_int_equal(ggml_nelements(grad->src[1]), 1);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_cumsum(ctx, a)), "CUMSUM");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(nodes_of_reductions),
        OP_CHECK_TEST(refusals),
        OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
}
