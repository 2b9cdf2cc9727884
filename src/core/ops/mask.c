// SPDX-License-Identifier: MIT
// diag diag_mask_inf diag_mask_zero tri clamp: elements chosen by position or value.
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

// --- diag: a row becomes the diagonal of a matrix

static bool diag_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    tn_rule_result(node, a->type, a->ne[0], a->ne[0], a->ne[2], a->ne[3]);
    return tn_rule_one(node, 0, 1);
}

struct ggml_tensor * ggml_diag(struct ggml_context * ctx, struct ggml_tensor * a) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_DIAG, 1, a);
    return tn_build_finish(&b);
}

// --- diag_mask: what lies right of the diagonal n_past is blotted out

static bool like_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return true;
}

static struct tn_build diag_mask_start(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                       struct ggml_tensor * a, int n_past) {
    struct tn_build b = tn_build_start(ctx, function, op, 1, a);
    tn_param_set_i32(&b.node, 0, n_past);
    return b;
}

struct ggml_tensor * ggml_diag_mask_inf(struct ggml_context * ctx, struct ggml_tensor * a, int n_past) {
    struct tn_build b = diag_mask_start(ctx, __func__, GGML_OP_DIAG_MASK_INF, a, n_past);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_diag_mask_inf_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                int n_past) {
    struct tn_build b = diag_mask_start(ctx, __func__, GGML_OP_DIAG_MASK_INF, a, n_past);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_diag_mask_zero(struct ggml_context * ctx, struct ggml_tensor * a, int n_past) {
    struct tn_build b = diag_mask_start(ctx, __func__, GGML_OP_DIAG_MASK_ZERO, a, n_past);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_diag_mask_zero_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 int n_past) {
    struct tn_build b = diag_mask_start(ctx, __func__, GGML_OP_DIAG_MASK_ZERO, a, n_past);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

static bool diag_mask_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    tn_autodiff_add(ad, node->src[0], ggml_diag_mask_zero(tn_autodiff_ctx(ad), g, tn_param_i32(node, 0)));
    return true;
}

// --- tri: an upper or lower triangle is kept

static bool tri_rule(struct ggml_tensor * node) {
    const int32_t type = tn_param_i32(node, 0);
    tn_rule_like(node, 0);
    if (type < GGML_TRI_TYPE_UPPER_DIAG || type > GGML_TRI_TYPE_LOWER)
        return tn_refuse("triangle %d is unknown", (int) type);
    return tn_rule_type(node, 0, GGML_TYPE_F32) && tn_rule_contiguous(node, 0) &&
           tn_rule_equal(node, 0, 0, 0, 1);
}

struct ggml_tensor * ggml_tri(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_tri_type type) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_TRI, 1, a);
    tn_param_set_i32(&b.node, 0, (int32_t) type);
    return tn_build_finish(&b);
}

// --- clamp

static struct tn_build clamp_start(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                   float min, float max) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_CLAMP, 1, a);
    tn_param_set_f32(&b.node, 0, min);
    tn_param_set_f32(&b.node, 1, max);
    return b;
}

struct ggml_tensor * ggml_clamp(struct ggml_context * ctx, struct ggml_tensor * a, float min, float max) {
    struct tn_build b = clamp_start(ctx, __func__, a, min, max);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_clamp_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float min,
                                        float max) {
    struct tn_build b = clamp_start(ctx, __func__, a, min, max);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_diag = { .rule = diag_rule, .n_src = 1 };
const struct tn_op tn_op_diag_mask_inf = {
    .rule = like_rule, .backward = diag_mask_backward, .n_src = 1, .may_reuse = 1
};
const struct tn_op tn_op_diag_mask_zero = {
    .rule = like_rule, .backward = diag_mask_backward, .n_src = 1, .may_reuse = 1
};
const struct tn_op tn_op_tri = { .rule = tri_rule, .n_src = 1 };
const struct tn_op tn_op_clamp = { .rule = like_rule, .n_src = 1, .may_reuse = 1 };
