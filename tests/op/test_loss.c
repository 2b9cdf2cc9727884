// SPDX-License-Identifier: MIT
// core/ops/loss.c: CROSS_ENTROPY_LOSS, CROSS_ENTROPY_LOSS_BACK, OPT_STEP_ADAMW, OPT_STEP_SGD.
#include "op/op_grad.h"

static void losses(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * logits = op_f32_tensor(ctx, 22, 6, 2, 1);
    struct ggml_tensor * labels = op_f32_tensor(ctx, 22, 6, 2, 1);
    struct ggml_tensor * g = op_f32_tensor(ctx, 1, 1, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_cross_entropy_loss(ctx, logits, labels), GGML_OP_CROSS_ENTROPY_LOSS, GGML_TYPE_F32,
                .ne = { 1, 1, 1, 1 }, .src = { logits, labels }),
        OP_NODE(ggml_cross_entropy_loss_back(ctx, g, logits, labels), GGML_OP_CROSS_ENTROPY_LOSS_BACK,
                GGML_TYPE_F32, .ne = { 22, 6, 2, 1 }, .src = { g, logits, labels }),
    };
    OP_CHECK_NODES(nodes);
    struct ggml_tensor * other = op_f32_tensor(ctx, 22, 6, 1, 1);
    OP_CHECK_REFUSED(ggml_cross_entropy_loss(ctx, logits, other), "src1 must have the shape of src0");
    OP_CHECK_REFUSED(ggml_cross_entropy_loss(ctx, logits, NULL), "source 1 is NULL");
    OP_CHECK_REFUSED(ggml_cross_entropy_loss_back(ctx, logits, logits, labels), "src0 must be [1, 1, 1, 1]");
    OP_CHECK_REFUSED(ggml_cross_entropy_loss_back(ctx, g, logits, other), "src2 must have the shape of src1");
}

static void the_gradient_is_for_the_logits_alone(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * logits = op_param(ctx, "logits", 22, 6, 2, 1);
    struct ggml_tensor * labels = op_leaf(ctx, "labels", 22, 6, 2, 1);
    const struct op_grad d = op_backward(ctx, ggml_cross_entropy_loss(ctx, logits, labels));
    OP_GRAD(d, logits, "CROSS_ENTROPY_LOSS_BACK(g, logits, labels)");
    ggml_set_param(labels);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_cross_entropy_loss(ctx, logits, labels)),
                    "labels have no gradient");
}

struct step {
    struct ggml_tensor *w, *g, *m, *v, *adamw, *sgd;
};

static struct step step(struct ggml_context * ctx) {
    struct step s = {
        .w = ggml_set_name(op_f32_tensor(ctx, 14, 4, 3, 1), "w"),
        .g = op_f32_tensor(ctx, 14, 4, 3, 1),
        .m = op_f32_tensor(ctx, 14, 4, 3, 1),
        .v = op_f32_tensor(ctx, 14, 4, 3, 1),
        .adamw = op_f32_tensor(ctx, 7, 1, 1, 1),
        .sgd = op_f32_tensor(ctx, 2, 1, 1, 1),
    };
    ggml_set_param(s.w);
    return s;
}

static void steps(void ** state) {
    struct ggml_context * ctx = *state;
    const struct step s = step(ctx);
    const struct op_node nodes[] = {
        OP_NODE(ggml_opt_step_adamw(ctx, s.w, s.g, s.m, s.v, s.adamw), GGML_OP_OPT_STEP_ADAMW, GGML_TYPE_F32,
                .ne = { 14, 4, 3, 1 }, .src = { s.w, s.g, s.m, s.v, s.adamw }, .base = s.w,
                .name = "w (view)"),
        OP_NODE(ggml_opt_step_sgd(ctx, s.w, s.g, s.sgd), GGML_OP_OPT_STEP_SGD, GGML_TYPE_F32,
                .ne = { 14, 4, 3, 1 }, .src = { s.w, s.g, s.sgd }, .base = s.w, .name = "w (view)"),
    };
    OP_CHECK_NODES(nodes);
    assert_int_equal(tn_op_get(GGML_OP_OPT_STEP_ADAMW)->state, 1u << 2 | 1u << 3);
    assert_int_equal(tn_op_get(GGML_OP_OPT_STEP_SGD)->state, 0);
}

static void steps_refused(void ** state) {
    struct ggml_context * ctx = *state;
    const struct step s = step(ctx);
    struct ggml_tensor * other = op_f32_tensor(ctx, 14, 4, 2, 1);
    struct ggml_tensor * half = ggml_new_tensor_1d(ctx, GGML_TYPE_F16, 7);
    OP_CHECK_REFUSED(ggml_opt_step_adamw(ctx, s.g, s.g, s.m, s.v, s.adamw), "src0 must be a parameter");
    OP_CHECK_REFUSED(ggml_opt_step_adamw(ctx, s.w, other, s.m, s.v, s.adamw), "src1 must have the shape");
    OP_CHECK_REFUSED(ggml_opt_step_adamw(ctx, s.w, s.g, other, s.v, s.adamw), "src2 must have the shape");
    OP_CHECK_REFUSED(ggml_opt_step_adamw(ctx, s.w, s.g, s.m, other, s.adamw), "src3 must have the shape");
    OP_CHECK_REFUSED(ggml_opt_step_adamw(ctx, s.w, s.g, s.m, s.v, s.sgd),
                     "src4 must have 7 elements, it has 2");
    OP_CHECK_REFUSED(ggml_opt_step_adamw(ctx, s.w, s.g, s.m, s.v, half), "src4 must be f32");
    OP_CHECK_REFUSED(ggml_opt_step_adamw(ctx, s.w, s.g, s.m, NULL, s.adamw), "source 3 is NULL");
    OP_CHECK_REFUSED(ggml_opt_step_sgd(ctx, s.g, s.g, s.sgd), "src0 must be a parameter");
    OP_CHECK_REFUSED(ggml_opt_step_sgd(ctx, s.w, other, s.sgd), "src1 must have the shape");
    OP_CHECK_REFUSED(ggml_opt_step_sgd(ctx, s.w, s.g, s.adamw), "src2 must have 2 elements, it has 7");
    OP_CHECK_REFUSED(ggml_opt_step_sgd(ctx, NULL, s.g, s.sgd), "source 0 is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(losses),
        OP_CHECK_TEST(the_gradient_is_for_the_logits_alone),
        OP_CHECK_TEST(steps),
        OP_CHECK_TEST(steps_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
