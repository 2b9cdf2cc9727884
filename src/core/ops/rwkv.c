// SPDX-License-Identifier: MIT
// rwkv_wkv6, rwkv_wkv7: recurrences with a matrix of state for each head.
#include "core/build.h"
#include "core/op.h"
#include "core/ops/recurrent_int.h"
#include "core/rule.h"

// src: k, v, r [S, H, T], tf [S, H], td [S, H, T], state
static bool wkv6_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * k = node->src[0];
    if (!tn_rule_all_contiguous(node, 0, 5) || !tn_rule_shape(node, 3, k->ne[0], k->ne[1], 1, 1))
        return false;
    return tn_rule_same_shape(node, 1, 0) && tn_rule_same_shape(node, 2, 0) &&
           tn_rule_same_shape(node, 4, 0) && tn_recurrent_result(node, 5);
}

struct ggml_tensor * ggml_rwkv_wkv6(struct ggml_context * ctx, struct ggml_tensor * k, struct ggml_tensor * v,
                                    struct ggml_tensor * r, struct ggml_tensor * tf, struct ggml_tensor * td,
                                    struct ggml_tensor * state) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_RWKV_WKV6, 6, k, v, r, tf, td, state);
    return tn_build_finish(&n);
}

// src: r, w, k, v, a, b [S, H, T], state
static bool wkv7_rule(struct ggml_tensor * node) {
    if (!tn_rule_all_contiguous(node, 0, 6)) return false;
    for (int i = 1; i < 6; i++) {
        if (!tn_rule_same_shape(node, i, 0)) return false;
    }
    return tn_recurrent_result(node, 6);
}

struct ggml_tensor * ggml_rwkv_wkv7(struct ggml_context * ctx, struct ggml_tensor * r, struct ggml_tensor * w,
                                    struct ggml_tensor * k, struct ggml_tensor * v, struct ggml_tensor * a,
                                    struct ggml_tensor * b, struct ggml_tensor * state) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_RWKV_WKV7, 7, r, w, k, v, a, b, state);
    return tn_build_finish(&n);
}

const struct tn_op tn_op_rwkv_wkv6 = { .rule = wkv6_rule, .n_src = 6 };
const struct tn_op tn_op_rwkv_wkv7 = { .rule = wkv7_rule, .n_src = 7 };
