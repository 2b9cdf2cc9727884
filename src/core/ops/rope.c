// SPDX-License-Identifier: MIT
// Rotary position embedding and its inverse, by which its gradient is computed.
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "core/autodiff.h"
#include "core/build.h"
#include "core/context.h"
#include "core/op.h"
#include "core/rule.h"

enum { SRC_POSITIONS = 1, SRC_FACTORS = 2 };

enum {
    WORD_N_DIMS = 1,
    WORD_MODE,
    WORD_N_CTX_ORIG = 4,
    WORD_FREQ_BASE,
    WORD_FREQ_SCALE,
    WORD_EXT_FACTOR,
    WORD_ATTN_FACTOR,
    WORD_BETA_FAST,
    WORD_BETA_SLOW,
    WORD_SECTIONS,
    WORD_OFFSET = 15,
};

struct rope_params {
    int n_dims, mode, n_ctx_orig;
    float freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
    const int * sections; // NULL: all 0
};

// With sections, the pair m belongs to the section in which m modulo their sum lies.
static bool sections_rule(const struct ggml_tensor * node) {
    int64_t sum = 0;
    for (int i = 0; i < GGML_MROPE_SECTIONS; i++) {
        const int32_t n = tn_param_i32(node, WORD_SECTIONS + i);
        if (n < 0) return tn_refuse("sections[%d] must not be negative, it is %d", i, (int) n);
        sum += n;
    }
    return sum > 0 || tn_refuse("mode %d needs sections, all are 0", (int) tn_param_i32(node, WORD_MODE));
}

static bool positions_rule(const struct ggml_tensor * node, bool with_sections) {
    const int64_t given = node->src[SRC_POSITIONS]->ne[0], tokens = node->src[0]->ne[2];
    if (!tn_rule_type(node, SRC_POSITIONS, GGML_TYPE_I32) || !tn_rule_vector(node, SRC_POSITIONS))
        return false;
    if (!with_sections) return tn_rule_equal(node, SRC_POSITIONS, 0, 0, 2);
    if (given % 4 == 0 && given / 4 == tokens) return true;
    return tn_refuse("src1 must have 4 positions for each of the %" PRId64 " tokens of src0, it has %" PRId64,
                     tokens, given);
}

static bool factors_rule(const struct ggml_tensor * node) {
    const int32_t n_dims = tn_param_i32(node, WORD_N_DIMS);
    const int64_t n = node->src[SRC_FACTORS]->ne[0];
    if (!tn_rule_type(node, SRC_FACTORS, GGML_TYPE_F32) || !tn_rule_some(node, SRC_FACTORS)) return false;
    return n >= n_dims / 2 || tn_refuse("src2 must have a factor for each of the %d pairs, it has %" PRId64,
                                        (int) n_dims / 2, n);
}

static bool rope_rule(struct ggml_tensor * node) {
    const int32_t mode = tn_param_i32(node, WORD_MODE);
    const bool with_sections = (mode & GGML_ROPE_TYPE_MROPE) != 0;
    tn_rule_like(node, 0);
    if (mode & 1) return tn_refuse("mode %d: bit 0 must not be set", (int) mode);
    return positions_rule(node, with_sections) && (!with_sections || sections_rule(node)) &&
           (!node->src[SRC_FACTORS] || factors_rule(node));
}

static void write_params(struct ggml_tensor * node, const struct rope_params * p) {
    tn_param_set_i32(node, WORD_N_DIMS, p->n_dims);
    tn_param_set_i32(node, WORD_MODE, p->mode);
    tn_param_set_i32(node, WORD_N_CTX_ORIG, p->n_ctx_orig);
    tn_param_set_f32(node, WORD_FREQ_BASE, p->freq_base);
    tn_param_set_f32(node, WORD_FREQ_SCALE, p->freq_scale);
    tn_param_set_f32(node, WORD_EXT_FACTOR, p->ext_factor);
    tn_param_set_f32(node, WORD_ATTN_FACTOR, p->attn_factor);
    tn_param_set_f32(node, WORD_BETA_FAST, p->beta_fast);
    tn_param_set_f32(node, WORD_BETA_SLOW, p->beta_slow);
    for (int i = 0; p->sections && p->mode & GGML_ROPE_TYPE_MROPE && i < GGML_MROPE_SECTIONS; i++) {
        tn_param_set_i32(node, WORD_SECTIONS + i, p->sections[i]);
    }
}

struct rope_call {
    struct ggml_context * ctx;
    const char * function;
    enum ggml_op op;
    struct ggml_tensor *a, *b, *c;
    bool in_place;
};

static struct ggml_tensor * rope(const struct rope_call * call, const struct rope_params * p) {
    struct tn_build n = tn_build_start(call->ctx, call->function, call->op, 2, call->a, call->b);
    tn_build_optional(&n, SRC_FACTORS, call->c);
    write_params(&n.node, p);
    if (call->in_place) tn_build_in_place(&n, call->a);
    return tn_build_finish(&n);
}

static const struct rope_params plain = { .freq_base = 10000.0f, .freq_scale = 1.0f, .attn_factor = 1.0f };

struct ggml_tensor * ggml_rope(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                               int n_dims, int mode) {
    struct rope_params p = plain;
    p.n_dims = n_dims;
    p.mode = mode;
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE, a, b, NULL, false }, &p);
}

struct ggml_tensor * ggml_rope_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b, int n_dims, int mode) {
    struct rope_params p = plain;
    p.n_dims = n_dims;
    p.mode = mode;
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE, a, b, NULL, true }, &p);
}

// The parameters that the builders below have in common, gathered under their names.
#define TN_ROPE_PARAMS(sections_)                                                                            \
    &(const struct rope_params) {                                                                            \
        n_dims, mode, n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow,      \
            sections_                                                                                        \
    }

struct ggml_tensor * ggml_rope_ext(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                   struct ggml_tensor * c, int n_dims, int mode, int n_ctx_orig,
                                   float freq_base, float freq_scale, float ext_factor, float attn_factor,
                                   float beta_fast, float beta_slow) {
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE, a, b, c, false }, TN_ROPE_PARAMS(NULL));
}

struct ggml_tensor * ggml_rope_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                           struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                           int mode, int n_ctx_orig, float freq_base, float freq_scale,
                                           float ext_factor, float attn_factor, float beta_fast,
                                           float beta_slow) {
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE, a, b, c, true }, TN_ROPE_PARAMS(NULL));
}

struct ggml_tensor * ggml_rope_multi(struct ggml_context * ctx, struct ggml_tensor * a,
                                     struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                     int sections[GGML_MROPE_SECTIONS], int mode, int n_ctx_orig,
                                     float freq_base, float freq_scale, float ext_factor, float attn_factor,
                                     float beta_fast, float beta_slow) {
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE, a, b, c, false }, TN_ROPE_PARAMS(sections));
}

struct ggml_tensor * ggml_rope_multi_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                             struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                             int sections[GGML_MROPE_SECTIONS], int mode, int n_ctx_orig,
                                             float freq_base, float freq_scale, float ext_factor,
                                             float attn_factor, float beta_fast, float beta_slow) {
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE, a, b, c, true }, TN_ROPE_PARAMS(sections));
}

struct ggml_tensor * ggml_rope_custom(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * b, int n_dims, int mode, int n_ctx_orig,
                                      float freq_base, float freq_scale, float ext_factor, float attn_factor,
                                      float beta_fast, float beta_slow) {
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE, a, b, NULL, false }, TN_ROPE_PARAMS(NULL));
}

struct ggml_tensor * ggml_rope_custom_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * b, int n_dims, int mode, int n_ctx_orig,
                                              float freq_base, float freq_scale, float ext_factor,
                                              float attn_factor, float beta_fast, float beta_slow) {
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE, a, b, NULL, true }, TN_ROPE_PARAMS(NULL));
}

struct ggml_tensor * ggml_rope_ext_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                        struct ggml_tensor * b, struct ggml_tensor * c, int n_dims, int mode,
                                        int n_ctx_orig, float freq_base, float freq_scale, float ext_factor,
                                        float attn_factor, float beta_fast, float beta_slow) {
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE_BACK, a, b, c, false },
                TN_ROPE_PARAMS(NULL));
}

struct ggml_tensor * ggml_rope_multi_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                          struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                          int sections[GGML_MROPE_SECTIONS], int mode, int n_ctx_orig,
                                          float freq_base, float freq_scale, float ext_factor,
                                          float attn_factor, float beta_fast, float beta_slow) {
    return rope(&(struct rope_call){ ctx, __func__, GGML_OP_ROPE_BACK, a, b, c, false },
                TN_ROPE_PARAMS(sections));
}

static bool offset_fits(const struct ggml_tensor * a, int n_offs) {
    if (!a || (a->op != GGML_OP_ROPE && a->op != GGML_OP_ROPE_BACK)) {
        return tn_refuse("the tensor must be a result of ROPE or ROPE_BACK, it is one of %s",
                         ggml_op_desc(a));
    }
    const int32_t mode = tn_param_i32(a, WORD_MODE);
    const int64_t end = (int64_t) n_offs + tn_param_i32(a, WORD_N_DIMS);
    if (mode == GGML_ROPE_TYPE_VISION && n_offs != 0)
        return tn_refuse("mode VISION rotates whole rows, offset %d", n_offs);
    if (n_offs >= 0 && n_offs % 2 == 0 && end <= a->ne[0]) return true;
    return tn_refuse("offset %d must be even, and %" PRId64 " channels with it at most ne[0] = %" PRId64,
                     n_offs, end, a->ne[0]);
}

struct ggml_tensor * ggml_rope_set_offset(struct ggml_tensor * a, int n_offs) {
    if (a && tn_tensor_is_poisoned(a)) return a;
    if (!offset_fits(a, n_offs)) return tn_build_spoil(a, __func__);
    tn_param_set_i32(a, WORD_OFFSET, n_offs);
    return a;
}

// The pair that makes `turns` turns in n_ctx_orig positions, as a real number.
static float pair_of(int n_dims, int n_ctx_orig, float freq_base, float turns) {
    return (float) n_dims * logf((float) n_ctx_orig / (turns * 2.0f * 3.14159265358979f)) /
           (2.0f * logf(freq_base));
}

void ggml_rope_yarn_corr_dims(int n_dims, int n_ctx_orig, float freq_base, float beta_fast, float beta_slow,
                              float dims[2]) {
    dims[0] = fmaxf(0.0f, floorf(pair_of(n_dims, n_ctx_orig, freq_base, beta_fast)));
    dims[1] = fminf((float) n_dims - 1.0f, ceilf(pair_of(n_dims, n_ctx_orig, freq_base, beta_slow)));
}

static bool rope_backward(struct tn_autodiff * ad, struct ggml_tensor * node) {
    if (tn_autodiff_wants(ad, node->src[SRC_FACTORS]))
        return tn_refuse("there is no gradient for the frequency factors");
    struct tn_build n = tn_build_start(tn_autodiff_ctx(ad), "ggml_rope_ext_back", GGML_OP_ROPE_BACK, 2,
                                       tn_autodiff_of(ad, node), node->src[SRC_POSITIONS]);
    tn_build_optional(&n, SRC_FACTORS, node->src[SRC_FACTORS]);
    memcpy(n.node.op_params, node->op_params, sizeof(n.node.op_params)); // the offset too
    tn_autodiff_add(ad, node->src[0], tn_build_finish(&n));
    return true;
}

const struct tn_op tn_op_rope = { .rule = rope_rule, .backward = rope_backward, .n_src = 2, .may_reuse = 1 };
const struct tn_op tn_op_rope_back = { .rule = rope_rule, .n_src = 2, .may_reuse = 1 };
