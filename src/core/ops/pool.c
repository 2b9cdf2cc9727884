// SPDX-License-Identifier: MIT
// pool_1d pool_2d pool_2d_back: maximum or average of windows.
#include <inttypes.h>

#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/ops/conv_int.h"
#include "core/rule.h"

static bool check_op(const struct ggml_tensor * node) {
    const int32_t op = tn_param_i32(node, 0);
    return (op >= 0 && op < GGML_OP_POOL_COUNT) ||
           tn_refuse("the kind of pooling must be 0 or 1, it is %d", op);
}

// --- pool_1d. op_params: op, kernel, stride, padding

static bool pool_1d_rule(struct ggml_tensor * node) {
    const int64_t * a = node->src[0]->ne;
    const struct tn_conv_axis axis = { a[0], tn_param_i32(node, 1), tn_param_i32(node, 2),
                                       tn_param_i32(node, 3), 1 };
    int64_t out;
    if (!check_op(node) || !tn_conv_size(&axis, 0, &out)) return false;
    tn_rule_result(node, GGML_TYPE_F32, out, a[1], a[2], a[3]);
    return true;
}

struct ggml_tensor * ggml_pool_1d(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_op_pool op,
                                  int k0, int s0, int p0) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_POOL_1D, 1, a);
    const int32_t words[] = { (int32_t) op, k0, s0, p0 };
    for (int i = 0; i < 4; i++)
        tn_param_set_i32(&b.node, i, words[i]);
    return tn_build_finish(&b);
}

// --- pool_2d. op_params: op, kernels, strides, paddings of two dimensions. A padding may be a fraction: the
// size of the result comes from the fraction, while what is kept is cut. So the size that a builder asks for
// lies between those of the padding that is kept and the next one.

struct pool_2d {
    enum ggml_op_pool op;
    int32_t k[2], s[2];
    float p[2];
};

// 0 where no window fits.
static int64_t window_count(int64_t in, int32_t k, int32_t s, double p) {
    const double room = (double) in + 2 * p - k;
    return room < 0 || room >= 0x1p62 ? 0 : (int64_t) (room / s + 1);
}

static struct tn_build pool_2d_start(struct tn_build b, const struct pool_2d * p) {
    tn_param_set_i32(&b.node, 0, (int32_t) p->op);
    for (int d = 0; d < 2; d++) {
        if (p->k[d] < 1 || p->s[d] < 1) {
            tn_build_refuse(&b, "kernel and stride of dimension %d must be above 0, they are %d and %d", d,
                            p->k[d], p->s[d]);
        }
        if (!(p->p[d] >= 0 && p->p[d] < 0x1p31f)) {
            tn_build_refuse(&b,
                            "the padding of dimension %d must not be negative, and fit in 32 bits, it is %g",
                            d, (double) p->p[d]);
        }
        if (b.refused) break;
        tn_param_set_i32(&b.node, 1 + d, p->k[d]);
        tn_param_set_i32(&b.node, 3 + d, p->s[d]);
        tn_param_set_i32(&b.node, 5 + d, (int32_t) p->p[d]);
    }
    return b;
}

static bool check_window_count(const struct ggml_tensor * node, int d, int64_t in, int64_t out) {
    const int32_t k = tn_param_i32(node, 1 + d), s = tn_param_i32(node, 3 + d), p = tn_param_i32(node, 5 + d);
    if (k < 1 || s < 1 || p < 0)
        return tn_refuse("kernel, stride or padding of dimension %d make no sense", d);
    if (out < 1) {
        return tn_refuse(
            "the output of dimension %d must be positive: a window of %d does not fit into %" PRId64
            " with a padding of %d",
            d, k, in, p);
    }
    const int64_t least = window_count(in, k, s, p), most = window_count(in, k, s, (double) p + 1);
    return (out >= least && out <= most) ||
           tn_refuse("dimension %d has %" PRId64 " windows, not %" PRId64, d, least, out);
}

static bool pool_2d_rule(struct ggml_tensor * node) {
    const int64_t * a = node->src[0]->ne;
    if (!check_op(node)) return false;
    for (int d = 0; d < 2; d++) {
        if (!check_window_count(node, d, a[d], node->ne[d])) return false;
    }
    tn_rule_result(node, GGML_TYPE_F32, node->ne[0], node->ne[1], a[2], a[3]);
    return true;
}

struct ggml_tensor * ggml_pool_2d(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_op_pool op,
                                  int k0, int k1, int s0, int s1, float p0, float p1) {
    const struct pool_2d p = { op, { k0, k1 }, { s0, s1 }, { p0, p1 } };
    struct tn_build b = pool_2d_start(tn_build_start(ctx, __func__, GGML_OP_POOL_2D, 1, a), &p);
    for (int d = 0; d < 2 && !b.refused; d++)
        b.node.ne[d] = window_count(b.node.ne[d], p.k[d], p.s[d], (double) p.p[d]);
    return tn_build_finish(&b);
}

static bool pool_2d_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * a = node->src[0];
    if (!tn_autodiff_wants(ad, a)) return true;
    struct tn_build b = tn_build_start(tn_autodiff_ctx(ad), "ggml_pool_2d_back", GGML_OP_POOL_2D_BACK, 2,
                                       tn_autodiff_of(ad, node), a);
    memcpy(b.node.op_params, node->op_params, sizeof(node->op_params));
    tn_autodiff_add(ad, a, tn_build_finish(&b));
    return true;
}

// src: gradient of the result, input
static bool pool_2d_back_rule(struct ggml_tensor * node) {
    const int64_t * g = node->src[0]->ne;
    const int64_t * a = node->src[1]->ne;
    if (!check_op(node) || !tn_rule_shape(node, 0, TN_RULE_ANY, TN_RULE_ANY, a[2], a[3])) return false;
    for (int d = 0; d < 2; d++) {
        if (!check_window_count(node, d, a[d], g[d])) return false;
    }
    tn_rule_result(node, GGML_TYPE_F32, a[0], a[1], a[2], a[3]);
    return true;
}

struct ggml_tensor * ggml_pool_2d_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * af, enum ggml_op_pool op, int k0, int k1, int s0,
                                       int s1, float p0, float p1) {
    const struct pool_2d p = { op, { k0, k1 }, { s0, s1 }, { p0, p1 } };
    struct tn_build b = pool_2d_start(tn_build_start(ctx, __func__, GGML_OP_POOL_2D_BACK, 2, a, af), &p);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_pool_1d = { .rule = pool_1d_rule, .n_src = 1 };
const struct tn_op tn_op_pool_2d = { .rule = pool_2d_rule, .backward = pool_2d_backward, .n_src = 1 };
const struct tn_op tn_op_pool_2d_back = { .rule = pool_2d_back_rule, .n_src = 2 };
