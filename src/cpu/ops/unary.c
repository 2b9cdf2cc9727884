// SPDX-License-Identifier: MIT
// Maps of one argument: UNARY and the operators that are one. Computed in f32, rounded once at the end.
#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/map1/map1.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct map {
    void (*run)(int64_t n, float * y, const float * x, const float * p);
    int cost; // of an element: 1 for arithmetic, more for what libm does
};

struct unary {
    struct tn_operand y, x;
    const struct map * map;
    float params[4];
};

static const struct map unary_maps[GGML_UNARY_OP_COUNT] = {
    [GGML_UNARY_OP_ABS] = { tn_map1_abs, 1 },
    [GGML_UNARY_OP_SGN] = { tn_map1_sgn, 1 },
    [GGML_UNARY_OP_NEG] = { tn_map1_neg, 1 },
    [GGML_UNARY_OP_STEP] = { tn_map1_step, 1 },
    [GGML_UNARY_OP_TANH] = { tn_map1_tanh, 16 },
    [GGML_UNARY_OP_ELU] = { tn_map1_elu, 8 },
    [GGML_UNARY_OP_RELU] = { tn_map1_relu, 1 },
    [GGML_UNARY_OP_SIGMOID] = { tn_map1_sigmoid, 8 },
    [GGML_UNARY_OP_GELU] = { tn_map1_gelu, 8 },
    [GGML_UNARY_OP_GELU_QUICK] = { tn_map1_gelu_quick, 8 },
    [GGML_UNARY_OP_SILU] = { tn_map1_silu, 8 },
    [GGML_UNARY_OP_HARDSWISH] = { tn_map1_hardswish, 2 },
    [GGML_UNARY_OP_HARDSIGMOID] = { tn_map1_hardsigmoid, 2 },
    [GGML_UNARY_OP_EXP] = { tn_map1_exp, 8 },
    [GGML_UNARY_OP_EXPM1] = { tn_map1_expm1, 8 },
    [GGML_UNARY_OP_SOFTPLUS] = { tn_map1_softplus, 16 },
    [GGML_UNARY_OP_GELU_ERF] = { tn_map1_gelu_erf, 16 },
    [GGML_UNARY_OP_XIELU] = { tn_map1_xielu, 8 },
    [GGML_UNARY_OP_FLOOR] = { tn_map1_floor, 2 },
    [GGML_UNARY_OP_CEIL] = { tn_map1_ceil, 2 },
    [GGML_UNARY_OP_ROUND] = { tn_map1_round, 2 },
    [GGML_UNARY_OP_TRUNC] = { tn_map1_trunc, 2 },
};

static void run_tile(const void * arg, const struct tn_tile * t) {
    const struct unary * s = arg;
    float buf_x[TN_TILE], buf_y[TN_TILE];
    char * row = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const float * x = tn_operand_load(&s->x, tn_operand_row_at(&s->x, t), t->i0, t->n, buf_x);
    float * y = tn_operand_target(&s->y, row, t->i0, buf_y);
    s->map->run(t->n, y, x, s->params);
    tn_operand_store(&s->y, row, t->i0, t->n, y);
}

// The n_params words of op_params from word first on are the map's parameters.
static enum ggml_status run_map(struct tn_cpu_run * run, struct ggml_tensor * node, const struct map * map,
                                int first, int n_params) {
    struct unary s = { .y = tn_operand_of(node), .x = tn_operand_of(node->src[0]), .map = map };
    for (int i = 0; i < n_params; i++)
        s.params[i] = tn_param_f32(node, first + i);
    tn_operand_flatten((struct tn_operand *[]){ &s.y, &s.x }, 2);
    tn_operand_tiles(run, &s.y, map->cost, (struct tn_tile_work){ run_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool floats(const struct ggml_tensor * node) {
    const enum ggml_type x = node->src[0]->type;
    if (tn_operand_is_float(x) && tn_operand_is_float(node->type)) return true;
    return tn_refuse("type %s with result %s: only f32, f16 and bf16 are computed with", ggml_type_name(x),
                     ggml_type_name(node->type));
}

static bool unary_supports(const struct ggml_tensor * node) {
    const int32_t which = tn_param_i32(node, 0);
    if (which < 0 || which >= GGML_UNARY_OP_COUNT) return tn_refuse("there is no unary function %d", which);
    return floats(node);
}

static enum ggml_status unary_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &unary_maps[tn_param_i32(node, 0)], 1, 4);
}

static enum ggml_status sqr_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_sqr, 1 }, 0, 0);
}

static enum ggml_status sqrt_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_sqrt, 2 }, 0, 0);
}

static enum ggml_status log_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_log, 8 }, 0, 0);
}

static enum ggml_status sin_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_sin, 12 }, 0, 0);
}

static enum ggml_status cos_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_cos, 12 }, 0, 0);
}

static enum ggml_status scale_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_scale, 1 }, 0, 2);
}

static enum ggml_status clamp_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_clamp, 1 }, 0, 2);
}

static enum ggml_status leaky_relu_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_leaky_relu, 1 }, 0, 1);
}

static enum ggml_status fill_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_map(run, node, &(struct map){ tn_map1_fill, 1 }, 0, 1);
}

const struct tn_cpu_op tn_cpu_op_unary = { .supports = unary_supports, .run = unary_run };
const struct tn_cpu_op tn_cpu_op_sqr = { .supports = floats, .run = sqr_run };
const struct tn_cpu_op tn_cpu_op_sqrt = { .supports = floats, .run = sqrt_run };
const struct tn_cpu_op tn_cpu_op_log = { .supports = floats, .run = log_run };
const struct tn_cpu_op tn_cpu_op_sin = { .supports = floats, .run = sin_run };
const struct tn_cpu_op tn_cpu_op_cos = { .supports = floats, .run = cos_run };
const struct tn_cpu_op tn_cpu_op_scale = { .supports = floats, .run = scale_run };
const struct tn_cpu_op tn_cpu_op_clamp = { .supports = floats, .run = clamp_run };
const struct tn_cpu_op tn_cpu_op_leaky_relu = { .supports = floats, .run = leaky_relu_run };
const struct tn_cpu_op tn_cpu_op_fill = { .supports = floats, .run = fill_run };
