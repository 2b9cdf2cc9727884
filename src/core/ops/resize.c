// SPDX-License-Identifier: MIT
// upscale: interpolation to other sizes.
#include <inttypes.h>

#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

enum { MODE_BITS = 0xff, FLAGS = GGML_SCALE_FLAG_ALIGN_CORNERS | GGML_SCALE_FLAG_ANTIALIAS };

static bool mode_is_valid(int32_t word) {
    const int mode = word & MODE_BITS;
    if (mode >= GGML_SCALE_MODE_COUNT || (word & ~(MODE_BITS | FLAGS))) {
        return tn_refuse("the mode must be a scale mode and flags, is %#x", (unsigned) word);
    }
    if ((word & GGML_SCALE_FLAG_ANTIALIAS) && mode != GGML_SCALE_MODE_BILINEAR) {
        return tn_refuse("the mode must be bilinear where the antialias flag is set, is %#x",
                         (unsigned) word);
    }
    return true;
}

static bool upscale_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    if (!tn_rule_type(node, 0, GGML_TYPE_F32) || !mode_is_valid(tn_param_i32(node, 0))) return false;
    if (tn_shape_empty(a) && !tn_shape_empty(node))
        return tn_refuse("src0 must not be empty: there is nothing to interpolate");
    node->type = GGML_TYPE_F32;
    return true;
}

static struct ggml_tensor * interpolate(struct ggml_context * ctx, const char * function,
                                        struct ggml_tensor * a, const int64_t * ne, int32_t mode) {
    struct tn_build b = tn_build_start(ctx, function, GGML_OP_UPSCALE, 1, a);
    tn_shape_copy(b.node.ne, ne);
    tn_param_set_i32(&b.node, 0, mode);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_interpolate(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                      int64_t ne1, int64_t ne2, int64_t ne3, uint32_t mode) {
    return interpolate(ctx, __func__, a, (const int64_t[]){ ne0, ne1, ne2, ne3 }, (int32_t) mode);
}

struct ggml_tensor * ggml_upscale_ext(struct ggml_context * ctx, struct ggml_tensor * a, int ne0, int ne1,
                                      int ne2, int ne3, enum ggml_scale_mode mode) {
    return interpolate(ctx, __func__, a, (const int64_t[]){ ne0, ne1, ne2, ne3 }, (int32_t) mode);
}

struct ggml_tensor * ggml_upscale(struct ggml_context * ctx, struct ggml_tensor * a, int scale_factor,
                                  enum ggml_scale_mode mode) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_UPSCALE, 1, a);
    tn_param_set_i32(&b.node, 0, (int32_t) mode);
    if (scale_factor <= 1) tn_build_refuse(&b, "scale_factor must be above 1, is %d", scale_factor);
    for (int d = 0; d < 2 && !b.refused; d++) {
        if (tn_i64_mul(b.node.ne[d], scale_factor, &b.node.ne[d])) continue;
        tn_build_refuse(&b, "dimension %d, %" PRId64 ", times %d is 2^63 or more", d, b.node.ne[d],
                        scale_factor);
    }
    return tn_build_finish(&b);
}

const struct tn_op tn_op_upscale = { .rule = upscale_rule, .n_src = 1 };
