// SPDX-License-Identifier: MIT
// Gated units: f(x)*y, x and y being the halves of a row or two tensors. Computed in f32, rounded once at the
// end.
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/map2/map2.h"
#include "cpu/op.h"
#include "cpu/operand.h"

enum { COST = 10 };

static void (*const maps[GGML_GLU_OP_COUNT])(int64_t n, float * y, const float * a, const float * b,
                                             const float * p) = {
    [GGML_GLU_OP_REGLU] = tn_map2_reglu,
    [GGML_GLU_OP_GEGLU] = tn_map2_geglu,
    [GGML_GLU_OP_SWIGLU] = tn_map2_swiglu,
    [GGML_GLU_OP_SWIGLU_OAI] = tn_map2_swiglu_oai,
    [GGML_GLU_OP_GEGLU_ERF] = tn_map2_geglu_erf,
    [GGML_GLU_OP_GEGLU_QUICK] = tn_map2_geglu_quick,
    [GGML_GLU_OP_SWIGLU_CLAMP] = tn_map2_swiglu_clamp,
};

struct glu {
    struct tn_operand y, gate, up;
    void (*map)(int64_t n, float * y, const float * a, const float * b, const float * p);
    float params[2];
};

static void run_tile(const void * arg, const struct tn_tile * t) {
    const struct glu * s = arg;
    float buf_a[TN_TILE], buf_b[TN_TILE], buf_y[TN_TILE];
    char * row = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const float * a = tn_operand_load(&s->gate, tn_operand_row_at(&s->gate, t), t->i0, t->n, buf_a);
    const float * b = tn_operand_load(&s->up, tn_operand_row_at(&s->up, t), t->i0, t->n, buf_b);
    float * y = tn_operand_target(&s->y, row, t->i0, buf_y);
    s->map(t->n, y, a, b, s->params);
    tn_operand_store(&s->y, row, t->i0, t->n, y);
}

static struct tn_operand half_of(const struct ggml_tensor * a, int which) {
    struct tn_operand x = tn_operand_of(a);
    x.ne[0] /= 2;
    x.data += (size_t) which * (size_t) x.ne[0] * x.nb[0];
    return x;
}

static enum ggml_status glu_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const int swapped = tn_param_i32(node, 1) != 0;
    struct glu s = { .y = tn_operand_of(node), .map = maps[tn_param_i32(node, 0)] };
    s.gate = node->src[1] ? tn_operand_of(a) : half_of(a, swapped);
    s.up = node->src[1] ? tn_operand_of(node->src[1]) : half_of(a, !swapped);
    for (int i = 0; i < 2; i++)
        s.params[i] = tn_param_f32(node, 2 + i);
    tn_operand_flatten((struct tn_operand *[]){ &s.y, &s.gate, &s.up }, 3);
    tn_operand_tiles(run, &s.y, COST, (struct tn_tile_work){ run_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool glu_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * b = node->src[1];
    const int32_t which = tn_param_i32(node, 0);
    if (which < 0 || which >= GGML_GLU_OP_COUNT) return tn_refuse("there is no gated unit %d", which);
    if (tn_operand_is_float(node->src[0]->type) && tn_operand_is_float(node->type) &&
        (!b || tn_operand_is_float(b->type))) {
        return true;
    }
    return tn_refuse("type %s: only f32, f16 and bf16 are computed with", ggml_type_name(node->src[0]->type));
}

const struct tn_cpu_op tn_cpu_op_glu = { .supports = glu_supports, .run = glu_run };
