// SPDX-License-Identifier: MIT
// repeat fills a larger tensor with copies of a, repeat_back sums such copies up again. The sizes wanted are
// those of the result; the tensor that gives them is no source.
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

static bool refuse_sizes(const char * what, const int64_t * small, const int64_t * large) {
    char a[TN_SHAPE_TEXT], b[TN_SHAPE_TEXT];
    return tn_refuse("%s: every size of %s must divide that of %s", what, tn_shape_text(a, small),
                     tn_shape_text(b, large));
}

static bool repeat_rule(struct ggml_tensor * node) {
    node->type = node->src[0]->type;
    return ggml_can_repeat(node->src[0], node) ||
           refuse_sizes("src0 must repeat to the result", node->src[0]->ne, node->ne);
}

struct ggml_tensor * ggml_repeat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_REPEAT, 1, a);
    if (tn_build_like(&n, b)) tn_shape_copy(n.node.ne, b->ne);
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_repeat_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                    int64_t ne1, int64_t ne2, int64_t ne3) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_REPEAT, 1, a);
    tn_shape_set(n.node.ne, ne0, ne1, ne2, ne3);
    return tn_build_finish(&n);
}

static bool repeat_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_add(ad, node->src[0],
                    ggml_repeat_back(tn_autodiff_ctx(ad), tn_autodiff_of(ad, node), node->src[0]));
    return true;
}

static bool repeat_back_rule(struct ggml_tensor * node) {
    node->type = node->src[0]->type;
    return ggml_can_repeat(node, node->src[0]) ||
           refuse_sizes("the result must repeat to src0", node->ne, node->src[0]->ne);
}

struct ggml_tensor * ggml_repeat_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_REPEAT_BACK, 1, a);
    if (tn_build_like(&n, b)) tn_shape_copy(n.node.ne, b->ne);
    return tn_build_finish(&n);
}

static bool repeat_back_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    tn_autodiff_add(ad, node->src[0],
                    ggml_repeat(tn_autodiff_ctx(ad), tn_autodiff_of(ad, node), node->src[0]));
    return true;
}

const struct tn_op tn_op_repeat = { .rule = repeat_rule, .backward = repeat_backward, .n_src = 1 };
const struct tn_op tn_op_repeat_back = { .rule = repeat_back_rule,
                                         .backward = repeat_back_backward,
                                         .n_src = 1 };
