// SPDX-License-Identifier: MIT
// arange, timestep_embedding: numbers made from a few parameters.
#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct arange {
    struct tn_operand y;
    float start, step;
};

static void arange_tile(const void * arg, const struct tn_tile * t) {
    const struct arange * s = arg;
    float buf[TN_TILE];
    for (int64_t i = 0; i < t->n; i++)
        buf[i] = s->start + s->step * (float) (t->i0 + i);
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, buf);
}

static enum ggml_status arange_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct arange s = { tn_operand_of(node), tn_param_f32(node, 0), tn_param_f32(node, 2) };
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ arange_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool is_f32(const struct ggml_tensor * node) {
    return node->type == GGML_TYPE_F32
               ? true
               : tn_refuse("a result of type %s, not f32", ggml_type_name(node->type));
}

struct timesteps {
    struct tn_operand y, t;
    int64_t half; // of the length of a row
    double log_period;
};

enum { COST = 60 };

// cos(t*w) in the first half, sin(t*w) in the second, w falling from 1 towards 1/max_period; an odd length
// ends in 0.
static void timestep_row(const struct timesteps * s, float * y, float t) {
    for (int64_t j = 0; j < s->half; j++) {
        const double angle = (double) t * exp(-s->log_period * (double) j / (double) s->half);
        y[j] = (float) cos(angle);
        y[j + s->half] = (float) sin(angle);
    }
    for (int64_t j = 2 * s->half; j < s->y.ne[0]; j++)
        y[j] = 0.0f;
}

static void timestep_part(const void * arg, const struct tn_cpu_part * part) {
    const struct timesteps * s = arg;
    float buf[1];
    for (int64_t i = part->begin; i < part->end; i++) {
        const float t = *tn_operand_load(&s->t, s->t.data, i, 1, buf);
        timestep_row(s, (float *) tn_operand_row(&s->y, i, 0, 0), t);
    }
}

static enum ggml_status timestep_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct timesteps s = {
        .y = tn_operand_of(node),
        .t = tn_operand_of(node->src[0]),
        .half = tn_param_i32(node, 0) / 2,
        .log_period = log((double) tn_param_i32(node, 1)),
    };
    tn_cpu_run_parts(run, s.t.ne[0], COST * s.y.ne[0], (struct tn_cpu_work){ timestep_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool timestep_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * t = node->src[0];
    if (!is_f32(node)) return false;
    if (!tn_operand_is_float(t->type)) return tn_refuse("time steps of type %s", ggml_type_name(t->type));
    if (!tn_operand_is_dense(node)) return tn_refuse("rows of the result must be contiguous");
    if (node->ne[0] != tn_param_i32(node, 0) || node->ne[1] != t->ne[0])
        return tn_refuse("the result has another shape");
    return tn_param_i32(node, 1) > 0 ? true : tn_refuse("max_period must be positive");
}

const struct tn_cpu_op tn_cpu_op_arange = { .supports = is_f32, .run = arange_run };
const struct tn_cpu_op tn_cpu_op_timestep_embedding = { .supports = timestep_supports, .run = timestep_run };
