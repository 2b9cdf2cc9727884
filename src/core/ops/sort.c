// SPDX-License-Identifier: MIT
// argsort, top_k: indices by value, row by row.
#include <inttypes.h>

#include "base/error.h"
#include "core/build.h"
#include "core/context.h"
#include "core/op.h"
#include "core/rule.h"

static bool argsort_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const int32_t order = tn_param_i32(node, 0);
    if (order != GGML_SORT_ORDER_ASC && order != GGML_SORT_ORDER_DESC)
        return tn_refuse("the order must be 0 or 1, it is %d", order);
    if (a->ne[0] > INT32_MAX) return tn_refuse("ne0 must fit in 32 bits, it is %" PRId64, a->ne[0]);
    node->type = GGML_TYPE_I32;
    tn_shape_copy(node->ne, a->ne);
    return true;
}

static struct ggml_tensor * argsort(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                    enum ggml_sort_order order) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_ARGSORT, 1, a);
    tn_param_set_i32(&b.node, 0, (int32_t) order);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_argsort(struct ggml_context * ctx, struct ggml_tensor * a,
                                  enum ggml_sort_order order) {
    return argsort(ctx, __func__, a, order);
}

static bool k_fits(int64_t k, const struct ggml_tensor * a) {
    if (k >= 0 && k <= a->ne[0]) return true;
    return tn_refuse("k must be between 0 and ne0 = %" PRId64 ", it is %" PRId64, a->ne[0], k);
}

struct ggml_tensor * ggml_argsort_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_ARGSORT, 1, a);
    if (!b.refused && !k_fits(k, a)) b.refused = true;
    tn_param_set_i32(&b.node, 0, GGML_SORT_ORDER_DESC);
    struct ggml_tensor * s = tn_build_finish(&b);
    if (tn_tensor_is_poisoned(s)) return s;
    return ggml_view_4d(ctx, s, k, s->ne[1], s->ne[2], s->ne[3], s->nb[1], s->nb[2], s->nb[3], 0);
}

// k is the row of the result; there is no parameter.
static bool top_k_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const int64_t k = node->ne[0];
    if (!k_fits(k, a)) return false;
    node->type = GGML_TYPE_I32;
    tn_shape_set(node->ne, k, a->ne[1], a->ne[2], a->ne[3]);
    return true;
}

struct ggml_tensor * ggml_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_TOP_K, 1, a);
    b.node.ne[0] = k;
    return tn_build_finish(&b);
}

const struct tn_op tn_op_argsort = { .rule = argsort_rule, .n_src = 1 };
const struct tn_op tn_op_top_k = { .rule = top_k_rule, .n_src = 1 };
