// SPDX-License-Identifier: MIT
// win_part win_unpart get_rel_pos add_rel_pos: windows and relative positions of image encoders.
#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

static bool check_window(int32_t w) {
    return w > 0 || tn_refuse("the window must be above 0, it is %d", w);
}

// op_params: windows in a row, rows of windows, size of a window. src0 [C, W, H]
static bool win_part_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const int32_t w = tn_param_i32(node, 2);
    if (!check_window(w) || !tn_rule_type(node, 0, GGML_TYPE_F32) || !tn_rule_one(node, 0, 3)) return false;
    const int64_t nx = tn_ceil_div(a->ne[1], w), ny = tn_ceil_div(a->ne[2], w);
    if (nx != tn_param_i32(node, 0) || ny != tn_param_i32(node, 1)) {
        return tn_refuse("the number of windows of %d must fit in 32 bits and be that of the sizes", w);
    }
    tn_rule_result(node, GGML_TYPE_F32, a->ne[0], w, w, nx * ny);
    return true;
}

struct ggml_tensor * ggml_win_part(struct ggml_context * ctx, struct ggml_tensor * a, int w) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_WIN_PART, 1, a);
    for (int d = 0; d < 2 && w > 0; d++)
        tn_param_set_i32(&b.node, d, (int32_t) tn_ceil_div(b.node.ne[d + 1], w));
    tn_param_set_i32(&b.node, 2, w);
    return tn_build_finish(&b);
}

// op_params: size of a window. src0 [C, w, w, windows]; the result [C, W, H] is what the builder asks for.
static bool win_unpart_rule(struct ggml_tensor * node) {
    const int32_t w = tn_param_i32(node, 0);
    const int64_t w0 = node->ne[1], h0 = node->ne[2];
    if (!check_window(w) || !tn_rule_type(node, 0, GGML_TYPE_F32)) return false;
    if (w0 < 0 || h0 < 0 || w0 > INT32_MAX || h0 > INT32_MAX)
        return tn_refuse("w0 and h0 must not be negative, and fit in 32 bits");
    if (!tn_rule_shape(node, 0, TN_RULE_ANY, w, w, tn_ceil_div(w0, w) * tn_ceil_div(h0, w))) return false;
    tn_rule_result(node, GGML_TYPE_F32, node->src[0]->ne[0], w0, h0, 1);
    return true;
}

struct ggml_tensor * ggml_win_unpart(struct ggml_context * ctx, struct ggml_tensor * a, int w0, int h0,
                                     int w) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_WIN_UNPART, 1, a);
    tn_shape_set(b.node.ne, b.node.ne[0], w0, h0, 1);
    tn_param_set_i32(&b.node, 0, w);
    return tn_build_finish(&b);
}

// src0 [C, 2n - 1]; the result [C, n, n] is what the builder asks for.
static bool get_rel_pos_rule(struct ggml_tensor * node) {
    const int64_t kh = node->ne[1], qh = node->ne[2];
    if (qh != kh || qh < 1)
        return tn_refuse("qh and kh must be equal and above 0, they are %d and %d", (int) qh, (int) kh);
    if (!tn_rule_shape(node, 0, TN_RULE_ANY, 2 * qh - 1, 1, 1)) return false;
    tn_rule_result(node, GGML_TYPE_F16, node->src[0]->ne[0], kh, qh, 1);
    return true;
}

struct ggml_tensor * ggml_get_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a, int qh, int kh) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_GET_REL_POS, 1, a);
    tn_shape_set(b.node.ne, b.node.ne[0], kh, qh, 1);
    return tn_build_finish(&b);
}

// op_params: whether in place. src0 [n*n, w*h, B], src1 and src2 [n, w, h, B]
static bool add_rel_pos_rule(struct ggml_tensor * node) {
    const int64_t * pw = node->src[1]->ne;
    int64_t keys, queries;
    if (!tn_rule_types(node, 1, 2, GGML_TYPE_F32) || !tn_rule_all_contiguous(node, 0, 2)) return false;
    if (!tn_rule_same_shape(node, 2, 1)) return false;
    if (!tn_i64_mul(pw[0], pw[0], &keys) || !tn_i64_mul(pw[1], pw[2], &queries)) {
        return tn_refuse("the products of the sizes of src1 must be below 2^63");
    }
    tn_rule_like(node, 0);
    return tn_rule_shape(node, 0, keys, queries, pw[3], 1);
}

struct ggml_tensor * ggml_add_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * pw, struct ggml_tensor * ph) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_ADD_REL_POS, 3, a, pw, ph);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_add_rel_pos_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * pw, struct ggml_tensor * ph) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_ADD_REL_POS, 3, a, pw, ph);
    tn_param_set_i32(&b.node, 0, 1);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_win_part = { .rule = win_part_rule, .n_src = 1 };
const struct tn_op tn_op_win_unpart = { .rule = win_unpart_rule, .n_src = 1 };
const struct tn_op tn_op_get_rel_pos = { .rule = get_rel_pos_rule, .n_src = 1 };
const struct tn_op tn_op_add_rel_pos = { .rule = add_rel_pos_rule, .n_src = 3 };
