// SPDX-License-Identifier: MIT
// argsort, top_k: indices by value, row by row. NaN is last, whatever the order; equal values come in the
// order of their indices.
#include "cpu/kernels/sort/sort.h"

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct sort {
    struct tn_operand y, x;
    bool descending;
};

enum { SORT_COST = 24, SELECT_COST = 8 }; // of an element

static const char * row_of(const struct tn_operand * x, int64_t row) {
    return tn_operand_row(x, row % x->ne[1], row / x->ne[1] % x->ne[2], row / x->ne[1] / x->ne[2]);
}

static void put(const struct tn_operand * y, const char * row, int64_t i, int64_t index) {
    *(int32_t *) ((char *) row + (size_t) i * y->nb[0]) = (int32_t) index;
}

// Keys of elements i .. i + n - 1 of a row.
static void load_keys(const struct sort * s, const char * row, int64_t i, int64_t n, uint32_t * keys) {
    float buf[TN_TILE];
    tn_sort_keys(n, keys, tn_operand_load(&s->x, row, i, n, buf), s->descending);
}

// --- argsort

static void sort_row(const struct sort * s, int64_t row, uint64_t * pairs) {
    const int64_t n = s->x.ne[0];
    const char * x = row_of(&s->x, row);
    for (int64_t i = 0; i < n; i += TN_TILE) {
        uint32_t keys[TN_TILE];
        const int64_t count = tn_min_i64(TN_TILE, n - i);
        load_keys(s, x, i, count, keys);
        for (int64_t k = 0; k < count; k++)
            pairs[i + k] = (uint64_t) keys[k] << 32 | (uint64_t) (i + k);
    }
    const uint64_t * sorted = tn_sort_pairs(n, pairs, pairs + n);
    const char * y = row_of(&s->y, row);
    for (int64_t i = 0; i < n; i++)
        put(&s->y, y, i, (int64_t) (sorted[i] & UINT32_MAX));
}

static void sort_part(const void * arg, const struct tn_cpu_part * part) {
    for (int64_t row = part->begin; row < part->end; row++)
        sort_row(arg, row, (uint64_t *) part->scratch);
}

static enum ggml_status argsort_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct sort s = { tn_operand_of(node), tn_operand_of(node->src[0]),
                            tn_param_i32(node, 0) == GGML_SORT_ORDER_DESC };
    tn_cpu_run_parts(run, s.x.ne[1] * s.x.ne[2] * s.x.ne[3], SORT_COST * s.x.ne[0],
                     (struct tn_cpu_work){ sort_part, &s });
    return GGML_STATUS_SUCCESS;
}

static struct tn_cpu_scratch argsort_scratch(const struct ggml_tensor * node) {
    return (struct tn_cpu_scratch){ .per_thread = 2 * (size_t) node->ne[0] * sizeof(uint64_t) };
}

// --- top_k: a threshold first; what lies above it stays in the order of the row

static void select_row(const struct sort * s, int64_t row, uint32_t * keys) {
    const int64_t n = s->x.ne[0];
    const char * x = row_of(&s->x, row);
    for (int64_t i = 0; i < n; i += TN_TILE)
        load_keys(s, x, i, tn_min_i64(TN_TILE, n - i), keys + i);
    struct tn_sort_bound bound = tn_sort_select(n, keys, s->y.ne[0]);
    const char * y = row_of(&s->y, row);
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        if (keys[i] > bound.key || (keys[i] == bound.key && bound.n_equal-- <= 0)) continue;
        put(&s->y, y, found++, i);
    }
}

static void select_part(const void * arg, const struct tn_cpu_part * part) {
    for (int64_t row = part->begin; row < part->end; row++)
        select_row(arg, row, (uint32_t *) part->scratch);
}

static enum ggml_status top_k_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct sort s = { tn_operand_of(node), tn_operand_of(node->src[0]), true };
    tn_cpu_run_parts(run, s.x.ne[1] * s.x.ne[2] * s.x.ne[3], SELECT_COST * s.x.ne[0],
                     (struct tn_cpu_work){ select_part, &s });
    return GGML_STATUS_SUCCESS;
}

static struct tn_cpu_scratch top_k_scratch(const struct ggml_tensor * node) {
    return (struct tn_cpu_scratch){ .per_thread = (size_t) node->src[0]->ne[0] * sizeof(uint32_t) };
}

static bool sortable(const struct ggml_tensor * node) {
    const struct ggml_tensor * x = node->src[0];
    if (!tn_operand_is_float(x->type))
        return tn_refuse("type %s: only f32, f16 and bf16 are sorted", ggml_type_name(x->type));
    return x->ne[0] <= INT32_MAX || tn_refuse("indices of rows of 2^31 elements or more do not fit into i32");
}

const struct tn_cpu_op tn_cpu_op_argsort = { .supports = sortable,
                                             .scratch = argsort_scratch,
                                             .run = argsort_run };
const struct tn_cpu_op tn_cpu_op_top_k = { .supports = sortable, .scratch = top_k_scratch, .run = top_k_run };
