// SPDX-License-Identifier: MIT
// Gated units, f(x)*y: x and y are the halves of the rows of one tensor, or two tensors (glu_ops.def).
#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

enum { WORD_OP, WORD_SWAPPED, WORD_ALPHA, WORD_LIMIT };

static bool refuse_gaps(int i) {
    return tn_refuse("src%d must be contiguous but for the distance of its rows", i);
}

static bool glu_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    const int32_t op = tn_param_i32(node, WORD_OP);
    if (op < 0 || op >= GGML_GLU_OP_COUNT) return tn_refuse("gated unit %d is unknown", (int) op);
    if (op == GGML_GLU_OP_SWIGLU_CLAMP && !(tn_param_f32(node, WORD_LIMIT) >= 0.0f)) {
        return tn_refuse("the limit must be 0 or more, it is %g", (double) tn_param_f32(node, WORD_LIMIT));
    }
    if (!ggml_is_contiguous_1(a)) return refuse_gaps(0);
    tn_rule_result(node, a->type, b ? a->ne[0] : a->ne[0] / 2, a->ne[1], a->ne[2], a->ne[3]);
    if (!b) return true;
    if (!ggml_is_contiguous_1(b)) return refuse_gaps(1);
    return tn_rule_same_shape(node, 0, 1) && tn_rule_type(node, 1, a->type);
}

// One tensor.
static struct ggml_tensor * halves(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                   enum ggml_glu_op op, bool swapped) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_GLU, 1, a);
    tn_param_set_i32(&b.node, WORD_OP, (int32_t) op);
    tn_param_set_i32(&b.node, WORD_SWAPPED, swapped);
    return tn_build_finish(&b);
}

// Two tensors.
static struct ggml_tensor * split(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                  struct ggml_tensor * b, enum ggml_glu_op op) {
    struct tn_build n = tn_build_start(ctx, function, GGML_OP_GLU, 2, a, b);
    tn_param_set_i32(&n.node, WORD_OP, (int32_t) op);
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_glu(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_glu_op op,
                              bool swapped) {
    return halves(ctx, __func__, a, op, swapped);
}

struct ggml_tensor * ggml_glu_split(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                    enum ggml_glu_op op) {
    return split(ctx, __func__, a, b, op);
}

#define TN_BUILDERS_OWN(id, name)
#define TN_BUILDERS_ALL(id, name)                                                                            \
    struct ggml_tensor * ggml_##name(struct ggml_context * ctx, struct ggml_tensor * a) {                    \
        return halves(ctx, __func__, a, GGML_GLU_OP_##id, false);                                            \
    }                                                                                                        \
    struct ggml_tensor * ggml_##name##_swapped(struct ggml_context * ctx, struct ggml_tensor * a) {          \
        return halves(ctx, __func__, a, GGML_GLU_OP_##id, true);                                             \
    }                                                                                                        \
    struct ggml_tensor * ggml_##name##_split(struct ggml_context * ctx, struct ggml_tensor * a,              \
                                             struct ggml_tensor * b) {                                       \
        return split(ctx, __func__, a, b, GGML_GLU_OP_##id);                                                 \
    }
#define TN_ROW(id, name, builders) TN_BUILDERS_##builders(id, name)
#include "core/glu_ops.def"
#undef TN_ROW

static struct tn_build clamped_start(struct ggml_context * ctx, const char * function, struct ggml_tensor * a,
                                     struct ggml_tensor * b, enum ggml_glu_op op) {
    struct tn_build n = tn_build_start(ctx, function, GGML_OP_GLU, 1, a);
    tn_build_optional(&n, 1, b);
    tn_param_set_i32(&n.node, WORD_OP, (int32_t) op);
    return n;
}

struct ggml_tensor * ggml_swiglu_oai(struct ggml_context * ctx, struct ggml_tensor * a,
                                     struct ggml_tensor * b, float alpha, float limit) {
    struct tn_build n = clamped_start(ctx, __func__, a, b, GGML_GLU_OP_SWIGLU_OAI);
    tn_param_set_f32(&n.node, WORD_ALPHA, alpha);
    tn_param_set_f32(&n.node, WORD_LIMIT, limit);
    return tn_build_finish(&n);
}

struct ggml_tensor * ggml_swiglu_clamp(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b, float limit) {
    struct tn_build n = clamped_start(ctx, __func__, a, b, GGML_GLU_OP_SWIGLU_CLAMP);
    tn_param_set_f32(&n.node, WORD_LIMIT, limit);
    return tn_build_finish(&n);
}

static bool glu_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    struct ggml_context * ctx = tn_autodiff_ctx(ad);
    struct ggml_tensor * g = tn_autodiff_of(ad, node);
    struct ggml_tensor * a = node->src[0];
    struct ggml_tensor * b = node->src[1];
    const enum ggml_glu_op op = ggml_get_glu_op(node);
    if (op != GGML_GLU_OP_SWIGLU || !b) {
        return tn_refuse("%s of %s has no gradient", ggml_glu_op_name(op), b ? "two tensors" : "one tensor");
    }
    if (tn_autodiff_wants(ad, a)) tn_autodiff_add(ad, a, ggml_silu_back(ctx, ggml_mul(ctx, g, b), a));
    if (tn_autodiff_wants(ad, b)) tn_autodiff_add(ad, b, ggml_mul(ctx, ggml_silu(ctx, a), g));
    return true;
}

const struct tn_op tn_op_glu = { .rule = glu_rule, .backward = glu_backward, .n_src = 1 };
