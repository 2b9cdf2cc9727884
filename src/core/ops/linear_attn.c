// SPDX-License-Identifier: MIT
// gated_linear_attn gated_delta_net lightning_indexer: attention whose cost is linear, and what picks keys
// for it.
#include <inttypes.h>

#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/ops/recurrent_int.h"
#include "core/rule.h"

// src: k, v, q, g [S, H, T], state
static bool gated_linear_attn_rule(struct ggml_tensor * node) {
    if (!tn_rule_all_contiguous(node, 0, 4)) return false;
    for (int i = 1; i < 4; i++) {
        if (!tn_rule_same_shape(node, i, 0)) return false;
    }
    return tn_recurrent_result(node, 4);
}

struct ggml_tensor * ggml_gated_linear_attn(struct ggml_context * ctx, struct ggml_tensor * k,
                                            struct ggml_tensor * v, struct ggml_tensor * q,
                                            struct ggml_tensor * g, struct ggml_tensor * state, float scale) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_GATED_LINEAR_ATTN, 5, k, v, q, g, state);
    tn_param_set_f32(&b.node, 0, scale);
    return tn_build_finish(&b);
}

// --- gated_delta_net

enum { Q, K, V, GATE, BETA, STATE };

static bool delta_layout(const struct ggml_tensor * node) {
    for (int i = Q; i <= V; i++) {
        if (!tn_rule_contiguous_rows(node, i)) return false;
    }
    return tn_rule_types(node, Q, STATE, GGML_TYPE_F32) && tn_rule_all_contiguous(node, GATE, STATE);
}

// q [S, Hq, T, Bq], k [S, Hk, T, Bk], v [S, H, T, B], g [1 or S, H, T, B], beta [1, H, T, B], state [S, S, H,
// B]
static bool delta_shapes(const struct ggml_tensor * node) {
    const int64_t * v = node->src[V]->ne;
    const int64_t gates = node->src[GATE]->ne[0] == v[0] ? v[0] : 1;
    for (int i = Q; i <= K; i++) {
        if (!tn_rule_shape(node, i, v[0], TN_RULE_ANY, v[2], TN_RULE_ANY)) return false;
        if (!tn_rule_divides(node, i, 1, V, 1) || !tn_rule_divides(node, i, 3, V, 3)) return false;
    }
    return tn_rule_shape(node, GATE, gates, v[1], v[2], v[3]) &&
           tn_rule_shape(node, BETA, 1, v[1], v[2], v[3]) &&
           tn_rule_shape(node, STATE, v[0], v[0], v[1], v[3]);
}

// Outputs [S, H, T, B], then K states, as rows of S*H.
static bool gated_delta_net_rule(struct ggml_tensor * node) {
    const int64_t * v = node->src[V]->ne;
    const int32_t n_states = tn_param_i32(node, 0);
    int64_t width, tokens, states, rows;
    if (n_states < 1) return tn_refuse("K must be at least 1, it is %d", n_states);
    if (!delta_layout(node) || !delta_shapes(node)) return false;
    if (!tn_recurrent_product(v[0], v[1], 1, 1, &width) || !tn_recurrent_product(v[2], v[3], 1, 1, &tokens) ||
        !tn_recurrent_product(n_states, v[0], v[3], 1, &states)) {
        return false;
    }
    if (!tn_i64_add(tokens, states, &rows))
        return tn_refuse("the rows of outputs and states are 2^63 or more");
    tn_rule_result(node, GGML_TYPE_F32, width, rows, 1, 1);
    return true;
}

struct ggml_tensor * ggml_gated_delta_net(struct ggml_context * ctx, struct ggml_tensor * q,
                                          struct ggml_tensor * k, struct ggml_tensor * v,
                                          struct ggml_tensor * g, struct ggml_tensor * beta,
                                          struct ggml_tensor * state, int64_t n_states) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_GATED_DELTA_NET, 6, q, k, v, g, beta, state);
    if (n_states < 1 || n_states > INT32_MAX) {
        tn_build_refuse(&b, "K must be at least 1 and fit in 32 bits, it is %" PRId64, n_states);
    }
    tn_param_set_i32(&b.node, 0, (int32_t) n_states);
    return tn_build_finish(&b);
}

// --- lightning_indexer: q [D, H, T, S], k [D, 1, M, S], weights [H, T, 1, S], mask [M, T, 1, Sm]

static bool lightning_indexer_rule(struct ggml_tensor * node) {
    const int64_t * q = node->src[0]->ne;
    const int64_t keys = node->src[1]->ne[2];
    if (!tn_rule_shape(node, 1, q[0], 1, keys, q[3]) || !tn_rule_shape(node, 2, q[1], q[2], 1, q[3]))
        return false;
    if (!tn_rule_shape(node, 3, keys, q[2], 1, TN_RULE_ANY) || !tn_rule_divides(node, 3, 3, 0, 3))
        return false;
    tn_rule_result(node, GGML_TYPE_F32, keys, q[2], 1, q[3]);
    return true;
}

struct ggml_tensor * ggml_lightning_indexer(struct ggml_context * ctx, struct ggml_tensor * q,
                                            struct ggml_tensor * k, struct ggml_tensor * weights,
                                            struct ggml_tensor * mask) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_LIGHTNING_INDEXER, 4, q, k, weights, mask);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_gated_linear_attn = { .rule = gated_linear_attn_rule, .n_src = 5 };
const struct tn_op tn_op_gated_delta_net = { .rule = gated_delta_net_rule, .n_src = 6 };
const struct tn_op tn_op_lightning_indexer = { .rule = lightning_indexer_rule, .n_src = 4 };
