// SPDX-License-Identifier: MIT
// Normalisation: norm (mean and variance of a row), rms_norm, group_norm, l2_norm, and the gradient of
// rms_norm.
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

static bool norm_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return true;
}

static struct tn_build norm_start(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                  struct ggml_tensor * a, float eps) {
    struct tn_build b = tn_build_start(ctx, function, op, 1, a);
    tn_param_set_f32(&b.node, 0, eps);
    return b;
}

static struct ggml_tensor * norm(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                 struct ggml_tensor * a, float eps) {
    struct tn_build b = norm_start(ctx, function, op, a, eps);
    return tn_build_finish(&b);
}

static struct ggml_tensor * norm_inplace(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                         struct ggml_tensor * a, float eps) {
    struct tn_build b = norm_start(ctx, function, op, a, eps);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps) {
    return norm(ctx, __func__, GGML_OP_NORM, a, eps);
}

struct ggml_tensor * ggml_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps) {
    return norm_inplace(ctx, __func__, GGML_OP_NORM, a, eps);
}

struct ggml_tensor * ggml_rms_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps) {
    return norm(ctx, __func__, GGML_OP_RMS_NORM, a, eps);
}

struct ggml_tensor * ggml_rms_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps) {
    return norm_inplace(ctx, __func__, GGML_OP_RMS_NORM, a, eps);
}

struct ggml_tensor * ggml_l2_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps) {
    return norm(ctx, __func__, GGML_OP_L2_NORM, a, eps);
}

struct ggml_tensor * ggml_l2_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps) {
    return norm_inplace(ctx, __func__, GGML_OP_L2_NORM, a, eps);
}

// --- group_norm

static bool group_norm_rule(struct ggml_tensor * node) {
    const int32_t n_groups = tn_param_i32(node, 0);
    tn_rule_like(node, 0);
    return n_groups > 0 || tn_refuse("n_groups must be positive, it is %d", (int) n_groups);
}

static struct tn_build group_norm_start(struct ggml_context * ctx, const char * function,
                                        struct ggml_tensor * a, int n_groups, float eps) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_GROUP_NORM, 1, a);
    tn_param_set_i32(&b.node, 0, n_groups);
    tn_param_set_f32(&b.node, 1, eps);
    return b;
}

struct ggml_tensor * ggml_group_norm(struct ggml_context * ctx, struct ggml_tensor * a, int n_groups,
                                     float eps) {
    struct tn_build b = group_norm_start(ctx, __func__, a, n_groups, eps);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_group_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, int n_groups,
                                             float eps) {
    struct tn_build b = group_norm_start(ctx, __func__, a, n_groups, eps);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

// --- rms_norm_back: a is the gradient of the result, b the argument

static bool rms_norm_back_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return tn_rule_same_shape(node, 0, 1);
}

struct ggml_tensor * ggml_rms_norm_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                        struct ggml_tensor * b, float eps) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_RMS_NORM_BACK, 2, a, b);
    tn_param_set_f32(&n.node, 0, eps);
    return tn_build_finish(&n);
}

static bool rms_norm_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    tn_autodiff_add(ad, node->src[0],
                    ggml_rms_norm_back(tn_autodiff_ctx(ad), g, node->src[0], tn_param_f32(node, 0)));
    return true;
}

const struct tn_op tn_op_norm = { .rule = norm_rule, .n_src = 1 };
const struct tn_op tn_op_rms_norm = {
    .rule = norm_rule, .backward = rms_norm_backward, .n_src = 1, .may_reuse = 1
};
const struct tn_op tn_op_l2_norm = { .rule = norm_rule, .n_src = 1 };
const struct tn_op tn_op_group_norm = { .rule = group_norm_rule, .n_src = 1 };
const struct tn_op tn_op_rms_norm_back = { .rule = rms_norm_back_rule, .n_src = 2, .may_reuse = 1 };
