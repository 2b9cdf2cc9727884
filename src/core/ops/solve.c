// SPDX-License-Identifier: MIT
// solve_tri: triangular systems.
#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

// src0 [n, n, ..], src1 [k, n, ..]
static bool solve_tri_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const int64_t n = a->ne[0];
    if (!tn_rule_types(node, 0, 1, GGML_TYPE_F32) || !tn_rule_all_contiguous(node, 0, 1)) return false;
    if (!tn_rule_shape(node, 0, n, n, TN_RULE_ANY, TN_RULE_ANY)) return false;
    if (!tn_rule_shape(node, 1, TN_RULE_ANY, n, a->ne[2], a->ne[3])) return false;
    tn_rule_like(node, 1);
    return true;
}

struct ggml_tensor * ggml_solve_tri(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                    bool left, bool lower, bool uni) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SOLVE_TRI, 2, a, b);
    if (!left || !lower || uni) {
        tn_build_refuse(&n, "only left = lower = true, uni = false can be solved, they are %d, %d, %d", left,
                        lower, uni);
    }
    return tn_build_finish(&n);
}

const struct tn_op tn_op_solve_tri = { .rule = solve_tri_rule, .n_src = 2 };
