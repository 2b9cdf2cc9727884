// SPDX-License-Identifier: MIT
// MUL_MAT MUL_MAT_ID OUT_PROD: nodes, refusals, settings, gradients.
#include "op/op_grad.h"

static void mul_mat(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_new_tensor_4d(ctx, GGML_TYPE_Q4_K, 256, 5, 2, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 256, 7, 6, 3);
    struct ggml_tensor * bt = op_strided_tensor(ctx, GGML_TYPE_F32, 256, 7, 6, 3);
    const struct op_node nodes[] = {
        { .t = ggml_mul_mat(ctx, a, b), .op = GGML_OP_MUL_MAT, .ne = { 5, 7, 6, 3 }, .src = { a, b } },
        { .t = ggml_mul_mat(ctx, a, bt), .op = GGML_OP_MUL_MAT, .ne = { 5, 7, 6, 3 }, .src = { a, bt } },
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_mul_mat(ctx, a, op_leaf(ctx, "", 255, 7, 6, 3)),
                     "src0 ne[0] = 256 must equal src1 ne[0] = 255");
    OP_CHECK_REFUSED(ggml_mul_mat(ctx, a, op_leaf(ctx, "", 256, 7, 5, 3)),
                     "src0 ne[2] = 2 must divide src1 ne[2] = 5");
    OP_CHECK_REFUSED(ggml_mul_mat(ctx, b, op_leaf(ctx, "", 256, 7, 6, 4)),
                     "src0 ne[3] = 3 must divide src1 ne[3] = 4");
    OP_CHECK_REFUSED(ggml_mul_mat(ctx, bt, b), "src0 must not be transposed");
    OP_CHECK_REFUSED(ggml_mul_mat(ctx, NULL, b), "source 0 is NULL");
}

static void mul_mat_id(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * as = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 8, 5, 16);
    struct ggml_tensor * b = op_leaf(ctx, "b", 8, 2, 7, 1);
    struct ggml_tensor * ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 4, 7);
    const struct op_node node = { .t = ggml_mul_mat_id(ctx, as, b, ids),
                                  .op = GGML_OP_MUL_MAT_ID,
                                  .ne = { 5, 4, 7, 1 },
                                  .src = { as, b, ids } };
    op_check_node(&node);
    struct ggml_tensor * as4 = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 8, 5, 16, 2);
    OP_CHECK_REFUSED(ggml_mul_mat_id(ctx, as4, b, ids), "src0 ne[3] must be 1, it is 2");
    OP_CHECK_REFUSED(ggml_mul_mat_id(ctx, as, op_leaf(ctx, "", 8, 2, 7, 2), ids),
                     "src1 ne[3] must be 1, it is 2");
    OP_CHECK_REFUSED(ggml_mul_mat_id(ctx, as, b, op_leaf(ctx, "", 4, 7, 1, 1)),
                     "src2 must be i32, it is f32");
    OP_CHECK_REFUSED(ggml_mul_mat_id(ctx, as, b, ggml_new_tensor_3d(ctx, GGML_TYPE_I32, 4, 7, 2)),
                     "src2 ne[2] must be 1");
    OP_CHECK_REFUSED(ggml_mul_mat_id(ctx, as, b, ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 4, 6)),
                     "src2 ne[1] = 6 must equal src1 ne[2] = 7");
    OP_CHECK_REFUSED(ggml_mul_mat_id(ctx, as, op_leaf(ctx, "", 9, 2, 7, 1), ids),
                     "src0 ne[0] = 8 must equal src1 ne[0] = 9");
    OP_CHECK_REFUSED(ggml_mul_mat_id(ctx, as, op_leaf(ctx, "", 8, 3, 7, 1), ids),
                     "src1 ne[1] = 3 must divide src2 ne[0] = 4");
    OP_CHECK_REFUSED(ggml_mul_mat_id(ctx, op_strided_tensor(ctx, GGML_TYPE_F16, 8, 5, 16, 1), b, ids),
                     "src0 must not be transposed");
}

static void out_prod(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 5, 7, 2, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 3, 7, 4, 2);
    const struct op_node node = {
        .t = ggml_out_prod(ctx, a, b), .op = GGML_OP_OUT_PROD, .ne = { 5, 3, 4, 2 }, .src = { a, b }
    };
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_out_prod(ctx, a, op_leaf(ctx, "", 3, 6, 4, 2)),
                     "src0 ne[1] = 7 must equal src1 ne[1] = 6");
    OP_CHECK_REFUSED(ggml_out_prod(ctx, a, op_leaf(ctx, "", 3, 7, 3, 2)),
                     "src0 ne[2] = 2 must divide src1 ne[2] = 3");
    OP_CHECK_REFUSED(ggml_out_prod(ctx, b, op_leaf(ctx, "", 3, 7, 4, 3)),
                     "src0 ne[3] = 2 must divide src1 ne[3] = 3");
    OP_CHECK_REFUSED(ggml_out_prod(ctx, op_strided_tensor(ctx, GGML_TYPE_F32, 5, 7, 1, 1), b),
                     "must not be transposed");
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void settings(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * as = op_leaf(ctx, "as", 8, 5, 3, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 8, 2, 3, 1);
    struct ggml_tensor * products[] = {
        ggml_mul_mat(ctx, as, b), ggml_mul_mat_id(ctx, as, b, ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 2, 3))
    };
    for (size_t i = 0; i < TN_COUNT(products); i++) {
        struct ggml_tensor * t = products[i];
        assert_true(ggml_prec_set_acc(t, GGML_PREC_F32));
        assert_true(ggml_prec_set_src(t, (enum ggml_prec) 77, 1)); // stored unchecked
        assert_int_equal(t->op_params[0], GGML_PREC_F32);
        assert_int_equal(t->op_params[3], 77);
        for (int idx = -1; idx <= 10; idx++) {
            if (idx != 1) assert_false(ggml_prec_set_src(t, GGML_PREC_Q8, idx));
        }
        assert_int_equal(t->op_params[1] | t->op_params[2] | t->op_params[4], 0);
    }
    struct ggml_tensor * sum = ggml_add(ctx, b, b);
    assert_false(ggml_prec_set_acc(sum, GGML_PREC_F32));
    assert_contains(tn_error_text(), "ggml_prec_set_acc: ADD takes no such setting");
    assert_false(ggml_prec_set_src(sum, GGML_PREC_F32, 1));
    assert_false(ggml_prec_set_acc(b, GGML_PREC_F32));
    assert_false(ggml_prec_set_acc(NULL, GGML_PREC_F32));
    assert_false(ggml_prec_set_src(NULL, GGML_PREC_F32, 1));
    ggml_mul_mat_set_prec(sum, GGML_PREC_F32);
    assert_contains(tn_error_text(), "ggml_mul_mat_set_prec: ADD is no MUL_MAT");
    ggml_mul_mat_set_hint(products[1], GGML_HINT_SRC0_IS_HADAMARD);
    assert_contains(tn_error_text(), "ggml_mul_mat_set_hint: MUL_MAT_ID is no MUL_MAT");
    ggml_mul_mat_set_prec(NULL, GGML_PREC_F32);
    ggml_mul_mat_set_hint(NULL, GGML_HINT_NONE);
    assert_int_equal(sum->op_params[0] | products[1]->op_params[1], 0);
    ggml_mul_mat_set_prec(products[0], GGML_PREC_BF16);
    ggml_mul_mat_set_hint(products[0], GGML_HINT_SRC0_IS_HADAMARD);
    assert_int_equal(products[0]->op_params[0], GGML_PREC_BF16);
    assert_int_equal(products[0]->op_params[1], GGML_HINT_SRC0_IS_HADAMARD);
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 2, 2);
    struct ggml_tensor * b = op_param(ctx, "b", 4, 5, 2, 2);
    struct op_grad d = op_backward(ctx, ggml_mul_mat(ctx, a, b));
    OP_GRAD(d, a, "OUT_PROD(b, g)");
    OP_GRAD(d, b, "OUT_PROD(a, TRANSPOSE(g))");

    // matrix k of a serves k*r .. k*r + r - 1 of b: neighbours are summed, in dimension 2 and then 3
    struct ggml_tensor * wide = op_param(ctx, "wide", 4, 5, 6, 4);
    d = op_backward(ctx, ggml_mul_mat(ctx, a, wide));
    OP_GRAD(d, a, "RESHAPE(REPEAT_BACK(RESHAPE(REPEAT_BACK(RESHAPE(OUT_PROD(wide, g))))))");
    const struct ggml_tensor * t = ggml_graph_get_grad(d.graph, a)->src[0];
    const int64_t shapes[][4] = {
        { 24, 1, 2, 1 }, { 24, 2, 2, 1 }, { 12, 1, 2, 4 }, { 12, 3, 2, 4 }, { 4, 3, 6, 4 }
    };
    for (size_t i = 0; i < TN_COUNT(shapes); i++, t = t->src[0])
        assert_memory_equal(t->ne, shapes[i], sizeof(t->ne));

    struct ggml_tensor * bt = ggml_transpose(ctx, op_leaf(ctx, "c", 5, 4, 2, 2));
    d = op_backward(ctx, ggml_mul_mat(ctx, a, bt));
    OP_GRAD(d, a, "OUT_PROD(CONT(TRANSPOSE(c)), g)");
    OP_GRAD_REFUSED(op_backward(ctx, ggml_out_prod(ctx, a, ggml_sqr(ctx, a))), "OUT_PROD");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(mul_mat),  OP_CHECK_TEST(mul_mat_id), OP_CHECK_TEST(out_prod),
        OP_CHECK_TEST(settings), OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("matmul", tests, NULL, NULL);
}
