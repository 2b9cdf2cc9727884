// SPDX-License-Identifier: MIT
// arange, timestep_embedding, fill: values that come from parameters.
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "core/build.h"
#include "core/op.h"
#include "core/rule.h"

// The count is taken in single precision, as the interface has it: 0 to 0.3 by 0.1 gives 3 values.
static bool arange_rule(struct ggml_tensor * node) {
    const float start = tn_param_f32(node, 0), stop = tn_param_f32(node, 1), step = tn_param_f32(node, 2);
    if (!(stop > start))
        return tn_refuse("stop must be above start: they are %g and %g", (double) stop, (double) start);
    if (!(step > 0.0f)) return tn_refuse("step must be above 0, is %g", (double) step);
    const float count = ceilf((stop - start) / step);
    if (!(count < 0x1p62f)) {
        return tn_refuse("the number of values from %g to %g by %g must be below 2^62", (double) start,
                         (double) stop, (double) step);
    }
    node->type = GGML_TYPE_F32;
    tn_shape_set(node->ne, (int64_t) count, 1, 1, 1);
    return true;
}

struct ggml_tensor * ggml_arange(struct ggml_context * ctx, float start, float stop, float step) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_ARANGE, 0);
    tn_param_set_f32(&b.node, 0, start);
    tn_param_set_f32(&b.node, 1, stop);
    tn_param_set_f32(&b.node, 2, step);
    return tn_build_finish(&b);
}

static bool timestep_embedding_rule(struct ggml_tensor * node) {
    const int32_t dim = tn_param_i32(node, 0), max_period = tn_param_i32(node, 1);
    if (dim < 1) return tn_refuse("dim must be above 0, is %d", dim);
    if (max_period < 1) return tn_refuse("max_period must be above 0, is %d", max_period);
    if (!tn_rule_vector(node, 0)) return false;
    node->type = GGML_TYPE_F32;
    tn_shape_set(node->ne, dim, node->src[0]->ne[0], 1, 1);
    return true;
}

struct ggml_tensor * ggml_timestep_embedding(struct ggml_context * ctx, struct ggml_tensor * timesteps,
                                             int dim, int max_period) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_TIMESTEP_EMBEDDING, 1, timesteps);
    tn_param_set_i32(&b.node, 0, dim);
    tn_param_set_i32(&b.node, 1, max_period);
    return tn_build_finish(&b);
}

static bool fill_rule(struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    if (a->type != GGML_TYPE_F32 && a->type != GGML_TYPE_F16) {
        return tn_refuse("src0 must be f32 or f16, is %s", ggml_type_name(a->type));
    }
    if (!tn_rule_contiguous(node, 0)) return false;
    node->type = a->type;
    tn_shape_copy(node->ne, a->ne);
    return true;
}

struct ggml_tensor * ggml_fill(struct ggml_context * ctx, struct ggml_tensor * a, float c) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_FILL, 1, a);
    tn_param_set_f32(&b.node, 0, c);
    return tn_build_finish(&b);
}

struct ggml_tensor * ggml_fill_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float c) {
    struct tn_build b = tn_build_start(ctx, __func__, GGML_OP_FILL, 1, a);
    tn_param_set_f32(&b.node, 0, c);
    tn_build_in_place(&b, a);
    return tn_build_finish(&b);
}

const struct tn_op tn_op_arange = { .rule = arange_rule };
const struct tn_op tn_op_timestep_embedding = { .rule = timestep_embedding_rule, .n_src = 1 };
const struct tn_op tn_op_fill = { .rule = fill_rule, .n_src = 1, .may_reuse = 1 };
