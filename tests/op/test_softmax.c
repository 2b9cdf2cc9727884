// SPDX-License-Identifier: MIT
// SOFT_MAX and SOFT_MAX_BACK: nodes, masks, sinks, refusals, gradients.
#include "op/op_grad.h"

static void soft_max(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 7, 3, 4, 6);
    struct ggml_tensor * mask = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 7, 5, 2, 3);
    const struct op_node nodes[] = {
        OP_NODE(ggml_soft_max(ctx, a), GGML_OP_SOFT_MAX, GGML_TYPE_F32, .ne = { 7, 3, 4, 6 },
                .params = { op_f32(1.0f), 0 }, .src = { a }),
        OP_NODE(ggml_soft_max_inplace(ctx, a), GGML_OP_SOFT_MAX, GGML_TYPE_F32, .ne = { 7, 3, 4, 6 },
                .params = { op_f32(1.0f), 0 }, .src = { a }, .base = a, .name = "a (view)"),
        OP_NODE(ggml_soft_max_ext(ctx, a, mask, 0.5f, 8.0f), GGML_OP_SOFT_MAX, GGML_TYPE_F32,
                .ne = { 7, 3, 4, 6 }, .params = { op_f32(0.5f), op_f32(8.0f) }, .src = { a, mask }),
        OP_NODE(ggml_soft_max_ext(ctx, a, NULL, 0.5f, 0.0f), GGML_OP_SOFT_MAX, GGML_TYPE_F32,
                .ne = { 7, 3, 4, 6 }, .params = { op_f32(0.5f), 0 }, .src = { a }),
        OP_NODE(ggml_soft_max_ext_inplace(ctx, a, mask, 2.0f, 0.0f), GGML_OP_SOFT_MAX, GGML_TYPE_F32,
                .ne = { 7, 3, 4, 6 }, .params = { op_f32(2.0f), 0 }, .src = { a, mask }, .base = a,
                .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
}

static void refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 7, 3, 4, 6);
    struct ggml_tensor * t = op_strided_tensor(ctx, GGML_TYPE_F32, 7, 3, 4, 6);
    OP_CHECK_REFUSED(ggml_soft_max(ctx, t), "src0 must be contiguous");
    OP_CHECK_REFUSED(ggml_soft_max_inplace(ctx, t), "src0 must be contiguous");
    OP_CHECK_REFUSED(ggml_soft_max(ctx, NULL), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_soft_max_ext(ctx, a, NULL, 1.0f, 8.0f), "max_bias 8 needs a mask");
    OP_CHECK_REFUSED(ggml_soft_max_ext(ctx, a, ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 7, 3), 1, 0),
                     "the mask, must be f16 or f32, it is i32");
    OP_CHECK_REFUSED(ggml_soft_max_ext(ctx, a, op_leaf(ctx, "", 6, 3, 1, 1), 1, 0),
                     "src1 ne[0] = 6 must equal src0 ne[0] = 7");
    OP_CHECK_REFUSED(ggml_soft_max_ext(ctx, a, op_leaf(ctx, "", 7, 2, 1, 1), 1, 0), "at least as many rows");
    OP_CHECK_REFUSED(ggml_soft_max_ext(ctx, a, op_leaf(ctx, "", 7, 3, 3, 1), 1, 0),
                     "src1 ne[2] = 3 must divide src0 ne[2] = 4");
    OP_CHECK_REFUSED(ggml_soft_max_ext_inplace(ctx, a, op_leaf(ctx, "", 7, 3, 1, 4), 1, 0),
                     "src1 ne[3] = 4 must divide src0 ne[3] = 6");
    OP_CHECK_REFUSED(ggml_soft_max_ext(ctx, a, t, 1, 0), "src1 must be contiguous");
}

static void sinks(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 7, 3, 4, 6);
    struct ggml_tensor * s = op_leaf(ctx, "sinks", 4, 1, 1, 1);
    struct ggml_tensor * y = ggml_soft_max(ctx, a);
    ggml_soft_max_add_sinks(y, s);
    const struct op_node node = OP_NODE(y, GGML_OP_SOFT_MAX, GGML_TYPE_F32, .ne = { 7, 3, 4, 6 },
                                        .params = { op_f32(1.0f) }, .src = { a, NULL, s });
    op_check_node(&node);
    ggml_soft_max_add_sinks(y, NULL);
    assert_null(y->src[2]);
}

// The function returns nothing: a node that may not have what it is given is poisoned, and with it its graph.
static void sinks_that_do_not_fit(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 7, 3, 4, 6);
    struct ggml_tensor * wrong[] = { op_leaf(ctx, "", 3, 1, 1, 1),
                                     op_leaf(ctx, "", 4, 0, 1, 1),
                                     ggml_new_tensor_1d(ctx, GGML_TYPE_F16, 4) };
    const char * const words[] = { "src2 ne[0] = 3 must equal src0 ne[2] = 4",
                                   "src2 [4, 0, 1, 1] has no elements",
                                   "src2 must be f32, it is f16" };
    for (size_t i = 0; i < TN_COUNT(wrong); i++) {
        struct ggml_tensor * y = ggml_soft_max(ctx, a);
        ggml_soft_max_add_sinks(y, wrong[i]);
        assert_true(tn_tensor_is_poisoned(y));
        assert_contains(tn_error_text(), "ggml_soft_max_add_sinks: ");
        assert_contains(tn_error_text(), words[i]);
        assert_null(y->src[2]);
        OP_CHECK_REFUSED(ggml_sqr(ctx, y), "source 0 was refused before");
        ggml_soft_max_add_sinks(y, NULL); // stays as it is
        assert_true(tn_tensor_is_poisoned(y));
        struct ggml_tensor * next = op_leaf(ctx, "next", 1, 1, 1, 1);
        assert_ptr_equal(ggml_get_next_tensor(ctx, y), next); // it is still one of the context
    }
    struct ggml_tensor * sum = ggml_add(ctx, a, a);
    ggml_soft_max_add_sinks(sum, op_leaf(ctx, "", 4, 1, 1, 1));
    assert_true(tn_tensor_is_poisoned(sum));
    assert_contains(tn_error_text(), "must be a result of SOFT_MAX, it is one of ADD");
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, sum);
    assert_false(tn_graph_usable(g));
    ggml_soft_max_add_sinks(NULL, NULL);
    assert_contains(tn_error_text(), "must be a result of SOFT_MAX");
}

static void soft_max_back(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * g = op_leaf(ctx, "g", 7, 3, 1, 1);
    struct ggml_tensor * y = op_leaf(ctx, "y", 7, 3, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_soft_max_ext_back(ctx, g, y, 0.5f, 0.0f), GGML_OP_SOFT_MAX_BACK, GGML_TYPE_F32,
                .ne = { 7, 3, 1, 1 }, .params = { op_f32(0.5f), 0 }, .src = { g, y }),
        OP_NODE(ggml_soft_max_ext_back_inplace(ctx, g, y, 0.5f, 1.0f), GGML_OP_SOFT_MAX_BACK, GGML_TYPE_F32,
                .ne = { 7, 3, 1, 1 }, .params = { op_f32(0.5f), op_f32(1.0f) }, .src = { g, y }, .base = g,
                .name = "g (view)"),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_soft_max_ext_back(ctx, g, op_leaf(ctx, "", 7, 1, 1, 1), 1, 0),
                     "src0 must have the shape of src1");
    OP_CHECK_REFUSED(ggml_soft_max_ext_back_inplace(ctx, g, NULL, 1, 0), "source 1 is NULL");
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 7, 3, 2, 1);
    struct ggml_tensor * mask = op_leaf(ctx, "mask", 7, 3, 1, 1);
    const struct op_grad d = op_backward(ctx, ggml_soft_max_ext(ctx, a, mask, 0.25f, 0.0f));
    OP_GRAD(d, a, "SOFT_MAX_BACK(g, y)");
    OP_GRAD(d, mask, NULL);
    assert_int_equal(ggml_graph_get_grad(d.graph, a)->op_params[0], op_f32(0.25f));
    struct ggml_tensor * trained = op_param(ctx, "trained", 7, 3, 1, 1);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_soft_max_ext(ctx, a, trained, 1, 0)), "no gradient for the mask");
    struct ggml_tensor * y = ggml_soft_max(ctx, a);
    ggml_soft_max_add_sinks(y, op_param(ctx, "sinks", 2, 1, 1, 1));
    OP_GRAD_REFUSED(op_backward(ctx, y), "no gradient for the sinks");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(soft_max),      OP_CHECK_TEST(refusals),
        OP_CHECK_TEST(sinks),         OP_CHECK_TEST(sinks_that_do_not_fit),
        OP_CHECK_TEST(soft_max_back), OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("softmax", tests, NULL, NULL);
}
