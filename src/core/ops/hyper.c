// SPDX-License-Identifier: MIT
// dsv4_hc_comb dsv4_hc_pre dsv4_hc_post: hyper-connections, hc residual streams instead of one.
#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

enum { COMB_STREAMS = 4, COMB_MIXES = (2 + COMB_STREAMS) * COMB_STREAMS };

// op_params: eps, rounds. src: mixes [(2 + hc)*hc, T], scale [3 or more], base [(2 + hc)*hc]
static bool comb_rule(struct ggml_tensor * node) {
    const int64_t n_scale = node->src[1]->ne[0];
    const int32_t n_iter = tn_param_i32(node, 1);
    if (n_iter < 1) return tn_refuse("n_iter must be above 0, it is %d", n_iter);
    if (!tn_rule_types(node, 0, 2, GGML_TYPE_F32)) return false;
    // Four streams, the only number there is, have 24 mixes.
    if (!tn_rule_shape(node, 0, COMB_MIXES, TN_RULE_ANY, 1, 1)) return false;
    if (!tn_rule_vector(node, 1) || !tn_rule_shape(node, 2, COMB_MIXES, 1, 1, 1)) return false;
    if (n_scale < 3) return tn_refuse("src1 must have at least 3 elements, it has %d", (int) n_scale);
    tn_rule_result(node, GGML_TYPE_F32, COMB_STREAMS, COMB_STREAMS, node->src[0]->ne[1], 1);
    return true;
}

struct ggml_tensor * ggml_dsv4_hc_comb(struct ggml_context * ctx, struct ggml_tensor * mixes,
                                       struct ggml_tensor * scale, struct ggml_tensor * base, float eps,
                                       int32_t n_iter) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_DSV4_HC_COMB, 3, mixes, scale, base);
    tn_param_set_f32(&b.node, 0, eps);
    tn_param_set_i32(&b.node, 1, n_iter);
    return tn_build_finish(&b);
}

// op_params: scale, gated. src: x [D, hc, T], weights [hc, T] or gate [D, hc, T]
static bool pre_rule(struct ggml_tensor * node) {
    const int64_t * x = node->src[0]->ne;
    if (!tn_rule_types(node, 0, 1, GGML_TYPE_F32) || !tn_rule_one(node, 0, 3)) return false;
    const bool fits =
        tn_param_i32(node, 1) ? tn_rule_same_shape(node, 1, 0) : tn_rule_shape(node, 1, x[1], x[2], 1, 1);
    if (fits) tn_rule_result(node, GGML_TYPE_F32, x[0], x[2], 1, 1);
    return fits;
}

struct ggml_tensor * ggml_dsv4_hc_pre(struct ggml_context * ctx, struct ggml_tensor * x,
                                      struct ggml_tensor * weights) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_DSV4_HC_PRE, 2, x, weights);
    tn_param_set_f32(&b.node, 0, 1.0f);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_dsv4_hc_pre_gated(struct ggml_context * ctx, struct ggml_tensor * x,
                                            struct ggml_tensor * gate, float scale) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_DSV4_HC_PRE, 2, x, gate);
    tn_param_set_f32(&b.node, 0, scale);
    tn_param_set_i32(&b.node, 1, 1);
    return tn_build_finish(&b);
}

// src: x [D, T], residual [D, hc, T], post [hc, T], comb [hc, hc, T] or NULL
static bool post_rule(struct ggml_tensor * node) {
    const int64_t * r = node->src[1]->ne;
    if (!tn_rule_types(node, 0, node->src[3] ? 3 : 2, GGML_TYPE_F32) || !tn_rule_one(node, 1, 3))
        return false;
    if (!tn_rule_shape(node, 0, r[0], r[2], 1, 1) || !tn_rule_shape(node, 2, r[1], r[2], 1, 1)) return false;
    if (node->src[3] && !tn_rule_shape(node, 3, r[1], r[1], r[2], 1)) return false;
    tn_rule_result(node, GGML_TYPE_F32, r[0], r[1], r[2], 1);
    return true;
}

struct ggml_tensor * ggml_dsv4_hc_post(struct ggml_context * ctx, struct ggml_tensor * x,
                                       struct ggml_tensor * residual, struct ggml_tensor * post,
                                       struct ggml_tensor * comb) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_DSV4_HC_POST, 3, x, residual, post);
    tn_build_optional(&b, 3, comb);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_dsv4_hc_comb = { .rule = comb_rule, .n_src = 3 };
const struct tn_op tn_op_dsv4_hc_pre = { .rule = pre_rule, .n_src = 2 };
const struct tn_op tn_op_dsv4_hc_post = { .rule = post_rule, .n_src = 3 };
