// SPDX-License-Identifier: MIT
// ssm_conv, ssm_scan: state-space models.
#include <inttypes.h>

#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/ops/recurrent_int.h"
#include "core/rule.h"

// src0 [K - 1 + T, C, S], src1 [K, OUT_OF]
static bool ssm_conv_rule(struct ggml_tensor * node) {
    const int64_t * sx = node->src[0]->ne;
    const int64_t k = node->src[1]->ne[0];
    if (!tn_rule_one(node, 0, 3) || !tn_rule_shape(node, 1, TN_RULE_ANY, sx[1], 1, 1)) return false;
    if (k < 1 || sx[0] < k - 1) {
        return tn_refuse("src0 must begin with the K - 1 columns before its tokens: ne0 is %" PRId64
                         ", K is %" PRId64,
                         sx[0], k);
    }
    tn_rule_result(node, GGML_TYPE_F32, sx[1], sx[0] - (k - 1), sx[2], 1);
    return true;
}

struct ggml_tensor * ggml_ssm_conv(struct ggml_context * ctx, struct ggml_tensor * sx,
                                   struct ggml_tensor * c) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_SSM_CONV, 2, sx, c);
    return tn_build_finish(&b);
}

enum { STATE, INPUT, STEP, DECAY, INTO, OUT_OF, IDS }; // s, x, dt, A, B, C, ids

// Dimensions 0 and 1 without gaps; tokens and sequences may be strided.
static bool dense_matrices(const struct ggml_tensor * node, int i) {
    const struct ggml_tensor * t = node->src[i];
    const size_t size = ggml_type_size(t->type);
    const bool dense = t->ne[1] == 1 || t->nb[1] == size * (size_t) t->ne[0];
    if (t->nb[0] == size && dense) return true;
    return tn_refuse("src%d must be contiguous in dimensions 0 and 1: their strides are %zu and %zu", i,
                     t->nb[0], t->nb[1]);
}

static bool scan_layout(const struct ggml_tensor * node) {
    return tn_rule_type(node, IDS, GGML_TYPE_I32) && tn_rule_contiguous(node, STATE) &&
           tn_rule_contiguous(node, STEP) && tn_rule_contiguous(node, DECAY) && dense_matrices(node, INPUT) &&
           dense_matrices(node, INTO) && dense_matrices(node, OUT_OF);
}

// state [N, P, H, slots], x [P, H, T, S], dt [H, T, S], A [1 or N, H], B and C [N, G, T, S], ids [S]
static bool scan_shapes(const struct ggml_tensor * node) {
    const int64_t * x = node->src[INPUT]->ne;
    const int64_t heads = x[1], tokens = x[2], sequences = x[3];
    const int64_t n = node->src[STATE]->ne[0], decays = node->src[DECAY]->ne[0],
                  groups = node->src[INTO]->ne[1];
    const int32_t k = tn_param_i32(node, 0);
    if (!tn_rule_shape(node, STATE, n, x[0], heads, TN_RULE_ANY)) return false;
    if (!tn_rule_shape(node, STEP, heads, tokens, sequences, 1)) return false;
    if (!tn_rule_shape(node, DECAY, decays == n ? n : 1, heads, 1, 1)) return false;
    if (!tn_rule_shape(node, INTO, n, groups, tokens, sequences) || !tn_rule_same_shape(node, OUT_OF, INTO))
        return false;
    if (!tn_rule_shape(node, IDS, sequences, 1, 1, 1)) return false;
    if (!tn_shape_divides(groups, heads)) {
        return tn_refuse("the groups of src%d must divide the heads: %" PRId64 " and %" PRId64, INTO, groups,
                         heads);
    }
    return decays == 1 || k == 1 ||
           tn_refuse("K must be 1 where src3 has a decay for each state, it is %d", k);
}

// One row: y [P, H, T, S], then K states [N, P, H, S].
static bool ssm_scan_rule(struct ggml_tensor * node) {
    const int64_t * x = node->src[INPUT]->ne;
    const int32_t k = tn_param_i32(node, 0);
    if (k < 1) return tn_refuse("K must be at least 1, it is %d", k);
    if (!scan_layout(node) || !scan_shapes(node)) return false;
    int64_t states, total = 0;
    if (!tn_recurrent_product(node->src[STATE]->ne[0], x[0], x[1], x[3], &states)) return false;
    if (!tn_i64_mul(states, k, &states) || !tn_i64_add(states, ggml_nelements(node->src[INPUT]), &total)) {
        return tn_refuse("the outputs and %d states are 2^63 elements or more", k);
    }
    tn_rule_result(node, GGML_TYPE_F32, total, 1, 1, 1);
    return true;
}

struct ggml_tensor * ggml_ssm_scan(struct ggml_context * ctx, struct ggml_tensor * s, struct ggml_tensor * x,
                                   struct ggml_tensor * dt, struct ggml_tensor * A, struct ggml_tensor * B,
                                   struct ggml_tensor * C, struct ggml_tensor * ids, int64_t K) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_SSM_SCAN, 7, s, x, dt, A, B, C, ids);
    if (K < 1 || K > INT32_MAX)
        tn_build_refuse(&b, "K must be at least 1 and fit in 32 bits, it is %" PRId64, K);
    tn_param_set_i32(&b.node, 0, (int32_t) K);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_ssm_conv = { .rule = ssm_conv_rule, .n_src = 2 };
const struct tn_op tn_op_ssm_scan = { .rule = ssm_scan_rule, .n_src = 7 };
