// SPDX-License-Identifier: MIT
// sum sum_rows mean cumsum argmax count_equal.
#include <inttypes.h>

#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

static struct ggml_tensor * reduced(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                    struct ggml_tensor * a) {
    struct tn_build b = tn_build_start(ctx, function, op, 1, a);
    return tn_build_finish(&b);
}

// --- sum: of all elements

static bool sum_rule(struct ggml_tensor * node) {
    tn_rule_result(node, node->src[0]->type, 1, 1, 1, 1);
    return true;
}

struct ggml_tensor * ggml_sum(struct ggml_context * ctx, struct ggml_tensor * a) {
    return reduced(ctx, __func__, GGML_OP_SUM, a);
}

static bool sum_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_add1(ad, node->src[0], tn_autodiff_of(ad, node));
    return true;
}

// --- sum_rows, mean: over dimension 0

static bool sum_rows_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    node->ne[0] = 1;
    return true;
}

struct ggml_tensor * ggml_sum_rows(struct ggml_context * ctx, struct ggml_tensor * a) {
    return reduced(ctx, __func__, GGML_OP_SUM_ROWS, a);
}

static bool sum_rows_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_add(ad, node->src[0],
                    ggml_repeat(tn_autodiff_ctx(ad), tn_autodiff_of(ad, node), node->src[0]));
    return true;
}

static bool mean_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    node->type = GGML_TYPE_F32;
    node->ne[0] = 1;
    return true;
}

struct ggml_tensor * ggml_mean(struct ggml_context * ctx, struct ggml_tensor * a) {
    return reduced(ctx, __func__, GGML_OP_MEAN, a);
}

static bool mean_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = ggml_scale(ctx, tn_autodiff_of(ad, node), 1.0f / (float) node->src[0]->ne[0]);
    tn_autodiff_add(ad, node->src[0], ggml_repeat(ctx, g, node->src[0]));
    return true;
}

// --- cumsum: running sums along dimension 0

static bool cumsum_rule(struct ggml_tensor * node) {
    tn_rule_like(node, 0);
    return tn_rule_type(node, 0, GGML_TYPE_F32);
}

struct ggml_tensor * ggml_cumsum(struct ggml_context * ctx, struct ggml_tensor * a) {
    return reduced(ctx, __func__, GGML_OP_CUMSUM, a);
}

// --- argmax: of each row

static bool argmax_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    tn_rule_result(node, GGML_TYPE_I32, a->ne[1], 1, 1, 1);
    if (a->ne[0] > INT32_MAX) return tn_refuse("src0 ne[0] = %" PRId64 " must fit in 32 bits", a->ne[0]);
    return tn_rule_matrix(node, 0);
}

struct ggml_tensor * ggml_argmax(struct ggml_context * ctx, struct ggml_tensor * a) {
    return reduced(ctx, __func__, GGML_OP_ARGMAX, a);
}

// --- count_equal: positions where a and b agree

static bool count_equal_rule(struct ggml_tensor * node) {
    tn_rule_result(node, GGML_TYPE_I64, 1, 1, 1, 1);
    return tn_rule_same_shape(node, 0, 1);
}

struct ggml_tensor * ggml_count_equal(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_COUNT_EQUAL, 2, a, b);
    return tn_build_finish(&n);
}

const struct tn_op tn_op_sum = { .rule = sum_rule, .backward = sum_backward, .n_src = 1 };
const struct tn_op tn_op_sum_rows = { .rule = sum_rows_rule, .backward = sum_rows_backward, .n_src = 1 };
const struct tn_op tn_op_mean = { .rule = mean_rule, .backward = mean_backward, .n_src = 1 };
const struct tn_op tn_op_cumsum = { .rule = cumsum_rule, .n_src = 1 };
const struct tn_op tn_op_argmax = { .rule = argmax_rule, .n_src = 1 };
const struct tn_op tn_op_count_equal = { .rule = count_equal_rule, .n_src = 2 };
