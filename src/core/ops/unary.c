// SPDX-License-Identifier: MIT
// Functions of one argument: sqr sqrt log sin cos leaky_relu, those of UNARY (unary_ops.def), and the
// gradient of silu.
#include <math.h>

#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

static bool map_rule(struct ggml_tensor * node) {
    tn_rule_like_or_wider(node, 0);
    return true;
}

static struct ggml_tensor * map(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                struct ggml_tensor * a) {
    struct tn_build b = tn_build_start(ctx, function, op, 1, a);
    return tn_build_finish(&b);
}

static struct ggml_tensor * map_inplace(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                        struct ggml_tensor * a) {
    struct tn_build b = tn_build_start(ctx, function, op, 1, a);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_sqr(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map(ctx, __func__, GGML_OP_SQR, a);
}

struct ggml_tensor * ggml_sqr_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map_inplace(ctx, __func__, GGML_OP_SQR, a);
}

struct ggml_tensor * ggml_sqrt(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map(ctx, __func__, GGML_OP_SQRT, a);
}

struct ggml_tensor * ggml_sqrt_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map_inplace(ctx, __func__, GGML_OP_SQRT, a);
}

struct ggml_tensor * ggml_log(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map(ctx, __func__, GGML_OP_LOG, a);
}

struct ggml_tensor * ggml_log_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map_inplace(ctx, __func__, GGML_OP_LOG, a);
}

struct ggml_tensor * ggml_sin(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map(ctx, __func__, GGML_OP_SIN, a);
}

struct ggml_tensor * ggml_sin_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map_inplace(ctx, __func__, GGML_OP_SIN, a);
}

struct ggml_tensor * ggml_cos(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map(ctx, __func__, GGML_OP_COS, a);
}

struct ggml_tensor * ggml_cos_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    return map_inplace(ctx, __func__, GGML_OP_COS, a);
}

// 2*x*g
static bool sqr_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * xg = ggml_mul(ctx, node->src[0], tn_autodiff_of(ad, node));
    tn_autodiff_add(ad, node->src[0], ggml_scale(ctx, xg, 2.0f));
    return true;
}

// g/(2*y)
static bool sqrt_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * ratio = ggml_div(ctx, tn_autodiff_of(ad, node), node);
    tn_autodiff_add(ad, node->src[0], ggml_scale(ctx, ratio, 0.5f));
    return true;
}

static bool log_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_add(ad, node->src[0], ggml_div(tn_autodiff_ctx(ad), tn_autodiff_of(ad, node), node->src[0]));
    return true;
}

static bool sin_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    tn_autodiff_add(ad, node->src[0], ggml_mul(ctx, tn_autodiff_of(ad, node), ggml_cos(ctx, node->src[0])));
    return true;
}

static bool cos_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    tn_autodiff_sub(ad, node->src[0], ggml_mul(ctx, tn_autodiff_of(ad, node), ggml_sin(ctx, node->src[0])));
    return true;
}

// --- UNARY

static bool unary_rule(struct ggml_tensor * node) {
    const int32_t op = tn_param_i32(node, 0);
    tn_rule_like_or_wider(node, 0);
    if (op < 0 || op >= GGML_UNARY_OP_COUNT) return tn_refuse("function %d is unknown", (int) op);
    return tn_rule_contiguous_rows(node, 0);
}

static struct tn_build unary_start(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                   enum ggml_unary_op op) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_UNARY, 1, a);
    tn_param_set_i32(&b.node, 0, (int32_t) op);
    return b;
}

static struct ggml_tensor * unary(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                  enum ggml_unary_op op) {
    struct tn_build b = unary_start(ctx, function, a, op);
    return tn_build_finish(&b);
}

static struct ggml_tensor * unary_inplace(struct ggml_context * ctx, const char * function,
                                          struct ggml_tensor * a, enum ggml_unary_op op) {
    struct tn_build b = unary_start(ctx, function, a, op);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_unary(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_unary_op op) {
    return unary(ctx, __func__, a, op);
}

struct ggml_tensor * ggml_unary_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                        enum ggml_unary_op op) {
    return unary_inplace(ctx, __func__, a, op);
}

#define TN_BUILDERS_OWN(id, name)
#define TN_BUILDERS_PLAIN(id, name)                                                                          \
    struct ggml_tensor * ggml_##name(struct ggml_context * ctx, struct ggml_tensor * a) {                    \
        return unary(ctx, __func__, a, GGML_UNARY_OP_##id);                                                  \
    }
#define TN_BUILDERS_BOTH(id, name)                                                                           \
    TN_BUILDERS_PLAIN(id, name)                                                                              \
    struct ggml_tensor * ggml_##name##_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {          \
        return unary_inplace(ctx, __func__, a, GGML_UNARY_OP_##id);                                          \
    }
#define TN_ROW(id, name, builders, backward) TN_BUILDERS_##builders(id, name)
#include "core/unary_ops.def"
#undef TN_ROW

static float softplus(float x) {
    return x > 20.0f ? x : logf(1.0f + expf(x));
}

// What the function needs of alpha_n and alpha_p is worked out here, once.
struct ggml_tensor * ggml_xielu(struct ggml_context * ctx, struct ggml_tensor * a, float alpha_n,
                                float alpha_p, float beta, float eps) {
    struct tn_build b = unary_start(ctx, __func__, a, GGML_UNARY_OP_XIELU);
    tn_param_set_f32(&b.node, 1, beta + softplus(alpha_n));
    tn_param_set_f32(&b.node, 2, softplus(alpha_p));
    tn_param_set_f32(&b.node, 3, beta);
    tn_param_set_f32(&b.node, 4, eps);
    return tn_build_finish(&b);
}

static bool abs_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    tn_autodiff_add(ad, node->src[0], ggml_mul(ctx, ggml_sgn(ctx, node->src[0]), tn_autodiff_of(ad, node)));
    return true;
}

// A function of steps: the gradient is zero wherever it exists.
static bool flat_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    (void) ad;
    (void) node;
    return true;
}

static bool neg_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_sub(ad, node->src[0], tn_autodiff_of(ad, node));
    return true;
}

static bool relu_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    tn_autodiff_add(ad, node->src[0], ggml_mul(ctx, ggml_step(ctx, node->src[0]), tn_autodiff_of(ad, node)));
    return true;
}

static bool silu_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_add(ad, node->src[0],
                    ggml_silu_back(tn_autodiff_ctx(ad), tn_autodiff_of(ad, node), node->src[0]));
    return true;
}

static bool exp_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_add(ad, node->src[0], ggml_mul(tn_autodiff_ctx(ad), node, tn_autodiff_of(ad, node)));
    return true;
}

static bool expm1_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    tn_autodiff_add(ad, node->src[0], ggml_mul(ctx, ggml_exp(ctx, node->src[0]), tn_autodiff_of(ad, node)));
    return true;
}

static bool softplus_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    tn_autodiff_add(ad, node->src[0],
                    ggml_mul(ctx, ggml_sigmoid(ctx, node->src[0]), tn_autodiff_of(ad, node)));
    return true;
}

static bool unary_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    static bool (*const gradients[GGML_UNARY_OP_COUNT])(struct tn_autodiff *, struct ggml_tensor *) = {
#define TN_ROW(id, name, builders, backward) [GGML_UNARY_OP_##id] = backward,
#include "core/unary_ops.def"
#undef TN_ROW
    };
    const enum ggml_unary_op op = ggml_get_unary_op(node);
    if (!gradients[op]) return tn_refuse("%s has no gradient", ggml_unary_op_name(op));
    return gradients[op](ad, node);
}

// --- silu_back: a is the gradient of the result, b the argument

static bool silu_back_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return tn_rule_same_shape(node, 0, 1);
}

struct ggml_tensor * ggml_silu_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                    struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SILU_BACK, 2, a, b);
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_leaky_relu(struct ggml_context * ctx, struct ggml_tensor * a, float negative_slope,
                                     bool inplace) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_LEAKY_RELU, 1, a);
    tn_param_set_f32(&b.node, 0, negative_slope);
    if (inplace) tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_sqr = { .rule = map_rule, .backward = sqr_backward, .n_src = 1, .may_reuse = 1 };
const struct tn_op tn_op_sqrt = { .rule = map_rule, .backward = sqrt_backward, .n_src = 1, .may_reuse = 1 };
const struct tn_op tn_op_log = { .rule = map_rule, .backward = log_backward, .n_src = 1, .may_reuse = 1 };
const struct tn_op tn_op_sin = { .rule = map_rule, .backward = sin_backward, .n_src = 1 };
const struct tn_op tn_op_cos = { .rule = map_rule, .backward = cos_backward, .n_src = 1 };
const struct tn_op tn_op_unary = {
    .rule = unary_rule, .backward = unary_backward, .n_src = 1, .may_reuse = 1
};
const struct tn_op tn_op_silu_back = { .rule = silu_back_rule, .n_src = 2, .may_reuse = 1 };
const struct tn_op tn_op_leaky_relu = { .rule = map_rule, .n_src = 1 };
