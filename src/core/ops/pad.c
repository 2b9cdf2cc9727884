// SPDX-License-Identifier: MIT
// pad, reflecting pad, roll: elements moved along dimensions.
#include <inttypes.h>

#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

// op_params: lp0, rp0, lp1, rp1, .., circular
enum { PAD_CIRCULAR = 2 * GGML_MAX_DIMS };

static bool pad_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    node->type = a->type;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        const int32_t left = tn_param_i32(node, 2 * d), right = tn_param_i32(node, 2 * d + 1);
        if (left < 0 || right < 0) {
            return tn_refuse("padding must not be negative: dimension %d has %d on the left, %d on the right",
                             d, left, right);
        }
        if (!tn_i64_add(a->ne[d], (int64_t) left + right, &node->ne[d])) {
            return tn_refuse("padding dimension %d by %d and %d: the size is 2^63 or more", d, left, right);
        }
        if (tn_param_i32(node, PAD_CIRCULAR) && a->ne[d] == 0 && node->ne[d] > 0) {
            return tn_refuse("circular padding must have something to repeat: dimension %d is empty", d);
        }
    }
    return true;
}

static struct ggml_tensor * pad(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                const int32_t * pads, bool circular) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_PAD, 1, a);
    for (int i = 0; i < PAD_CIRCULAR; i++)
        tn_param_set_i32(&b.node, i, pads[i]);
    tn_param_set_i32(&b.node, PAD_CIRCULAR, circular);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_pad(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1, int p2,
                              int p3) {
    return pad(ctx, __func__, a, (const int32_t[]){ 0, p0, 0, p1, 0, p2, 0, p3 }, false);
}

struct ggml_tensor * ggml_pad_circular(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1,
                                       int p2, int p3) {
    return pad(ctx, __func__, a, (const int32_t[]){ 0, p0, 0, p1, 0, p2, 0, p3 }, true);
}

struct ggml_tensor * ggml_pad_ext(struct ggml_context * ctx, struct ggml_tensor * a, int lp0, int rp0,
                                  int lp1, int rp1, int lp2, int rp2, int lp3, int rp3) {
    return pad(ctx, __func__, a, (const int32_t[]){ lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3 }, false);
}

struct ggml_tensor * ggml_pad_ext_circular(struct ggml_context * ctx, struct ggml_tensor * a, int lp0,
                                           int rp0, int lp1, int rp1, int lp2, int rp2, int lp3, int rp3) {
    return pad(ctx, __func__, a, (const int32_t[]){ lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3 }, true);
}

static bool pad_reflect_1d_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const int32_t p0 = tn_param_i32(node, 0), p1 = tn_param_i32(node, 1);
    if (!tn_rule_type(node, 0, GGML_TYPE_F32) || !tn_rule_contiguous(node, 0)) return false;
    if (p0 < 0 || p1 < 0 || p0 >= a->ne[0] || p1 >= a->ne[0]) {
        return tn_refuse("p0 and p1 must be at least 0 and below ne0 = %" PRId64 ", are %d and %d", a->ne[0],
                         p0, p1);
    }
    tn_shape_copy(node->ne, a->ne);
    node->type = GGML_TYPE_F32;
    if (tn_i64_add(a->ne[0], (int64_t) p0 + p1, &node->ne[0])) return true;
    return tn_refuse("padding dimension 0 by %d and %d: the size is 2^63 or more", p0, p1);
}

struct ggml_tensor * ggml_pad_reflect_1d(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_PAD_REFLECT_1D, 1, a);
    tn_param_set_i32(&b.node, 0, p0);
    tn_param_set_i32(&b.node, 1, p1);
    return tn_build_finish(&b);
}

static bool roll_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    if (!tn_rule_contiguous_rows(node, 0)) return false;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        const int64_t shift = tn_param_i32(node, d);
        if (shift >= a->ne[d] || -shift >= a->ne[d]) {
            return tn_refuse("a shift must be smaller than its dimension: dimension %d is %" PRId64
                             ", its shift %" PRId64,
                             d, a->ne[d], shift);
        }
    }
    node->type = a->type;
    tn_shape_copy(node->ne, a->ne);
    return true;
}

struct ggml_tensor * ggml_roll(struct ggml_context * ctx, struct ggml_tensor * a, int shift0, int shift1,
                               int shift2, int shift3) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_ROLL, 1, a);
    tn_param_set_i32(&b.node, 0, shift0);
    tn_param_set_i32(&b.node, 1, shift1);
    tn_param_set_i32(&b.node, 2, shift2);
    tn_param_set_i32(&b.node, 3, shift3);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_pad = { .rule = pad_rule, .n_src = 1 };
const struct tn_op tn_op_pad_reflect_1d = { .rule = pad_reflect_1d_rule, .n_src = 1 };
const struct tn_op tn_op_roll = { .rule = roll_rule, .n_src = 1 };
