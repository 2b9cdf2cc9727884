// SPDX-License-Identifier: MIT
// get_rows, set_rows, get_rows_back, add_id: rows chosen by indices. All indices are looked at before
// anything is written.
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "cpu/index.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/kernels/map2/map2.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct rows {
    struct tn_operand y, x, index;
};

static void get_tile(const void * arg, const struct tn_tile * t) {
    const struct rows * s = arg;
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const char * from = tn_operand_row(&s->x, tn_index_get(&s->index, t->i1, t->i2, t->i3), t->i2, t->i3);
    if (s->x.type == s->y.type) {
        const size_t size = ggml_type_size(s->y.type);
        tn_convert_move(t->n, size, to + (size_t) t->i0 * s->y.nb[0], s->y.nb[0],
                        from + (size_t) t->i0 * s->x.nb[0], s->x.nb[0]);
        return;
    }
    float buf[TN_TILE];
    tn_operand_store(&s->y, to, t->i0, t->n, tn_operand_load(&s->x, from, t->i0, t->n, buf));
}

static enum ggml_status get_rows_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct rows s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_operand_of(node->src[1]) };
    TN_TRY(tn_index_check(&s.index, s.x.ne[1], "the source", "rows"));
    tn_operand_tiles(run, &s.y, 2, (struct tn_tile_work){ get_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool get_rows_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * x = node->src[0];
    if (node->src[1]->type != GGML_TYPE_I32) return tn_refuse("indices must be i32");
    if (x->type == GGML_TYPE_I32 && node->type == GGML_TYPE_I32) return true;
    if (ggml_is_quantized(x->type) && !tn_operand_is_dense(x))
        return tn_refuse("quantised rows must be contiguous");
    if (tn_operand_can_load(x->type) && x->type != GGML_TYPE_I32 && node->type == GGML_TYPE_F32) return true;
    return tn_refuse("there is no decoder from %s to %s", ggml_type_name(x->type),
                     ggml_type_name(node->type));
}

// A column of tiles: all rows of one matrix are written by one thread in order, so that of two rows with the
// same index the later one stays.
struct set_rows {
    struct tn_operand y, x, index;
    int64_t n_tiles;
};

static void set_column(const struct set_rows * s, int64_t i0, int64_t i2, int64_t i3) {
    const int64_t n = tn_min_i64(TN_TILE, s->x.ne[0] - i0);
    float buf[TN_TILE];
    for (int64_t i = 0; i < s->x.ne[1]; i++) {
        const int64_t row = tn_index_get(&s->index, i, i2 % s->index.ne[1], i3 % s->index.ne[2]);
        const float * v = tn_operand_load(&s->x, tn_operand_row(&s->x, i, i2, i3), i0, n, buf);
        tn_operand_store(&s->y, tn_operand_row(&s->y, row, i2, i3), i0, n, v);
    }
}

static void set_part(const void * arg, const struct tn_cpu_part * part) {
    const struct set_rows * s = arg;
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t matrix = u / s->n_tiles;
        set_column(s, u % s->n_tiles * TN_TILE, matrix % s->x.ne[2], matrix / s->x.ne[2]);
    }
}

static enum ggml_status set_rows_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct set_rows s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_operand_of(node->src[1]), 0 };
    TN_TRY(tn_index_check(&s.index, s.y.ne[1], "the destination", "rows"));
    s.n_tiles = tn_ceil_div(s.x.ne[0], TN_TILE);
    const int64_t cost = 4 * s.x.ne[1] * tn_min_i64(s.x.ne[0], TN_TILE);
    tn_cpu_run_parts(run, s.n_tiles * s.x.ne[2] * s.x.ne[3], cost, (struct tn_cpu_work){ set_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool set_rows_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * x = node->src[0];
    const struct ggml_tensor * index = node->src[1];
    if (index->type != GGML_TYPE_I32 && index->type != GGML_TYPE_I64)
        return tn_refuse("indices must be i32 or i64");
    if (!tn_operand_is_float(x->type)) return tn_refuse("rows of type %s", ggml_type_name(x->type));
    if (!tn_operand_can_store(node->type))
        return tn_refuse("there is no encoder into %s", ggml_type_name(node->type));
    if (ggml_is_quantized(node->type) && !tn_operand_is_dense(node))
        return tn_refuse("quantised rows must be contiguous");
    return true;
}

// --- get_rows_back: rows are added to those of a matrix of zeros

enum { COLUMN = 64 }; // elements of a row that one thread adds, so that short rows keep several threads busy

static void add_column(const struct rows * s, int64_t i0) {
    const int64_t n = tn_min_i64(COLUMN, s->y.ne[0] - i0);
    float buf[TN_TILE];
    for (int64_t i = 0; i < s->y.ne[1]; i++)
        memset((float *) tn_operand_row(&s->y, i, 0, 0) + i0, 0, (size_t) n * sizeof(float));
    for (int64_t i = 0; i < s->x.ne[1]; i++) {
        const float * v = tn_operand_load(&s->x, tn_operand_row(&s->x, i, 0, 0), i0, n, buf);
        float * y = (float *) tn_operand_row(&s->y, tn_index_get(&s->index, i, 0, 0), 0, 0) + i0;
        tn_map2_add(n, y, y, v, NULL);
    }
}

static void add_part(const void * arg, const struct tn_cpu_part * part) {
    for (int64_t u = part->begin; u < part->end; u++)
        add_column(arg, u * COLUMN);
}

static enum ggml_status get_rows_back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct rows s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_operand_of(node->src[1]) };
    TN_TRY(tn_index_check(&s.index, s.y.ne[1], "the result", "rows"));
    const int64_t cost = (s.x.ne[1] + s.y.ne[1]) * tn_min_i64(COLUMN, s.y.ne[0]);
    tn_cpu_run_parts(run, tn_ceil_div(s.y.ne[0], COLUMN), cost, (struct tn_cpu_work){ add_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool get_rows_back_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * x = node->src[0];
    if (!tn_operand_is_float(x->type)) return tn_refuse("rows of type %s", ggml_type_name(x->type));
    return tn_operand_is_dense(node) ? true : tn_refuse("rows of the result must be contiguous");
}

// --- add_id: each row gets the row of b that its index names

struct add_id {
    struct tn_operand y, a, b, index;
};

static void add_id_tile(const void * arg, const struct tn_tile * t) {
    const struct add_id * s = arg;
    float buf_a[TN_TILE], buf_b[TN_TILE], buf_y[TN_TILE];
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const char * row = tn_operand_row(&s->b, tn_index_get(&s->index, t->i1, t->i2, 0), 0, 0);
    const float * a = tn_operand_load(&s->a, tn_operand_row_at(&s->a, t), t->i0, t->n, buf_a);
    float * y = tn_operand_target(&s->y, to, t->i0, buf_y);
    tn_map2_add(t->n, y, a, tn_operand_load(&s->b, row, t->i0, t->n, buf_b), NULL);
    tn_operand_store(&s->y, to, t->i0, t->n, y);
}

static enum ggml_status add_id_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct add_id s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_operand_of(node->src[1]),
                              tn_operand_of(node->src[2]) };
    TN_TRY(tn_index_check(&s.index, s.b.ne[1], "src1", "rows"));
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ add_id_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool add_id_supports(const struct ggml_tensor * node) {
    const enum ggml_type a = node->src[0]->type, b = node->src[1]->type;
    if (tn_operand_is_float(a) && tn_operand_is_float(b)) return true;
    return tn_refuse("types %s and %s: only f32, f16 and bf16 are added", ggml_type_name(a),
                     ggml_type_name(b));
}

const struct tn_cpu_op tn_cpu_op_get_rows = { .supports = get_rows_supports, .run = get_rows_run };
const struct tn_cpu_op tn_cpu_op_set_rows = { .supports = set_rows_supports, .run = set_rows_run };
const struct tn_cpu_op tn_cpu_op_get_rows_back = { .supports = get_rows_back_supports,
                                                   .run = get_rows_back_run };
const struct tn_cpu_op tn_cpu_op_add_id = { .supports = add_id_supports, .run = add_id_run };
