// SPDX-License-Identifier: MIT
// add sub mul div: element by element, the second operand repeated to the shape of the first.
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"

// The result has type and shape of a.
static bool binary_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * b = node->src[1];
    if (!ggml_can_repeat(b, node->src[0])) return tn_refuse("src1 must repeat to the shape of src0: every size must divide");
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

struct ggml_tensor * ggml_add_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_ADD, a, b);
}

struct ggml_tensor * ggml_sub(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary(ctx, __func__, GGML_OP_SUB, a, b);
}

struct ggml_tensor * ggml_sub_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_SUB, a, b);
}

struct ggml_tensor * ggml_mul(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary(ctx, __func__, GGML_OP_MUL, a, b);
}

struct ggml_tensor * ggml_mul_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_MUL, a, b);
}

struct ggml_tensor * ggml_div(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary(ctx, __func__, GGML_OP_DIV, a, b);
}

struct ggml_tensor * ggml_div_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return binary_inplace(ctx, __func__, GGML_OP_DIV, a, b);
}

static bool add_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    tn_autodiff_add(ad, node->src[0], g);
    if (tn_autodiff_wants(ad, node->src[1])) {
        tn_autodiff_add(ad, node->src[1], tn_autodiff_reduce(ad, g, node->src[1]));
    }
    return true;
}

static bool sub_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    tn_autodiff_add(ad, node->src[0], g);
    tn_autodiff_sub(ad, node->src[1], g);
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
    if (tn_autodiff_wants(ad, b)) tn_autodiff_sub(ad, b, ggml_mul(ctx, g, ggml_div(ctx, node, b)));
    return true;
}

const struct tn_op tn_op_add = { .rule = binary_rule, .backward = add_backward, .n_src = 2, .may_reuse = true };
const struct tn_op tn_op_sub = { .rule = binary_rule, .backward = sub_backward, .n_src = 2, .may_reuse = true };
const struct tn_op tn_op_mul = { .rule = binary_rule, .backward = mul_backward, .n_src = 2, .may_reuse = true };
const struct tn_op tn_op_div = { .rule = binary_rule, .backward = div_backward, .n_src = 2, .may_reuse = true };
