// SPDX-License-Identifier: MIT
// diag_mask_inf, diag_mask_zero: elements right of the (shifted) diagonal are replaced. tri: a triangle is
// kept. diag: a row becomes a diagonal.
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct mask {
    struct tn_operand y, x;
    int64_t n_past;
    float value;
};

static void run_tile(const void * arg, const struct tn_tile * t) {
    const struct mask * s = arg;
    float buf_x[TN_TILE], buf_y[TN_TILE];
    char * row = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const float * x = tn_operand_load(&s->x, tn_operand_row_at(&s->x, t), t->i0, t->n, buf_x);
    float * y = tn_operand_target(&s->y, row, t->i0, buf_y);
    const int64_t kept = s->n_past + t->i1 + 1 - t->i0; // elements of the tile that stay
    for (int64_t i = 0; i < t->n; i++)
        y[i] = i < kept ? x[i] : s->value;
    tn_operand_store(&s->y, row, t->i0, t->n, y);
}

static enum ggml_status run_mask(struct tn_cpu_run * run, struct ggml_tensor * node, float value) {
    const struct mask s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_param_i32(node, 0), value };
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ run_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status inf_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_mask(run, node, -INFINITY);
}

static enum ggml_status zero_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_mask(run, node, 0.0f);
}

static bool floats(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->src[0]->type) && tn_operand_is_float(node->type)) return true;
    return tn_refuse("type %s: only f32, f16 and bf16 are masked", ggml_type_name(node->src[0]->type));
}

// --- tri

struct triangle {
    struct tn_operand y, x;
    bool upper; // keeps i0 >= i1 + shift, else i0 < i1 + shift
    int64_t shift;
};

// The four kinds: with and without the diagonal, above and below it.
static struct triangle triangle_of(const struct ggml_tensor * node) {
    const int32_t kind = tn_param_i32(node, 0);
    return (struct triangle){
        .y = tn_operand_of(node),
        .x = tn_operand_of(node->src[0]),
        .upper = kind == GGML_TRI_TYPE_UPPER_DIAG || kind == GGML_TRI_TYPE_UPPER,
        .shift = kind == GGML_TRI_TYPE_UPPER || kind == GGML_TRI_TYPE_LOWER_DIAG,
    };
}

static void tri_tile(const void * arg, const struct tn_tile * t) {
    const struct triangle * s = arg;
    float buf_x[TN_TILE], buf_y[TN_TILE];
    char * row = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const float * x = tn_operand_load(&s->x, tn_operand_row_at(&s->x, t), t->i0, t->n, buf_x);
    float * y = tn_operand_target(&s->y, row, t->i0, buf_y);
    const int64_t border = t->i1 + s->shift - t->i0; // the first element of the tile that is right of it
    for (int64_t i = 0; i < t->n; i++)
        y[i] = (i >= border) == s->upper ? x[i] : 0.0f;
    tn_operand_store(&s->y, row, t->i0, t->n, y);
}

static enum ggml_status tri_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct triangle s = triangle_of(node);
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ tri_tile, &s });
    return GGML_STATUS_SUCCESS;
}

// --- diag

struct diag {
    struct tn_operand y, x;
    size_t size;
};

// A zero is all bits 0 in every type without blocks.
static void diag_tile(const void * arg, const struct tn_tile * t) {
    static const char zero[8] = { 0 };
    const struct diag * s = arg;
    char * row = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    tn_convert_move(t->n, s->size, row + (size_t) t->i0 * s->y.nb[0], s->y.nb[0], zero, 0);
    if (t->i1 < t->i0 || t->i1 >= t->i0 + t->n) return;
    memcpy(row + (size_t) t->i1 * s->y.nb[0],
           tn_operand_row(&s->x, 0, t->i2, t->i3) + (size_t) t->i1 * s->x.nb[0], s->size);
}

static enum ggml_status diag_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct diag s = { tn_operand_of(node), tn_operand_of(node->src[0]), ggml_type_size(node->type) };
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ diag_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool diag_supports(const struct ggml_tensor * node) {
    if (ggml_blck_size(node->type) == 1) return true;
    return tn_refuse("type %s has blocks", ggml_type_name(node->type));
}

const struct tn_cpu_op tn_cpu_op_diag = { .supports = diag_supports, .run = diag_run };
const struct tn_cpu_op tn_cpu_op_tri = { .supports = floats, .run = tri_run };
const struct tn_cpu_op tn_cpu_op_diag_mask_inf = { .supports = floats, .run = inf_run };
const struct tn_cpu_op tn_cpu_op_diag_mask_zero = { .supports = floats, .run = zero_run };
