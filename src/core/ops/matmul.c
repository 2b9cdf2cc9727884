// SPDX-License-Identifier: MIT
// mul_mat mul_mat_id out_prod: matrix products, and what may be asked of them beforehand.
#include "base/error.h"
#include "base/log.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

// Matrix i is used for several matrices j.
static bool batches_rule(const struct ggml_tensor * node, int i, int j) {
    return tn_rule_divides(node, i, 2, j, 2) && tn_rule_divides(node, i, 3, j, 3);
}

// --- mul_mat: rows by rows

enum { WORD_PREC_ACC = 0, WORD_HINT = 1, WORD_PREC_SRC1 = 3 };

static bool mul_mat_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * b = node->src[1];
    if (!tn_rule_equal(node, 0, 0, 1, 0) || !batches_rule(node, 0, 1) || !tn_rule_not_transposed(node, 0))
        return false;
    tn_rule_result(node, GGML_TYPE_F32, node->src[0]->ne[1], b->ne[1], b->ne[2], b->ne[3]);
    return true;
}

struct ggml_tensor * ggml_mul_mat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_MUL_MAT, 2, a, b);
    return tn_build_finish(&n);
}

static struct ggml_tensor * untransposed(struct ggml_context * ctx, struct ggml_tensor * t) {
    return ggml_is_transposed(t) ? ggml_cont(ctx, t) : t;
}

// Matrix k/r was used for matrix k: g summed over r neighbours in dimension 2, then in dimension 3.
static struct ggml_tensor * sum_neighbours(struct tn_autodiff * ad, struct ggml_tensor * g,
                                           const struct ggml_tensor * a) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    const int64_t * ne = a->ne;
    if (tn_shape_same(g, a) || tn_shape_empty(a)) return g;
    const int64_t matrix = ne[0] * ne[1], slab = matrix * ne[2];
    const struct ggml_tensor one_matrix = { .ne = { matrix, 1, ne[2], g->ne[3] } };
    const struct ggml_tensor one_slab = { .ne = { slab, 1, ne[3], 1 } };
    g = ggml_reshape_4d(ctx, g, matrix, g->ne[2] / ne[2], ne[2], g->ne[3]);
    g = tn_autodiff_reduce(ad, g, &one_matrix);
    g = ggml_reshape_3d(ctx, g, slab, ggml_nelements(g) / (slab * ne[3]), ne[3]);
    g = tn_autodiff_reduce(ad, g, &one_slab);
    return ggml_reshape_4d(ctx, g, ne[0], ne[1], ne[2], ne[3]);
}

static bool mul_mat_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    struct ggml_tensor * a = node->src[0];
    struct ggml_tensor * b = node->src[1];
    if (tn_autodiff_wants(ad, a)) {
        struct ggml_tensor * all = ggml_out_prod(ctx, untransposed(ctx, b), g);
        tn_autodiff_add(ad, a, sum_neighbours(ad, all, a));
    }
    if (tn_autodiff_wants(ad, b)) tn_autodiff_add(ad, b, ggml_out_prod(ctx, a, ggml_transpose(ctx, g)));
    return true;
}

// --- mul_mat_id: for each column of b the matrices that ids names

static bool mul_mat_id_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * ids = node->src[2];
    const bool ok = tn_rule_one(node, 0, 3) && tn_rule_one(node, 1, 3) &&
                    tn_rule_type(node, 2, GGML_TYPE_I32) && tn_rule_matrix(node, 2) &&
                    tn_rule_equal(node, 2, 1, 1, 2) && tn_rule_equal(node, 0, 0, 1, 0) &&
                    tn_rule_divides(node, 1, 1, 2, 0) && tn_rule_not_transposed(node, 0);
    if (ok) tn_rule_result(node, GGML_TYPE_F32, node->src[0]->ne[1], ids->ne[0], node->src[1]->ne[2], 1);
    return ok;
}

struct ggml_tensor * ggml_mul_mat_id(struct ggml_context * ctx, struct ggml_tensor * as,
                                     struct ggml_tensor * b, struct ggml_tensor * ids) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_MUL_MAT_ID, 3, as, b, ids);
    return tn_build_finish(&n);
}

// --- out_prod: columns by columns

static bool out_prod_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * b = node->src[1];
    if (!tn_rule_equal(node, 0, 1, 1, 1) || !batches_rule(node, 0, 1) || !tn_rule_not_transposed(node, 0))
        return false;
    tn_rule_result(node, GGML_TYPE_F32, node->src[0]->ne[0], b->ne[0], b->ne[2], b->ne[3]);
    return true;
}

struct ggml_tensor * ggml_out_prod(struct ggml_context * ctx, struct ggml_tensor * a,
                                   struct ggml_tensor * b) {
    struct tn_build n = tn_build_start(ctx, __func__, GGML_OP_OUT_PROD, 2, a, b);
    return tn_build_finish(&n);
}

// --- settings on a finished product

void ggml_mul_mat_set_prec(struct ggml_tensor * a, enum ggml_prec prec) {
    if (a && a->op == GGML_OP_MUL_MAT) {
        tn_param_set_i32(a, WORD_PREC_ACC, (int32_t) prec);
    } else {
        tn_refuse("ggml_mul_mat_set_prec: %s is no MUL_MAT", ggml_op_desc(a));
        TN_LOG_ERROR("%s\n", tn_error_text());
    }
}

void ggml_mul_mat_set_hint(struct ggml_tensor * a, enum ggml_op_hint hint) {
    if (a && a->op == GGML_OP_MUL_MAT) {
        tn_param_set_i32(a, WORD_HINT, (int32_t) hint);
    } else {
        tn_refuse("ggml_mul_mat_set_hint: %s is no MUL_MAT", ggml_op_desc(a));
        TN_LOG_ERROR("%s\n", tn_error_text());
    }
}

const struct tn_op tn_op_mul_mat = {
    .rule = mul_mat_rule,
    .backward = mul_mat_backward,
    .n_src = 2,
    .prec_acc = 1 + WORD_PREC_ACC,
    .prec_src1 = 1 + WORD_PREC_SRC1,
};
const struct tn_op tn_op_mul_mat_id = {
    .rule = mul_mat_id_rule,
    .n_src = 3,
    .prec_acc = 1 + WORD_PREC_ACC,
    .prec_src1 = 1 + WORD_PREC_SRC1,
};
const struct tn_op tn_op_out_prod = { .rule = out_prod_rule, .n_src = 2 };
