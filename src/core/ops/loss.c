// SPDX-License-Identifier: MIT
// cross_entropy_loss and its adjoint; one optimiser step, adamw or sgd.
#include <inttypes.h>

#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

// src: logits, labels
static bool cross_entropy_loss_rule(struct ggml_tensor * node) {
    node->type = node->src[0]->type;
    tn_shape_set(node->ne, 1, 1, 1, 1);
    return tn_rule_same_shape(node, 1, 0);
}

struct ggml_tensor * ggml_cross_entropy_loss(struct ggml_context * ctx, struct ggml_tensor * a,
                                             struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CROSS_ENTROPY_LOSS, 2, a, b);
    return tn_build_finish(&n);
}

static bool cross_entropy_loss_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * logits = node->src[0];
    struct ggml_tensor * labels = node->src[1];
    if (tn_autodiff_wants(ad, labels)) return tn_refuse("labels have no gradient");
    if (!tn_autodiff_wants(ad, logits)) return true;
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    tn_autodiff_add(ad, logits, ggml_cross_entropy_loss_back(tn_autodiff_ctx(ad), g, logits, labels));
    return true;
}

// src: gradient of the loss, logits, labels
static bool cross_entropy_loss_back_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 1);
    return tn_rule_shape(node, 0, 1, 1, 1, 1) && tn_rule_same_shape(node, 2, 1);
}

struct ggml_tensor * ggml_cross_entropy_loss_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, struct ggml_tensor * c) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CROSS_ENTROPY_LOSS_BACK, 3, a, b, c);
    return tn_build_finish(&n);
}

// Sources 1 .. last - 1 belong to the weights, the last has n_params numbers.
static bool step_rule(struct ggml_tensor * node, int last, int64_t n_params) {
    const struct ggml_tensor * params = node->src[last];
    tn_rule_like(node, 0);
    if (!(node->src[0]->flags & GGML_TENSOR_FLAG_PARAM))
        return tn_refuse("src0 must be a parameter (ggml_set_param)");
    for (int i = 1; i < last; i++) {
        if (!tn_rule_same_shape(node, i, 0)) return false;
    }
    if (!tn_rule_type(node, last, GGML_TYPE_F32) || !tn_rule_contiguous(node, last)) return false;
    const int64_t n = ggml_nelements(params);
    return n == n_params ||
           tn_refuse("src%d must have %" PRId64 " elements, it has %" PRId64, last, n_params, n);
}

enum { ADAMW_PARAMS = 7, SGD_PARAMS = 2 };

static bool opt_step_adamw_rule(struct ggml_tensor * node) {
    return step_rule(node, 4, ADAMW_PARAMS);
}

struct ggml_tensor * ggml_opt_step_adamw(struct ggml_context * ctx, struct ggml_tensor * a,
                                         struct ggml_tensor * grad, struct ggml_tensor * m,
                                         struct ggml_tensor * v, struct ggml_tensor * adamw_params) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_OPT_STEP_ADAMW, 5, a, grad, m, v, adamw_params);
    tn_build_in_place(&n, a);
    return tn_build_finish(&n);
}

static bool opt_step_sgd_rule(struct ggml_tensor * node) {
    return step_rule(node, 2, SGD_PARAMS);
}

struct ggml_tensor * ggml_opt_step_sgd(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * grad, struct ggml_tensor * sgd_params) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_OPT_STEP_SGD, 3, a, grad, sgd_params);
    tn_build_in_place(&n, a);
    return tn_build_finish(&n);
}

const struct tn_op tn_op_cross_entropy_loss = {
    .rule = cross_entropy_loss_rule,
    .backward = cross_entropy_loss_backward,
    .n_src = 2,
};
const struct tn_op tn_op_cross_entropy_loss_back = { .rule = cross_entropy_loss_back_rule, .n_src = 3 };
const struct tn_op tn_op_opt_step_adamw = { .rule = opt_step_adamw_rule,
                                            .n_src = 5,
                                            .state = 1u << 2 | 1u << 3 };
const struct tn_op tn_op_opt_step_sgd = { .rule = opt_step_sgd_rule, .n_src = 3 };
