// SPDX-License-Identifier: MIT
// reshape view permute transpose: other sizes and strides over the same memory, nothing to compute.
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

// --- reshape

static bool reshape_rule(struct ggml_tensor * node) {
    node->type = node->src[0]->type;
    return tn_rule_contiguous(node, 0) && tn_rule_same_count(node, 0);
}

static struct ggml_tensor * reshape(struct tn_build * b, const int64_t * ne) {
    struct ggml_tensor * a = b->node.src[0];
    if (!b->refused) {
        tn_shape_copy(b->node.ne, ne);
        b->base = a;
        tn_build_name(b, "%s (reshaped)", a->name);
    }
    return tn_build_finish(b);
}

struct ggml_tensor * ggml_reshape(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_RESHAPE, 1, a);
    return reshape(&n, tn_build_like(&n, b) ? b->ne : NULL);
}

struct ggml_tensor * ggml_reshape_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_RESHAPE, 1, a);
    return reshape(&n, (const int64_t[4]){ ne0, 1, 1, 1 });
}

struct ggml_tensor * ggml_reshape_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                     int64_t ne1) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_RESHAPE, 1, a);
    return reshape(&n, (const int64_t[4]){ ne0, ne1, 1, 1 });
}

struct ggml_tensor * ggml_reshape_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                     int64_t ne1, int64_t ne2) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_RESHAPE, 1, a);
    return reshape(&n, (const int64_t[4]){ ne0, ne1, ne2, 1 });
}

struct ggml_tensor * ggml_reshape_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                     int64_t ne1, int64_t ne2, int64_t ne3) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_RESHAPE, 1, a);
    return reshape(&n, (const int64_t[4]){ ne0, ne1, ne2, ne3 });
}

static struct ggml_tensor * contiguous(struct ggml_context * ctx, struct ggml_tensor * t) {
    return ggml_is_contiguous(t) ? t : ggml_cont(ctx, t);
}

static bool reshape_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = contiguous(ctx, tn_autodiff_of(ad, node));
    tn_autodiff_add(ad, node->src[0], ggml_reshape(ctx, g, node->src[0]));
    return true;
}

// --- view: the offset in op_params counts from src[0]'s data, view_offs from the base's

static bool view_rule(struct ggml_tensor * node) {
    node->type = node->src[0]->type;
    return true;
}

// The strides not given continue those that are: nb2 = nb1*ne1, nb3 = nb2*ne2.
static bool continue_strides(struct ggml_tensor * node, int n_given, const size_t * nb) {
    int64_t count;
    if (!tn_shape_count(node->ne, &count)) return false;
    node->nb[0] = ggml_type_size(node->type);
    memcpy(node->nb + 1, nb, (size_t) n_given * sizeof(*nb));
    for (int i = n_given + 1; i < GGML_MAX_DIMS; i++) {
        if (!tn_size_mul(node->nb[i - 1], (size_t) node->ne[i - 1], &node->nb[i])) {
            return tn_refuse("nb[%d] is 2^64 bytes or more", i);
        }
    }
    return true;
}

// n_given 0: contiguous strides.
static struct ggml_tensor * view(struct tn_build * b, const int64_t * ne, int n_given, const size_t * nb,
                                 size_t offset) {
    struct ggml_tensor * a = b->node.src[0];
    if (!b->refused) {
        tn_shape_copy(b->node.ne, ne);
        tn_param_set_size(&b->node, offset);
        b->base = a;
        b->offset = offset;
        b->strided = n_given > 0;
        b->refused = b->strided && !continue_strides(&b->node, n_given, nb);
        tn_build_name(b, "%s (view)", a->name);
    }
    return tn_build_finish(b);
}

struct ggml_tensor * ggml_view_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                  size_t offset) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_VIEW, 1, a);
    return view(&b, (const int64_t[4]){ ne0, 1, 1, 1 }, 0, NULL, offset);
}

struct ggml_tensor * ggml_view_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  size_t nb1, size_t offset) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_VIEW, 1, a);
    return view(&b, (const int64_t[4]){ ne0, ne1, 1, 1 }, 1, &nb1, offset);
}

struct ggml_tensor * ggml_view_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  int64_t ne2, size_t nb1, size_t nb2, size_t offset) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_VIEW, 1, a);
    return view(&b, (const int64_t[4]){ ne0, ne1, ne2, 1 }, 2, (const size_t[2]){ nb1, nb2 }, offset);
}

struct ggml_tensor * ggml_view_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  int64_t ne2, int64_t ne3, size_t nb1, size_t nb2, size_t nb3,
                                  size_t offset) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_VIEW, 1, a);
    return view(&b, (const int64_t[4]){ ne0, ne1, ne2, ne3 }, 3, (const size_t[3]){ nb1, nb2, nb3 }, offset);
}

// The gradient of src[0] is dense: the strides must mean the same there, but for the size of an element.
static bool view_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * a = node->src[0];
    const size_t own = ggml_type_size(a->type), size = sizeof(float);
    const size_t offset = tn_param_size(node);
    if (!ggml_is_contiguous(a)) return tn_refuse("a view of a tensor that is not contiguous has no gradient");
    if (node->nb[1] % own || node->nb[2] % own || node->nb[3] % own || offset % own) {
        return tn_refuse("a view between elements has no gradient");
    }
    const size_t nb[3] = { node->nb[1] / own * size, node->nb[2] / own * size, node->nb[3] / own * size };
    tn_autodiff_acc(ad, a, tn_autodiff_of(ad, node), nb, offset / own * size);
    return true;
}

// --- permute: dimension i of a becomes dimension axis_i

static bool axes_rule(const struct ggml_tensor * node) {
    unsigned seen = 0;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        const int32_t axis = tn_param_i32(node, i);
        if (axis < 0 || axis >= GGML_MAX_DIMS) return tn_refuse("axis %d must be 0 to 3", (int) axis);
        if (seen & 1u << axis) return tn_refuse("axis %d is given twice", (int) axis);
        seen |= 1u << axis;
    }
    return true;
}

static bool permute_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    node->type = a->type;
    if (!axes_rule(node)) return false;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        node->ne[tn_param_i32(node, i)] = a->ne[i];
        node->nb[tn_param_i32(node, i)] = a->nb[i];
    }
    return true;
}

static struct ggml_tensor * rearranged(struct tn_build * b, const char * how) {
    struct ggml_tensor * a = b->node.src[0];
    if (!b->refused) {
        b->base = a;
        b->strided = true;
        tn_build_name(b, "%s (%s)", a->name, how);
    }
    return tn_build_finish(b);
}

struct ggml_tensor * ggml_permute(struct ggml_context * ctx, struct ggml_tensor * a, int axis0, int axis1,
                                  int axis2, int axis3) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_PERMUTE, 1, a);
    tn_param_set_i32(&b.node, 0, axis0);
    tn_param_set_i32(&b.node, 1, axis1);
    tn_param_set_i32(&b.node, 2, axis2);
    tn_param_set_i32(&b.node, 3, axis3);
    return rearranged(&b, "permuted");
}

// Made contiguous: what takes a gradient further need not take strides.
static bool permute_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    int back[GGML_MAX_DIMS];
    for (int i = 0; i < GGML_MAX_DIMS; i++)
        back[tn_param_i32(node, i)] = i;
    struct ggml_tensor * g = ggml_permute(ctx, tn_autodiff_of(ad, node), back[0], back[1], back[2], back[3]);
    tn_autodiff_add(ad, node->src[0], contiguous(ctx, g));
    return true;
}

// --- transpose

static bool transpose_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    tn_rule_result(node, a->type, a->ne[1], a->ne[0], a->ne[2], a->ne[3]);
    memcpy(node->nb, a->nb, sizeof(node->nb));
    node->nb[0] = a->nb[1];
    node->nb[1] = a->nb[0];
    return true;
}

struct ggml_tensor * ggml_transpose(struct ggml_context * ctx, struct ggml_tensor * a) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_TRANSPOSE, 1, a);
    return rearranged(&b, "transposed");
}

static bool transpose_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    tn_autodiff_add(ad, node->src[0], contiguous(ctx, ggml_transpose(ctx, tn_autodiff_of(ad, node))));
    return true;
}

const struct tn_op tn_op_reshape = {
    .rule = reshape_rule, .backward = reshape_backward, .n_src = 1, .is_view = true
};
const struct tn_op tn_op_view = { .rule = view_rule, .backward = view_backward, .n_src = 1, .is_view = true };
const struct tn_op tn_op_permute = {
    .rule = permute_rule, .backward = permute_backward, .n_src = 1, .is_view = true
};
const struct tn_op tn_op_transpose = {
    .rule = transpose_rule, .backward = transpose_backward, .n_src = 1, .is_view = true
};
