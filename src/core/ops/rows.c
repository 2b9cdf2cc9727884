// SPDX-License-Identifier: MIT
// get_rows set_rows get_rows_back: rows of a matrix by index.
#include <inttypes.h>

#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

static bool get_rows_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    tn_rule_result(node, a->type == GGML_TYPE_I32 ? GGML_TYPE_I32 : GGML_TYPE_F32, a->ne[0], b->ne[0],
                   b->ne[1], b->ne[2]);
    return tn_rule_type(node, 1, GGML_TYPE_I32) && tn_rule_equal(node, 0, 2, 1, 1) &&
           tn_rule_equal(node, 0, 3, 1, 2) && tn_rule_one(node, 1, 3);
}

struct ggml_tensor * ggml_get_rows(struct ggml_context * ctx, struct ggml_tensor * a,
                                   struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_GET_ROWS, 2, a, b);
    return tn_build_finish(&n);
}

static bool get_rows_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    tn_autodiff_add(ad, node->src[0], ggml_get_rows_back(tn_autodiff_ctx(ad), g, node->src[1], node->src[0]));
    return true;
}

// --- get_rows_back: the rows of a are added to those of a tensor of zeros

static bool get_rows_back_rule(struct ggml_tensor * node) {
    const int64_t * ne = node->ne;
    node->type = GGML_TYPE_F32;
    if (ne[2] != 1 || ne[3] != 1)
        return tn_refuse("the result must be a matrix, it has ne[2] = %" PRId64 " and ne[3] = %" PRId64,
                         ne[2], ne[3]);
    if (node->src[0]->ne[0] != ne[0]) {
        return tn_refuse("src0 must have rows of %" PRId64 " elements as the result has, it has %" PRId64,
                         ne[0], node->src[0]->ne[0]);
    }
    return tn_rule_matrix(node, 0) && tn_rule_vector(node, 1) && tn_rule_type(node, 1, GGML_TYPE_I32) &&
           tn_rule_equal(node, 0, 1, 1, 0);
}

struct ggml_tensor * ggml_get_rows_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                        struct ggml_tensor * b, struct ggml_tensor * c) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_GET_ROWS_BACK, 2, a, b);
    if (tn_build_like(&n, c)) tn_shape_copy(n.node.ne, c->ne);
    return tn_build_finish(&n);
}

// --- set_rows: the rows src[0] go into src[2], whose memory the result shares

static bool set_rows_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * ids = node->src[1];
    tn_rule_like(node, 2);
    if (ids->type != GGML_TYPE_I64 && ids->type != GGML_TYPE_I32) {
        return tn_refuse("src1, the indices, must be i64 or i32, it is %s", ggml_type_name(ids->type));
    }
    return tn_rule_equal(node, 2, 0, 0, 0) && tn_rule_equal(node, 2, 2, 0, 2) &&
           tn_rule_equal(node, 2, 3, 0, 3) && tn_rule_equal(node, 0, 1, 1, 0) &&
           tn_rule_divides(node, 1, 1, 0, 2) && tn_rule_divides(node, 1, 2, 0, 3) &&
           tn_rule_one(node, 1, 3) && tn_rule_contiguous_rows(node, 0) && tn_rule_contiguous_rows(node, 2);
}

struct ggml_tensor * ggml_set_rows(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                   struct ggml_tensor * c) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_SET_ROWS, 3, b, c, a);
    tn_build_in_place(&n, a);
    return tn_build_finish(&n);
}

const struct tn_op tn_op_get_rows = { .rule = get_rows_rule, .backward = get_rows_backward, .n_src = 2 };
const struct tn_op tn_op_get_rows_back = { .rule = get_rows_back_rule, .n_src = 2 };
const struct tn_op tn_op_set_rows = { .rule = set_rows_rule, .n_src = 3 };
