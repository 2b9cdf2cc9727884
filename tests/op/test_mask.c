// SPDX-License-Identifier: MIT
// DIAG DIAG_MASK_INF DIAG_MASK_ZERO TRI CLAMP: nodes, refusals, gradients.
#include "op/op_grad.h"

static void diag(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 5, 1, 2, 3);
    const struct op_node node =
        OP_NODE(ggml_diag(ctx, a), GGML_OP_DIAG, GGML_TYPE_F32, .ne = { 5, 5, 2, 3 }, .src = { a });
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_diag(ctx, op_leaf(ctx, "", 5, 2, 1, 1)), "src0 ne[1] must be 1, it is 2");
    OP_CHECK_REFUSED(ggml_diag(ctx, op_leaf(ctx, "", (int64_t) 1 << 40, 1, 1, 1)), "2^63 or more");
}

static void diag_mask(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 5, 4, 2, 3);
    const struct op_node nodes[] = {
        OP_NODE(ggml_diag_mask_inf(ctx, a, 3), GGML_OP_DIAG_MASK_INF, GGML_TYPE_F32, .ne = { 5, 4, 2, 3 },
                .params = { 3 }, .src = { a }),
        OP_NODE(ggml_diag_mask_zero(ctx, a, -2), GGML_OP_DIAG_MASK_ZERO, GGML_TYPE_F32, .ne = { 5, 4, 2, 3 },
                .params = { -2 }, .src = { a }),
        OP_NODE(ggml_diag_mask_inf_inplace(ctx, a, 1), GGML_OP_DIAG_MASK_INF, GGML_TYPE_F32,
                .ne = { 5, 4, 2, 3 }, .params = { 1 }, .src = { a }, .base = a, .name = "a (view)"),
        OP_NODE(ggml_diag_mask_zero_inplace(ctx, a, 0), GGML_OP_DIAG_MASK_ZERO, GGML_TYPE_F32,
                .ne = { 5, 4, 2, 3 }, .src = { a }, .base = a, .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_diag_mask_inf(ctx, NULL, 0), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_diag_mask_zero_inplace(ctx, NULL, 0), "source 0 is NULL");
}

static void tri(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 5, 5, 2, 1);
    for (int type = GGML_TRI_TYPE_UPPER_DIAG; type <= GGML_TRI_TYPE_LOWER; type++) {
        const struct op_node node =
            OP_NODE(ggml_tri(ctx, a, (enum ggml_tri_type) type), GGML_OP_TRI, GGML_TYPE_F32,
                    .ne = { 5, 5, 2, 1 }, .params = { type }, .src = { a });
        op_check_node(&node);
    }
    OP_CHECK_REFUSED(ggml_tri(ctx, a, (enum ggml_tri_type) 4), "triangle 4 is unknown");
    OP_CHECK_REFUSED(ggml_tri(ctx, a, (enum ggml_tri_type) - 1), "is unknown");
    OP_CHECK_REFUSED(ggml_tri(ctx, op_leaf(ctx, "", 5, 4, 1, 1), GGML_TRI_TYPE_UPPER),
                     "src0 ne[0] = 5 must equal src0 ne[1] = 4");
    OP_CHECK_REFUSED(ggml_tri(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 5, 5), GGML_TRI_TYPE_LOWER),
                     "src0 must be f32, it is f16");
    OP_CHECK_REFUSED(ggml_tri(ctx, op_strided_tensor(ctx, GGML_TYPE_F32, 5, 5, 2, 1), GGML_TRI_TYPE_LOWER),
                     "src0 must be contiguous");
}

static void clamp(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 5, 4), "a");
    const struct op_node nodes[] = {
        OP_NODE(ggml_clamp(ctx, a, -1.0f, 2.5f), GGML_OP_CLAMP, GGML_TYPE_F16, .ne = { 5, 4, 1, 1 },
                .params = { op_f32(-1.0f), op_f32(2.5f) }, .src = { a }),
        OP_NODE(ggml_clamp_inplace(ctx, a, 0.0f, 1.0f), GGML_OP_CLAMP, GGML_TYPE_F16, .ne = { 5, 4, 1, 1 },
                .params = { 0, op_f32(1.0f) }, .src = { a }, .base = a, .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_clamp(ctx, NULL, 0, 1), "source 0 is NULL");
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 5, 4, 1, 1);
    struct op_grad d = op_backward(ctx, ggml_diag_mask_inf(ctx, a, 2));
    OP_GRAD(d, a, "DIAG_MASK_ZERO(g)");
    assert_int_equal(ggml_graph_get_grad(d.graph, a)->op_params[0], 2);
    d = op_backward(ctx, ggml_diag_mask_zero(ctx, a, -1));
    OP_GRAD(d, a, "DIAG_MASK_ZERO(g)");
    assert_int_equal(ggml_graph_get_grad(d.graph, a)->op_params[0], -1);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_clamp(ctx, a, 0, 1)), "CLAMP");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(diag),  OP_CHECK_TEST(diag_mask), OP_CHECK_TEST(tri),
        OP_CHECK_TEST(clamp), OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("mask", tests, NULL, NULL);
}
