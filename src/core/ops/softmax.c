// SPDX-License-Identifier: MIT
// soft_max with scale, mask, ALiBi and sinks, and its gradient.
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

enum { SRC_MASK = 1, SRC_SINKS = 2 };
enum { WORD_SCALE, WORD_MAX_BIAS };

// The mask repeats over heads and sequences; it may have more rows than a.
static bool mask_rule(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * mask = node->src[SRC_MASK];
    if (mask->type != GGML_TYPE_F16 && mask->type != GGML_TYPE_F32) {
        return tn_refuse("src1, the mask, must be f16 or f32, it is %s", ggml_type_name(mask->type));
    }
    if (mask->ne[1] < a->ne[1])
        return tn_refuse("src1, the mask, must have at least as many rows ne[1] as src0");
    return tn_rule_contiguous(node, SRC_MASK) && tn_rule_equal(node, SRC_MASK, 0, 0, 0) &&
           tn_rule_divides(node, SRC_MASK, 2, 0, 2) && tn_rule_divides(node, SRC_MASK, 3, 0, 3);
}

// One value a head.
static bool sinks_rule(const struct ggml_tensor * node) {
    return tn_rule_type(node, SRC_SINKS, GGML_TYPE_F32) && tn_rule_equal(node, SRC_SINKS, 0, 0, 2) &&
           tn_rule_some(node, SRC_SINKS);
}

static bool soft_max_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    if (!tn_rule_contiguous(node, 0)) return false;
    if (node->src[SRC_MASK] && !mask_rule(node)) return false;
    if (node->src[SRC_SINKS] && !sinks_rule(node)) return false;
    const float max_bias = tn_param_f32(node, WORD_MAX_BIAS);
    return !(max_bias > 0.0f) || node->src[SRC_MASK] ||
           tn_refuse("max_bias %g needs a mask", (double) max_bias);
}

static struct tn_build soft_max_start(struct ggml_context * ctx, const char * function,
                                      struct ggml_tensor * a, struct ggml_tensor * mask, float scale,
                                      float max_bias) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_SOFT_MAX, 1, a);
    tn_build_optional(&b, SRC_MASK, mask);
    tn_param_set_f32(&b.node, WORD_SCALE, scale);
    tn_param_set_f32(&b.node, WORD_MAX_BIAS, max_bias);
    return b;
}

struct ggml_tensor * ggml_soft_max(struct ggml_context * ctx, struct ggml_tensor * a) {
    struct tn_build b = soft_max_start(ctx, __func__, a, NULL, 1.0f, 0.0f);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_soft_max_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    struct tn_build b = soft_max_start(ctx, __func__, a, NULL, 1.0f, 0.0f);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_soft_max_ext(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * mask, float scale, float max_bias) {
    struct tn_build b = soft_max_start(ctx, __func__, a, mask, scale, max_bias);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_soft_max_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * mask, float scale, float max_bias) {
    struct tn_build b = soft_max_start(ctx, __func__, a, mask, scale, max_bias);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

void ggml_soft_max_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks) {
    tn_build_attach(a, GGML_OP_SOFT_MAX, SRC_SINKS, sinks, __func__);
}

static bool soft_max_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    if (tn_autodiff_wants(ad, node->src[SRC_MASK])) return tn_refuse("there is no gradient for the mask");
    if (tn_autodiff_wants(ad, node->src[SRC_SINKS])) return tn_refuse("there is no gradient for the sinks");
    tn_autodiff_add(ad, node->src[0],
                    ggml_soft_max_ext_back(tn_autodiff_ctx(ad), g, node, tn_param_f32(node, WORD_SCALE),
                                           tn_param_f32(node, WORD_MAX_BIAS)));
    return true;
}

// --- soft_max_ext_back: a is the gradient of the result, b the result

static bool soft_max_back_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return tn_rule_same_shape(node, 0, 1);
}

static struct tn_build back_start(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                  struct ggml_tensor * b, float scale, float max_bias) {
    struct tn_build n = tn_build_start(ctx, function, GGML_OP_SOFT_MAX_BACK, 2, a, b);
    tn_param_set_f32(&n.node, WORD_SCALE, scale);
    tn_param_set_f32(&n.node, WORD_MAX_BIAS, max_bias);
    return n;
}

struct ggml_tensor * ggml_soft_max_ext_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                            struct ggml_tensor * b, float scale, float max_bias) {
    struct tn_build n = back_start(ctx, __func__, a, b, scale, max_bias);
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_soft_max_ext_back_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                    struct ggml_tensor * b, float scale, float max_bias) {
    struct tn_build n = back_start(ctx, __func__, a, b, scale, max_bias);
    tn_build_in_place(&n, a);
    return tn_build_finish(&n);
}

const struct tn_op tn_op_soft_max = {
    .rule = soft_max_rule, .backward = soft_max_backward, .n_src = 1, .may_reuse = 1
};
const struct tn_op tn_op_soft_max_back = { .rule = soft_max_back_rule, .n_src = 2, .may_reuse = 1 };
