// SPDX-License-Identifier: MIT
// NORM RMS_NORM L2_NORM GROUP_NORM RMS_NORM_BACK: nodes, refusals, gradients.
#include "op/op_grad.h"

static const struct {
    struct ggml_tensor * (*make)(struct ggml_context *, struct ggml_tensor *, float);
    struct ggml_tensor * (*make_inplace)(struct ggml_context *, struct ggml_tensor *, float);
    enum ggml_op op;
} norms[] = {
    { ggml_norm, ggml_norm_inplace, GGML_OP_NORM },
    { ggml_rms_norm, ggml_rms_norm_inplace, GGML_OP_RMS_NORM },
    { ggml_l2_norm, ggml_l2_norm_inplace, GGML_OP_L2_NORM },
};

static void nodes_of_row_norms(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 7, 3, 2, 4);
    struct ggml_tensor * p = ggml_permute(ctx, a, 0, 2, 1, 3);
    for (size_t i = 0; i < TN_COUNT(norms); i++) {
        const struct op_node nodes[] = {
            { .t = norms[i].make(ctx, a, 1e-5f),
              .op = norms[i].op,
              .ne = { 7, 3, 2, 4 },
              .params = { op_f32(1e-5f) },
              .src = { a } },
            { .t = norms[i].make(ctx, p, 0.0f), .op = norms[i].op, .ne = { 7, 2, 3, 4 }, .src = { p } },
            { .t = norms[i].make_inplace(ctx, a, 1e-6f),
              .op = norms[i].op,
              .ne = { 7, 3, 2, 4 },
              .params = { op_f32(1e-6f) },
              .src = { a },
              .base = a,
              .name = "a (view)" },
        };
        OP_CHECK_NODES(nodes);
        op_check_refused(norms[i].make(ctx, NULL, 0), "norm", "source 0 is NULL", __LINE__);
        op_check_refused(norms[i].make_inplace(NULL, a, 0), "norm_inplace", "the context is NULL", __LINE__);
    }
}

static void group_norm(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 7, 3, 8, 2);
    const struct op_node nodes[] = {
        { .t = ggml_group_norm(ctx, a, 3, 1e-5f),
          .op = GGML_OP_GROUP_NORM,
          .ne = { 7, 3, 8, 2 },
          .params = { 3, op_f32(1e-5f) },
          .src = { a } },
        { .t = ggml_group_norm_inplace(ctx, a, 32, 1e-5f),
          .op = GGML_OP_GROUP_NORM,
          .ne = { 7, 3, 8, 2 },
          .params = { 32, op_f32(1e-5f) },
          .src = { a },
          .base = a,
          .name = "a (view)" },
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_group_norm(ctx, a, 0, 1e-5f), "n_groups must be positive, it is 0");
    OP_CHECK_REFUSED(ggml_group_norm_inplace(ctx, a, -2, 1e-5f), "n_groups must be positive, it is -2");
}

static void rms_norm_back(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * g = op_leaf(ctx, "g", 7, 3, 1, 1);
    struct ggml_tensor * x = op_leaf(ctx, "x", 7, 3, 1, 1);
    const struct op_node node = { .t = ggml_rms_norm_back(ctx, g, x, 1e-5f),
                                  .op = GGML_OP_RMS_NORM_BACK,
                                  .ne = { 7, 3, 1, 1 },
                                  .params = { op_f32(1e-5f) },
                                  .src = { g, x } };
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_rms_norm_back(ctx, g, op_leaf(ctx, "", 7, 2, 1, 1), 0),
                     "src0 must have the shape of src1");
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 7, 3, 1, 1);
    const struct op_grad d = op_backward(ctx, ggml_rms_norm(ctx, a, 1e-3f));
    OP_GRAD(d, a, "RMS_NORM_BACK(g, a)");
    assert_int_equal(ggml_graph_get_grad(d.graph, a)->op_params[0], op_f32(1e-3f));
    OP_GRAD_REFUSED(op_backward(ctx, ggml_norm(ctx, a, 1e-3f)), "NORM");
    OP_GRAD_REFUSED(op_backward(ctx, ggml_group_norm(ctx, a, 1, 1e-3f)), "GROUP_NORM");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(nodes_of_row_norms),
        OP_CHECK_TEST(group_norm),
        OP_CHECK_TEST(rms_norm_back),
        OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("norm", tests, NULL, NULL);
}
