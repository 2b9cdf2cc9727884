// SPDX-License-Identifier: MIT
// conv_2d conv_3d conv_2d_dw conv_transpose_1d conv_transpose_2d: convolution as one operator. What consists
// of unfolding and a matrix product is in conv_unfold.c.
#include "core/ops/conv_int.h"

#include <inttypes.h>

#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

static bool check_axis(const struct tn_conv_axis * a, int d) {
    if (a->stride < 1) return tn_refuse("the stride of dimension %d must be above 0, it is %d", d, a->stride);
    if (a->pad < 0) return tn_refuse("the padding of dimension %d must not be negative, it is %d", d, a->pad);
    if (a->dilation < 1)
        return tn_refuse("the dilation of dimension %d must be above 0, it is %d", d, a->dilation);
    return a->kernel > 0 || tn_refuse("the kernel must not be empty in dimension %d", d);
}

bool tn_conv_size(const struct tn_conv_axis * a, int d, int64_t * out) {
    int64_t padded, span;
    if (!check_axis(a, d)) return false;
    if (!tn_i64_add(a->in, 2 * (int64_t) a->pad, &padded) || !tn_i64_mul(a->kernel - 1, a->dilation, &span) ||
        !tn_i64_add(span, 1, &span)) {
        return tn_refuse("dimension %d: padded data or kernel are 2^63 or more", d);
    }
    if (span > padded) {
        return tn_refuse("the output of dimension %d must be positive: a kernel that spans %" PRId64
                         " does not fit into %" PRId64 " with padding",
                         d, span, padded);
    }
    *out = (padded - span) / a->stride + 1;
    return true;
}

bool tn_conv_out(const struct ggml_tensor * node, int n, int d, int64_t in, int64_t kernel, int64_t * out) {
    const struct tn_conv_axis axis = {
        .in = in,
        .kernel = kernel,
        .stride = tn_param_i32(node, d),
        .pad = tn_param_i32(node, n + d),
        .dilation = tn_param_i32(node, 2 * n + d),
    };
    return tn_conv_size(&axis, d, out);
}

bool tn_conv_transposed_size(const struct tn_conv_axis * a, int d, int64_t * out) {
    int64_t size;
    if (!check_axis(a, d)) return false;
    if (a->in < 1) return tn_refuse("the data must not be empty in dimension %d", d);
    if (!tn_i64_mul(a->in - 1, a->stride, &size) || !tn_i64_add(size, a->kernel, &size)) {
        return tn_refuse("the output of dimension %d is 2^63 or more", d);
    }
    size -= 2 * (int64_t) a->pad;
    if (size < 1) return tn_refuse("the output of dimension %d must be positive, it is %" PRId64, d, size);
    *out = size;
    return true;
}

// Two dimensions' strides, paddings, dilations into words 0 .. 5.
static void set_params_2d(struct tn_build * b, const int32_t * words) {
    for (int i = 0; i < 6; i++)
        tn_param_set_i32(&b->node, i, words[i]);
}

static bool out_2d(const struct ggml_tensor * node, int64_t * ow, int64_t * oh) {
    const int64_t * kernel = node->src[0]->ne;
    const int64_t * data = node->src[1]->ne;
    return tn_conv_out(node, 2, 0, data[0], kernel[0], ow) && tn_conv_out(node, 2, 1, data[1], kernel[1], oh);
}

// --- conv_2d: kernel [KW, KH, IC, OC], data [W, H, IC, N]

static bool conv_2d_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * data = node->src[1];
    int64_t ow = 0, oh = 0;
    if (!tn_rule_equal(node, 0, 2, 1, 2) || !out_2d(node, &ow, &oh)) return false;
    tn_rule_result(node, data->type, ow, oh, node->src[0]->ne[3], data->ne[3]);
    return true;
}

struct ggml_tensor * ggml_conv_2d_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                         struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0,
                                         int d1) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CONV_2D, 2, a, b);
    set_params_2d(&n, (const int32_t[]){ s0, s1, p0, p1, d0, d1 });
    return tn_build_finish(&n);
}

// --- conv_2d_dw: kernel [KW, KH, 1, C], data [W, H, C, N]

// A result whose channels lie side by side, as those of the data.
static void channels_first(struct ggml_tensor * node) {
    const size_t size = ggml_type_size(node->type);
    node->nb[2] = size;
    node->nb[0] = size * (size_t) node->ne[2];
    node->nb[1] = node->nb[0] * (size_t) node->ne[0];
    node->nb[3] = node->nb[1] * (size_t) node->ne[1];
}

static bool conv_2d_dw_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * data = node->src[1];
    size_t bytes;
    int64_t ow, oh;
    if (!tn_rule_one(node, 0, 2) || !tn_rule_equal(node, 0, 3, 1, 2) || !out_2d(node, &ow, &oh)) return false;
    tn_rule_result(node, data->type, ow, oh, data->ne[2], data->ne[3]);
    if (!tn_shape_strides(node->type, node->ne, node->nb, &bytes)) return false;
    if (ggml_is_contiguous_channels(data)) channels_first(node);
    return true;
}

struct ggml_tensor * ggml_conv_2d_dw_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                            struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0,
                                            int d1) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CONV_2D_DW, 2, a, b);
    set_params_2d(&n, (const int32_t[]){ s0, s1, p0, p1, d0, d1 });
    n.strided = true; // the rule gives the strides
    return tn_build_finish(&n);
}

// --- conv_3d: kernel [KW, KH, KD, IC*OC], data [W, H, D, IC*N]. op_params: 3 strides, paddings, dilations,
// IC, N, OC

enum { CONV_3D_IC = 9, CONV_3D_N, CONV_3D_OC };

static bool conv_3d_rule(struct ggml_tensor * node) {
    const int64_t * kernel = node->src[0]->ne;
    const int64_t * data = node->src[1]->ne;
    const int64_t ic = tn_param_i32(node, CONV_3D_IC), n = tn_param_i32(node, CONV_3D_N),
                  oc = tn_param_i32(node, CONV_3D_OC);
    int64_t out[3];
    if (ic < 0 || n < 0 || oc < 0) {
        return tn_refuse(
            "n_channels, n_batch and n_channels_out must not be negative, they are %d, %d and %d", (int) ic,
            (int) n, (int) oc);
    }
    if (!tn_rule_shape(node, 0, TN_RULE_ANY, TN_RULE_ANY, TN_RULE_ANY, ic * oc)) return false;
    if (!tn_rule_shape(node, 1, TN_RULE_ANY, TN_RULE_ANY, TN_RULE_ANY, ic * n)) return false;
    for (int d = 0; d < 3; d++) {
        if (!tn_conv_out(node, 3, d, data[d], kernel[d], &out[d])) return false;
    }
    tn_rule_result(node, GGML_TYPE_F32, out[0], out[1], out[2], oc * n);
    return true;
}

struct ggml_tensor * ggml_conv_3d_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                         struct ggml_tensor * b, int s0, int s1, int s2, int p0, int p1,
                                         int p2, int d0, int d1, int d2, int n_channels, int n_batch,
                                         int n_channels_out) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CONV_3D, 2, a, b);
    const int32_t words[] = { s0, s1, s2, p0, p1, p2, d0, d1, d2, n_channels, n_batch, n_channels_out };
    for (int i = 0; i <= CONV_3D_OC; i++)
        tn_param_set_i32(&n.node, i, words[i]);
    return tn_build_finish(&n);
}

// --- conv_transpose_1d: kernel [K, OC, IC], data [L, IC]. op_params: stride, padding, dilation

static bool conv_transpose_1d_rule(struct ggml_tensor * node) {
    const int64_t * kernel = node->src[0]->ne;
    const int32_t p0 = tn_param_i32(node, 1), d0 = tn_param_i32(node, 2);
    if (p0 != 0 || d0 != 1) return tn_refuse("p0 must be 0 and d0 1, they are %d and %d", p0, d0);
    if (!tn_rule_matrix(node, 1) || !tn_rule_equal(node, 0, 2, 1, 1) || !tn_rule_one(node, 0, 3))
        return false;
    const struct tn_conv_axis axis = { node->src[1]->ne[0], kernel[0], tn_param_i32(node, 0), 0, 1 };
    int64_t out;
    if (!tn_conv_transposed_size(&axis, 0, &out)) return false;
    tn_rule_result(node, GGML_TYPE_F32, out, kernel[1], 1, 1);
    return true;
}

struct ggml_tensor * ggml_conv_transpose_1d(struct ggml_context * ctx, struct ggml_tensor * a,
                                            struct ggml_tensor * b, int s0, int p0, int d0) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CONV_TRANSPOSE_1D, 2, a, b);
    tn_param_set_i32(&n.node, 0, s0);
    tn_param_set_i32(&n.node, 1, p0);
    tn_param_set_i32(&n.node, 2, d0);
    return tn_build_finish(&n);
}

// --- conv_transpose_2d: kernel [KW, KH, OC, IC], data [W, H, IC, N]. op_params: stride

static bool conv_transpose_2d_rule(struct ggml_tensor * node) {
    const int64_t * kernel = node->src[0]->ne;
    const int64_t * data = node->src[1]->ne;
    int64_t out[2];
    if (!tn_rule_equal(node, 0, 3, 1, 2)) return false;
    for (int d = 0; d < 2; d++) {
        const struct tn_conv_axis axis = { data[d], kernel[d], tn_param_i32(node, 0), 0, 1 };
        if (!tn_conv_transposed_size(&axis, d, &out[d])) return false;
    }
    tn_rule_result(node, GGML_TYPE_F32, out[0], out[1], kernel[2], data[3]);
    return true;
}

struct ggml_tensor * ggml_conv_transpose_2d_p0(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, int stride) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_CONV_TRANSPOSE_2D, 2, a, b);
    tn_param_set_i32(&n.node, 0, stride);
    return tn_build_finish(&n);
}

const struct tn_op tn_op_conv_2d = { .rule = conv_2d_rule, .n_src = 2 };
const struct tn_op tn_op_conv_2d_dw = { .rule = conv_2d_dw_rule, .n_src = 2 };
const struct tn_op tn_op_conv_3d = { .rule = conv_3d_rule, .n_src = 2 };
const struct tn_op tn_op_conv_transpose_1d = { .rule = conv_transpose_1d_rule, .n_src = 2 };
const struct tn_op tn_op_conv_transpose_2d = { .rule = conv_transpose_2d_rule, .n_src = 2 };
