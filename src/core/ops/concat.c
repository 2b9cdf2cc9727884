// SPDX-License-Identifier: MIT
// concat: one tensor behind the other along a dimension.
#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

static bool concat_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const int32_t dim = tn_param_i32(node, 0);
    if (dim < 0 || dim >= GGML_MAX_DIMS) return tn_refuse("dim must be 0 to 3, it is %d", (int) dim);
    tn_rule_like(node, 0);
    if (!tn_rule_type(node, 1, a->type)) return false;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (i != dim && !tn_rule_equal(node, 1, i, 0, i)) return false;
    }
    if (tn_i64_add(a->ne[dim], node->src[1]->ne[dim], &node->ne[dim])) return true;
    return tn_refuse("ne[%d] of the result is 2^63 or more", (int) dim);
}

struct ggml_tensor * ggml_concat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                 int dim) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CONCAT, 2, a, b);
    tn_param_set_i32(&n.node, 0, dim);
    return tn_build_finish(&n);
}

const struct tn_op tn_op_concat = { .rule = concat_rule, .n_src = 2 };
