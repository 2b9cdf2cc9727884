// SPDX-License-Identifier: MIT
// add sub mul div add1 add_id acc scale: arithmetic element by element.
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/region.h"
#include "core/rule.h"

// The result has type and shape of a; b is repeated.
static bool binary_rule(struct ggml_tensor * node) {
    tn_rule_like_or_wider(node, 0);
    return tn_rule_repeats(node, 1, 0);
}

// A sum of another type than that of a, as ggml_add_cast asks for.
static bool cast_rule(const struct ggml_tensor * node) {
    const enum ggml_type type = node->src[0]->type;
    if (!ggml_is_quantized(type) && type != GGML_TYPE_F16 && type != GGML_TYPE_BF16) {
        return tn_refuse("src0 must be quantised, f16 or bf16, it is %s", ggml_type_name(type));
    }
    return tn_rule_equal(node, 1, 0, 0, 0);
}

static bool add_rule(struct ggml_tensor * node) {
    const enum ggml_type type = node->type;
    if (type != node->src[0]->type && !cast_rule(node)) return false;
    if (!binary_rule(node)) return false;
    node->type = type;
    return true;
}

static struct ggml_tensor * binary(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                   struct ggml_tensor * a, struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, function, op, 2, a, b);
    return tn_build_finish(&n);
}

static struct ggml_tensor * binary_inplace(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                           struct ggml_tensor * a, struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, function, op, 2, a, b);
    tn_build_in_place(&n, a);
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_add(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary(ctx, __func__, GGML_OP_ADD, a, b);
}

struct ggml_tensor * ggml_add_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_ADD, a, b);
}

struct ggml_tensor * ggml_add_cast(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                   enum ggml_type type) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_ADD, 2, a, b);
    n.node.type = type;
    n.refused = n.refused || !cast_rule(&n.node); // also when type is that of a, where the rule lets it be
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_sub(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary(ctx, __func__, GGML_OP_SUB, a, b);
}

struct ggml_tensor * ggml_sub_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_SUB, a, b);
}

struct ggml_tensor * ggml_mul(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary(ctx, __func__, GGML_OP_MUL, a, b);
}

struct ggml_tensor * ggml_mul_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_MUL, a, b);
}

struct ggml_tensor * ggml_div(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary(ctx, __func__, GGML_OP_DIV, a, b);
}

struct ggml_tensor * ggml_div_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_DIV, a, b);
}

static bool add_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    struct ggml_tensor * b = node->src[1];
    tn_autodiff_add(ad, node->src[0], g);
    if (tn_autodiff_wants(ad, b)) tn_autodiff_add(ad, b, tn_autodiff_reduce(ad, g, b));
    return true;
}

static bool sub_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    struct ggml_tensor * b = node->src[1];
    tn_autodiff_add(ad, node->src[0], g);
    if (tn_autodiff_wants(ad, b)) tn_autodiff_sub(ad, b, tn_autodiff_reduce(ad, g, b));
    return true;
}

static bool mul_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    struct ggml_tensor * a = node->src[0];
    struct ggml_tensor * b = node->src[1];
    if (tn_autodiff_wants(ad, a)) tn_autodiff_add(ad, a, ggml_mul(ctx, g, b));
    if (tn_autodiff_wants(ad, b)) tn_autodiff_add(ad, b, tn_autodiff_reduce(ad, ggml_mul(ctx, a, g), b));
    return true;
}

static bool div_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    struct ggml_tensor * b = node->src[1];
    if (tn_autodiff_wants(ad, node->src[0])) tn_autodiff_add(ad, node->src[0], ggml_div(ctx, g, b));
    if (tn_autodiff_wants(ad, b)) {
        struct ggml_tensor * part = ggml_mul(ctx, g, ggml_div(ctx, node, b));
        tn_autodiff_sub(ad, b, tn_autodiff_reduce(ad, part, b));
    }
    return true;
}

// --- add1: b is one value

static bool add1_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return tn_rule_one(node, 1, 0) && tn_rule_vector(node, 1) && tn_rule_even_rows(node, 0);
}

struct ggml_tensor * ggml_add1(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary(ctx, __func__, GGML_OP_ADD1, a, b);
}

struct ggml_tensor * ggml_add1_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_ADD1, a, b);
}

// For b the mean over each row, not the sum: what the public header promises.
static bool add1_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    struct ggml_tensor * b = node->src[1];
    tn_autodiff_add(ad, node->src[0], g);
    if (tn_autodiff_wants(ad, b)) {
        tn_autodiff_add(ad, b, tn_autodiff_reduce(ad, ggml_mean(tn_autodiff_ctx(ad), g), b));
    }
    return true;
}

// --- add_id: each row of a gets the row of b that ids names

static bool add_id_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return tn_rule_type(node, 2, GGML_TYPE_I32) && tn_rule_equal(node, 0, 0, 1, 0) &&
           tn_rule_equal(node, 0, 1, 2, 0) && tn_rule_equal(node, 0, 2, 2, 1);
}

struct ggml_tensor * ggml_add_id(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                 struct ggml_tensor * ids) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_ADD_ID, 3, a, b, ids);
    return tn_build_finish(&n);
}

// --- acc: b is added into a region of a

static bool acc_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return tn_rule_type(node, 0, GGML_TYPE_F32) && tn_rule_type(node, 1, GGML_TYPE_F32) &&
           tn_rule_contiguous(node, 0) && tn_region_rule(node);
}

static struct ggml_tensor * acc(struct tn_build * n, const struct tn_region * w, bool in_place) {
    tn_region_write(n, w, in_place);
    return tn_build_finish(n);
}

struct ggml_tensor * ggml_acc(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                              size_t nb1, size_t nb2, size_t nb3, size_t offset) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_ACC, 2, a, b);
    return acc(&n, &(struct tn_region){ { nb1, nb2, nb3 }, offset }, false);
}

struct ggml_tensor * ggml_acc_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3,
                                      size_t offset) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_ACC, 2, a, b);
    return acc(&n, &(struct tn_region){ { nb1, nb2, nb3 }, offset }, true);
}

static bool acc_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    tn_autodiff_add(ad, node->src[0], g);
    if (tn_autodiff_wants(ad, node->src[1])) {
        tn_autodiff_add(ad, node->src[1], ggml_cont(ctx, tn_region_of(ctx, node, g)));
    }
    return true;
}

// --- scale: s*a + b

static bool scale_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return tn_rule_even_rows(node, 0);
}

static struct tn_build scale_start(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                   float s, float b) {
    struct tn_build n = tn_build_start(ctx, function, GGML_OP_SCALE, 1, a);
    tn_param_set_f32(&n.node, 0, s);
    tn_param_set_f32(&n.node, 1, b);
    return n;
}

static struct ggml_tensor * scale(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                  float s, float b) {
    struct tn_build n = scale_start(ctx, function, a, s, b);
    return tn_build_finish(&n);
}

static struct ggml_tensor * scale_inplace(struct ggml_context * ctx, const char * function,
                                          struct ggml_tensor * a, float s, float b) {
    struct tn_build n = scale_start(ctx, function, a, s, b);
    tn_build_in_place(&n, a);
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_scale(struct ggml_context * ctx, struct ggml_tensor * a, float s) {
    return scale(ctx, __func__, a, s, 0.0f);
}

struct ggml_tensor * ggml_scale_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float s) {
    return scale_inplace(ctx, __func__, a, s, 0.0f);
}

struct ggml_tensor * ggml_scale_bias(struct ggml_context * ctx, struct ggml_tensor * a, float s, float b) {
    return scale(ctx, __func__, a, s, b);
}

struct ggml_tensor * ggml_scale_bias_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float s,
                                             float b) {
    return scale_inplace(ctx, __func__, a, s, b);
}

static bool scale_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    tn_autodiff_add(ad, node->src[0], ggml_scale(tn_autodiff_ctx(ad), g, tn_param_f32(node, 0)));
    return true;
}

const struct tn_op tn_op_add = { .rule = add_rule, .backward = add_backward, .n_src = 2, .may_reuse = 2 };
const struct tn_op tn_op_sub = { .rule = binary_rule, .backward = sub_backward, .n_src = 2, .may_reuse = 2 };
const struct tn_op tn_op_mul = { .rule = binary_rule, .backward = mul_backward, .n_src = 2, .may_reuse = 2 };
const struct tn_op tn_op_div = { .rule = binary_rule, .backward = div_backward, .n_src = 2, .may_reuse = 2 };
const struct tn_op tn_op_add1 = { .rule = add1_rule, .backward = add1_backward, .n_src = 2, .may_reuse = 1 };
const struct tn_op tn_op_add_id = { .rule = add_id_rule, .n_src = 3, .may_reuse = 1 };
const struct tn_op tn_op_acc = { .rule = acc_rule, .backward = acc_backward, .n_src = 2 };
const struct tn_op tn_op_scale = {
    .rule = scale_rule, .backward = scale_backward, .n_src = 1, .may_reuse = 1
};
