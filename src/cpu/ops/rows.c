// SPDX-License-Identifier: MIT
// get_rows, set_rows: rows chosen by indices. All indices are looked at before anything is written.
#include <inttypes.h>

#include "base/bits.h"
#include "base/error.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct rows {
    struct tn_operand y, x, index;
};

static int64_t index_at(const struct tn_operand * index, int64_t i, int64_t j, int64_t k) {
    const char * p = tn_operand_row(index, j, k, 0) + (size_t) i * index->nb[0];
    return index->type == GGML_TYPE_I64 ? *(const int64_t *) p : *(const int32_t *) p;
}

static enum ggml_status check_indices(const struct tn_operand * index, int64_t n_rows, const char * what) {
    const int64_t n = index->ne[0] * index->ne[1] * index->ne[2];
    for (int64_t r = 0; r < n; r++) {
        const int64_t i = r % index->ne[0], j = r / index->ne[0] % index->ne[1],
                      k = r / index->ne[0] / index->ne[1];
        const int64_t v = index_at(index, i, j, k);
        if (v >= 0 && v < n_rows) continue;
        TN_FAIL(GGML_STATUS_FAILED,
                "index %" PRId64 " at position [%" PRId64 ", %" PRId64 ", %" PRId64 "], but %s has %" PRId64
                " rows",
                v, i, j, k, what, n_rows);
    }
    return GGML_STATUS_SUCCESS;
}

static void get_tile(const void * arg, const struct tn_tile * t) {
    const struct rows * s = arg;
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const char * from = tn_operand_row(&s->x, index_at(&s->index, t->i1, t->i2, t->i3), t->i2, t->i3);
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
    TN_TRY(check_indices(&s.index, s.x.ne[1], "the source"));
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
        const int64_t row = index_at(&s->index, i, i2 % s->index.ne[1], i3 % s->index.ne[2]);
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
    TN_TRY(check_indices(&s.index, s.y.ne[1], "the destination"));
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

const struct tn_cpu_op tn_cpu_op_get_rows = { .supports = get_rows_supports, .run = get_rows_run };
const struct tn_cpu_op tn_cpu_op_set_rows = { .supports = set_rows_supports, .run = set_rows_run };
