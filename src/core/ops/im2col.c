// SPDX-License-Identifier: MIT
// im2col im2col_back im2col_3d col2im_1d: data unfolded into the columns that a kernel sees, and folded back.
#include <inttypes.h>

#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/ops/conv_int.h"
#include "core/rule.h"

// op_params of IM2COL and IM2COL_BACK: strides, paddings, dilations of two dimensions, is_2D. In one
// dimension those of the second mean nothing.
enum { IS_2D = 6 };

// Elements of a column. false with a text: 2^63 or more.
static bool column_size(int64_t a, int64_t b, int64_t c, int64_t d, int64_t * out) {
    const int64_t ne[GGML_MAX_DIMS] = { a, b, c, d };
    return tn_shape_count(ne, out);
}

// kernel [KW, KH, IC, ..], data [W, H, IC, N]
static bool columns_2d(const struct ggml_tensor * node, const int64_t * kernel, const int64_t * data,
                       int64_t * ne) {
    if (kernel[2] != data[2]) {
        return tn_refuse("kernel and data must have the same channels, ne[2]: %" PRId64 " and %" PRId64,
                         kernel[2], data[2]);
    }
    ne[3] = data[3];
    return column_size(kernel[0], kernel[1], kernel[2], 1, &ne[0]) &&
           tn_conv_out(node, 2, 0, data[0], kernel[0], &ne[1]) &&
           tn_conv_out(node, 2, 1, data[1], kernel[1], &ne[2]);
}

// kernel [K, IC, ..], data [L, IC, N]
static bool columns_1d(const struct ggml_tensor * node, const int64_t * kernel, const int64_t * data,
                       int64_t * ne) {
    if (kernel[1] != data[1]) {
        return tn_refuse("kernel and data must have the same channels, ne[1]: %" PRId64 " and %" PRId64,
                         kernel[1], data[1]);
    }
    if (data[3] != 1) return tn_refuse("data of one dimension must have ne[3] = 1, it is %" PRId64, data[3]);
    ne[2] = data[2];
    ne[3] = 1;
    return column_size(kernel[0], kernel[1], 1, 1, &ne[0]) &&
           tn_conv_out(node, 2, 0, data[0], kernel[0], &ne[1]);
}

// Sizes of the columns of this data under this kernel.
static bool columns(const struct ggml_tensor * node, const int64_t * kernel, const int64_t * data,
                    int64_t * ne) {
    return tn_param_i32(node, IS_2D) ? columns_2d(node, kernel, data, ne)
                                     : columns_1d(node, kernel, data, ne);
}

// src: kernel (shape only), data. The type is what the builder asks for.
static bool im2col_rule(struct ggml_tensor * node) {
    return columns(node, node->src[0]->ne, node->src[1]->ne, node->ne);
}

static struct tn_build im2col_start(struct ggml_context * ctx, const char * function, enum ggml_op op,
                                    struct ggml_tensor * a, struct ggml_tensor * b, const int32_t * words) {
    struct tn_build n = tn_build_start(ctx, function, op, 2, a, b);
    for (int i = 0; i <= IS_2D; i++)
        tn_param_set_i32(&n.node, i, words[i]);
    return n;
}

struct ggml_tensor * ggml_im2col(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                 int s0, int s1, int p0, int p1, int d0, int d1, bool is_2D,
                                 enum ggml_type dst_type) {
    const int32_t words[] = { s0, s1, p0, p1, d0, d1, is_2D };
    struct tn_build n = im2col_start(ctx, __func__, GGML_OP_IM2COL, a, b, words);
    n.node.type = dst_type;
    return tn_build_finish(&n);
}

static bool im2col_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * kernel = node->src[0];
    struct ggml_tensor * data = node->src[1];
    if (!tn_autodiff_wants(ad, data)) return true; // of the kernel only the shape is used
    struct tn_build n = im2col_start(tn_autodiff_ctx(ad), "ggml_im2col_back", GGML_OP_IM2COL_BACK,
                                     tn_autodiff_of(ad, node), kernel, node->op_params);
    n.node.type = GGML_TYPE_F32;
    tn_shape_copy(n.node.ne, data->ne);
    tn_autodiff_add(ad, data, tn_build_finish(&n));
    return true;
}

// src: gradient of the columns, kernel (shape only). The sizes, those of the data, are what the builder asks
// for.
static bool im2col_back_rule(struct ggml_tensor * node) {
    int64_t count, ne[GGML_MAX_DIMS];
    if (!tn_shape_count(node->ne, &count) || !columns(node, node->src[1]->ne, node->ne, ne)) return false;
    node->type = GGML_TYPE_F32;
    return tn_rule_shape(node, 0, ne[0], ne[1], ne[2], ne[3]);
}

struct ggml_tensor * ggml_im2col_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b, int64_t ne[GGML_MAX_DIMS], int s0, int s1,
                                      int p0, int p1, int d0, int d1, bool is_2D) {
    const int32_t words[] = { s0, s1, p0, p1, d0, d1, is_2D };
    struct tn_build n = im2col_start(ctx, __func__, GGML_OP_IM2COL_BACK, a, b, words);
    if (ne) {
        tn_shape_copy(n.node.ne, ne);
    } else {
        tn_build_refuse(&n, "ne must be the four sizes of the data, it is NULL");
    }
    return tn_build_finish(&n);
}

// --- im2col_3d: kernel [KW, KH, KD, IC*OC] (shape only), data [W, H, D, IC*N]
// op_params: strides, paddings, dilations of three dimensions, IC

enum { CHANNELS_3D = 9 };

static bool im2col_3d_rule(struct ggml_tensor * node) {
    const int64_t * kernel = node->src[0]->ne;
    const int64_t * data = node->src[1]->ne;
    const int32_t ic = tn_param_i32(node, CHANNELS_3D);
    int64_t out[3], column = 0, depth = 0;
    if (ic < 1 || kernel[3] % ic || data[3] % ic) {
        return tn_refuse("IC must be above 0 and divide ne[3] of kernel and data, it is %d, they are %" PRId64
                         " and %" PRId64,
                         ic, kernel[3], data[3]);
    }
    for (int d = 0; d < 3; d++) {
        if (!tn_conv_out(node, 3, d, data[d], kernel[d], &out[d])) return false;
    }
    if (!column_size(kernel[0], kernel[1], kernel[2], ic, &column)) return false;
    if (!tn_i64_mul(out[2], data[3] / ic, &depth))
        return tn_refuse("the outputs of dimension 2 are 2^63 or more");
    tn_shape_set(node->ne, column, out[0], out[1], depth);
    return true;
}

struct ggml_tensor * ggml_im2col_3d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                    int64_t IC, int s0, int s1, int s2, int p0, int p1, int p2, int d0,
                                    int d1, int d2, enum ggml_type dst_type) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_IM2COL_3D, 2, a, b);
    if (IC < 1 || IC > INT32_MAX)
        tn_build_refuse(&n, "IC must be above 0 and fit in 32 bits, it is %" PRId64, IC);
    const int32_t words[] = { s0, s1, s2, p0, p1, p2, d0, d1, d2, (int32_t) IC };
    for (int i = 0; i <= CHANNELS_3D; i++)
        tn_param_set_i32(&n.node, i, words[i]);
    n.node.type = dst_type;
    return tn_build_finish(&n);
}

// --- col2im_1d: [K*oc, T]. op_params: stride, oc, padding

static bool col2im_1d_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const int32_t oc = tn_param_i32(node, 1);
    int64_t out;
    if (!tn_rule_contiguous(node, 0) || !tn_rule_matrix(node, 0)) return false;
    if (oc < 1 || a->ne[0] % oc)
        return tn_refuse("oc must be above 0 and divide ne0 = %" PRId64 ", it is %d", a->ne[0], oc);
    const struct tn_conv_axis axis = { a->ne[1], a->ne[0] / oc, tn_param_i32(node, 0), tn_param_i32(node, 2),
                                       1 };
    if (!tn_conv_transposed_size(&axis, 0, &out)) return false;
    tn_rule_result(node, a->type, out, oc, 1, 1);
    return true;
}

struct ggml_tensor * ggml_col2im_1d(struct ggml_context * ctx, struct ggml_tensor * a, int s0, int oc,
                                    int p0) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_COL2IM_1D, 1, a);
    tn_param_set_i32(&b.node, 0, s0);
    tn_param_set_i32(&b.node, 1, oc);
    tn_param_set_i32(&b.node, 2, p0);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_im2col = { .rule = im2col_rule, .backward = im2col_backward, .n_src = 2 };
const struct tn_op tn_op_im2col_back = { .rule = im2col_back_rule, .n_src = 2 };
const struct tn_op tn_op_im2col_3d = { .rule = im2col_3d_rule, .n_src = 2 };
const struct tn_op tn_op_col2im_1d = { .rule = col2im_1d_rule, .n_src = 1 };
