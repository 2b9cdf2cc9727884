// SPDX-License-Identifier: MIT
// flash_attn_ext flash_attn_back: fused attention, and what is set on its result.
#include <inttypes.h>

#include "base/error.h"
#include "base/log.h"
#include "core/build.h"
#include "core/context.h"
#include "core/op.h"
#include "core/rule.h"

enum { Q, K, V, MASK, SINKS };

// op_params
enum { SCALE, MAX_BIAS, LOGIT_SOFTCAP, PREC, N_KV_MAX };

// A row for each query, or more; dimensions 2 and 3 repeat over heads and sequences.
static bool mask_fits(const struct ggml_tensor * node) {
    const struct ggml_tensor * mask = node->src[MASK];
    const struct ggml_tensor * q = node->src[Q];
    if (!mask) return tn_param_f32(node, MAX_BIAS) <= 0.0f || tn_refuse("max_bias above 0 needs a mask");
    if (!tn_rule_type(node, MASK, GGML_TYPE_F16) || !tn_rule_contiguous(node, MASK)) return false;
    if (!tn_rule_equal(node, MASK, 0, K, 1)) return false;
    if (mask->ne[1] < q->ne[1]) {
        return tn_refuse("src3 must have a row for each query: ne1 is %" PRId64 ", there are %" PRId64,
                         mask->ne[1], q->ne[1]);
    }
    return tn_rule_divides(node, MASK, 2, Q, 2) && tn_rule_divides(node, MASK, 3, Q, 3);
}

static bool sinks_fit(const struct ggml_tensor * node) {
    return tn_rule_type(node, SINKS, GGML_TYPE_F32) && tn_rule_equal(node, SINKS, 0, Q, 2) &&
           tn_rule_vector(node, SINKS);
}

static bool n_kv_max_fits(int32_t n) {
    return n >= 0 || tn_refuse("n_kv_max must not be negative, it is %d", n);
}

// q [D, N, H, S], k [D, M, Hk, S], v [Dv, M, Hv, S]: [Dv, H, N, S]
static bool flash_attn_ext_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * q = node->src[Q];
    if (!tn_rule_equal(node, K, 0, Q, 0) || !tn_rule_equal(node, V, 1, K, 1)) return false;
    if (!tn_rule_equal(node, K, 3, Q, 3) || !tn_rule_equal(node, V, 3, Q, 3)) return false;
    if (!tn_rule_divides(node, K, 2, Q, 2) || !tn_rule_divides(node, V, 2, Q, 2) || !mask_fits(node))
        return false;
    if (node->src[SINKS] && !sinks_fit(node)) return false;
    if (!n_kv_max_fits(tn_param_i32(node, N_KV_MAX))) return false;
    tn_rule_result(node, GGML_TYPE_F32, node->src[V]->ne[0], q->ne[2], q->ne[1], q->ne[3]);
    return true;
}

struct ggml_tensor * ggml_flash_attn_ext(struct ggml_context * ctx, struct ggml_tensor * q,
                                         struct ggml_tensor * k, struct ggml_tensor * v,
                                         struct ggml_tensor * mask, float scale, float max_bias,
                                         float logit_softcap) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_FLASH_ATTN_EXT, 3, q, k, v);
    tn_build_optional(&b, MASK, mask);
    tn_param_set_f32(&b.node, SCALE, scale);
    tn_param_set_f32(&b.node, MAX_BIAS, max_bias);
    tn_param_set_f32(&b.node, LOGIT_SOFTCAP, logit_softcap);
    return tn_build_finish(&b);
}

// --- what is set on the result. A setter cannot say no to its caller: it says so in the log and in this
// thread's error, and leaves the tensor as it was.

static bool is_attention(const struct ggml_tensor * t) {
    if (!t) return tn_refuse("the tensor is NULL");
    if (tn_tensor_is_poisoned(t))
        return tn_refuse("the tensor was refused before: %s", tn_context_poison_text(t));
    return t->op == GGML_OP_FLASH_ATTN_EXT ||
           tn_refuse("the tensor must be a result of ggml_flash_attn_ext, it is one of %s",
                     ggml_op_name(t->op));
}

static void refuse_setting(const char * function) {
    tn_error_prefix("%s", function);
    TN_LOG_ERROR("%s\n", tn_error_text());
}

static bool sinks_may_be(const struct ggml_tensor * a, struct ggml_tensor * sinks) {
    if (!is_attention(a)) return false;
    if (!sinks) return true;
    if (tn_tensor_is_poisoned(sinks))
        return tn_refuse("the sinks were refused before: %s", tn_context_poison_text(sinks));
    struct ggml_tensor changed = *a;
    changed.src[SINKS] = sinks;
    return sinks_fit(&changed);
}

void ggml_flash_attn_ext_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks) {
    if (sinks_may_be(a, sinks)) {
        a->src[SINKS] = sinks;
    } else {
        refuse_setting(__func__);
    }
}

void ggml_flash_attn_ext_set_n_kv_max(struct ggml_tensor * a, int32_t n_kv_max) {
    if (is_attention(a) && n_kv_max_fits(n_kv_max)) {
        tn_param_set_i32(a, N_KV_MAX, n_kv_max);
    } else {
        refuse_setting(__func__);
    }
}

void ggml_flash_attn_ext_set_prec(struct ggml_tensor * a, enum ggml_prec prec) {
    if (is_attention(a)) {
        tn_param_set_i32(a, PREC, (int32_t) prec);
    } else {
        refuse_setting(__func__);
    }
}

enum ggml_prec ggml_flash_attn_ext_get_prec(const struct ggml_tensor * a) {
    if (is_attention(a)) return (enum ggml_prec) tn_param_i32(a, PREC);
    refuse_setting(__func__);
    return GGML_PREC_DEFAULT;
}

// --- flash_attn_back: the number is reserved

static bool flash_attn_back_rule(struct ggml_tensor * node) {
    (void) node;
    return tn_refuse("fused attention has no gradient");
}

struct ggml_tensor * ggml_flash_attn_back(struct ggml_context * ctx, struct ggml_tensor * q,
                                          struct ggml_tensor * k, struct ggml_tensor * v,
                                          struct ggml_tensor * d, bool masked) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_FLASH_ATTN_BACK, 4, q, k, v, d);
    tn_param_set_i32(&b.node, 0, masked);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_flash_attn_ext = { .rule = flash_attn_ext_rule, .n_src = 3, .prec_acc = PREC + 1 };
const struct tn_op tn_op_flash_attn_back = { .rule = flash_attn_back_rule, .n_src = 4 };
