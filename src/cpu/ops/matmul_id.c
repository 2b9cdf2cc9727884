// SPDX-License-Identifier: MIT
// mul_mat_id: result[i, e, t] = row i of matrix ids[e, t] times column (e mod b.ne1, t) of b.
//
// The pairs (e, t) are sorted by the matrix that they choose. A part is 32 rows of one chosen matrix against
// all its pairs. Of few tokens, weights are multiplied as they are (cpu/columns.h); of many they are decoded
// once for all pairs, 256 elements at a time, and sums are f32: those of a block by dot_float, blocks in
// order. Activations become blocks of eight bits only where the node's precision allows it; else nothing is
// rounded below f32.
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "cpu/columns.h"
#include "cpu/index.h"
#include "cpu/kernels/dot_float/dot_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"

enum {
    ROWS = 32,   // of a part
    BLOCK = 256, // elements of a row decoded at once: a multiple of every type's block
    FEW = 8      // tokens, by the shape: what others choose changes no result
};

// A matrix with the pairs that chose it: order[first] .. order[first + n - 1].
struct expert {
    int64_t matrix;
    int64_t first, n;
};

struct product {
    struct tn_operand y, a, b, ids;
    int64_t n_blocks; // of rows
    int64_t n_pairs;
    int64_t n_experts;         // chosen ones
    struct expert * experts;   // as many as there are matrices
    int64_t * order;           // pairs, counted through e first
    struct tn_columns columns; // of b
    char * packed;             // all of them, if they are not taken where they lie
};

static struct product product_of(const struct ggml_tensor * node) {
    struct product s = { .y = tn_operand_of(node),
                         .a = tn_operand_of(node->src[0]),
                         .b = tn_operand_of(node->src[1]),
                         .ids = tn_operand_of(node->src[2]) };
    s.columns = s.ids.ne[1] < FEW ? tn_columns_of(node) : tn_columns_of_f32(node);
    s.n_blocks = tn_ceil_div(s.a.ne[1], ROWS);
    s.n_pairs = s.ids.ne[0] * s.ids.ne[1];
    return s;
}

static int64_t matrix_of(const struct product * s, int64_t pair) {
    return tn_index_get(&s->ids, pair % s->ids.ne[0], pair / s->ids.ne[0], 0);
}

// Counts, then fills; pairs keep their order. Matrices that nobody chose are left out.
static void sort_pairs(struct product * s) {
    for (int64_t x = 0; x < s->a.ne[2]; x++)
        s->experts[x] = (struct expert){ .matrix = x };
    for (int64_t p = 0; p < s->n_pairs; p++)
        s->experts[matrix_of(s, p)].n++;
    int64_t first = 0;
    for (int64_t x = 0; x < s->a.ne[2]; x++) {
        s->experts[x].first = first;
        first += s->experts[x].n;
        s->experts[x].n = 0;
    }
    for (int64_t p = 0; p < s->n_pairs; p++) {
        struct expert * e = &s->experts[matrix_of(s, p)];
        s->order[e->first + e->n++] = p;
    }
    for (int64_t x = 0; x < s->a.ne[2]; x++) {
        if (s->experts[x].n > 0) s->experts[s->n_experts++] = s->experts[x];
    }
}

static void pack_part(const void * arg, const struct tn_cpu_part * part) {
    const struct product * s = arg;
    for (int64_t c = part->begin; c < part->end; c++) {
        tn_columns_pack(&s->columns, &s->b, tn_operand_row(&s->b, c % s->b.ne[1], c / s->b.ne[1], 0),
                        s->packed + (size_t) c * s->columns.size);
    }
}

static const char * column_of(const struct product * s, int64_t pair) {
    const int64_t i1 = pair % s->ids.ne[0] % s->b.ne[1], t = pair / s->ids.ne[0];
    if (s->columns.in_place) return tn_operand_row(&s->b, i1, t, 0);
    return s->packed + (size_t) (t * s->b.ne[1] + i1) * s->columns.size;
}

// 256 elements, from k on, of rows i ...
struct block {
    const float * rows[ROWS];
    int64_t n_rows, n;
    int64_t i, k;
};

static void load_block(const struct product * s, const struct expert * e, struct block * b, float * scratch) {
    b->n = tn_min_i64(BLOCK, s->a.ne[0] - b->k);
    for (int64_t r = 0; r < b->n_rows; r++) {
        b->rows[r] = tn_operand_load(&s->a, tn_operand_row(&s->a, b->i + r, e->matrix, 0), b->k, b->n,
                                     scratch + r * BLOCK);
    }
}

static float * result_of(const struct product * s, const struct block * b, int64_t pair) {
    return (float *) tn_operand_row(&s->y, pair % s->ids.ne[0], pair / s->ids.ne[0], 0) + b->i;
}

// The first block stores its sums, the others add theirs.
static void add_pair(const struct product * s, const struct block * b, int64_t pair) {
    const float * column = tn_columns_f32(&s->columns, column_of(s, pair)) + b->k;
    float * y = result_of(s, b, pair);
    for (int64_t r = 0; r < b->n_rows; r++)
        y[r] = (b->k ? y[r] : 0.0f) + tn_dot_float(b->n, b->rows[r], column);
}

static void compute_as_they_are(const struct product * s, const struct expert * e, const struct block * b,
                                int64_t pair) {
    float * y = result_of(s, b, pair);
    for (int64_t r = 0; r < b->n_rows; r++) {
        const char * row = tn_operand_row(&s->a, b->i + r, e->matrix, 0);
        y[r] = (float) tn_columns_dot(&s->columns, row, column_of(s, pair));
    }
}

static bool has_dot(const struct product * s, int64_t pair) {
    return tn_columns_has_dot(&s->columns, column_of(s, pair));
}

static void compute_block(const struct product * s, const struct expert * e, struct block * b,
                          float * scratch) {
    const int64_t * pairs = s->order + e->first;
    int64_t n_others = 0;
    for (int64_t p = 0; p < e->n; p++) {
        if (has_dot(s, pairs[p])) {
            compute_as_they_are(s, e, b, pairs[p]);
        } else {
            n_others++;
        }
    }
    for (b->k = 0; n_others > 0 && b->k < s->a.ne[0]; b->k += BLOCK) {
        load_block(s, e, b, scratch);
        for (int64_t p = 0; p < e->n; p++) {
            if (!has_dot(s, pairs[p])) add_pair(s, b, pairs[p]);
        }
    }
}

static void compute_part(const void * arg, const struct tn_cpu_part * part) {
    const struct product * s = arg;
    for (int64_t u = part->begin; u < part->end; u++) {
        const struct expert * e = &s->experts[u / s->n_blocks];
        struct block b = { .i = u % s->n_blocks * ROWS };
        b.n_rows = tn_min_i64(ROWS, s->a.ne[1] - b.i);
        compute_block(s, e, &b, (float *) part->scratch);
    }
}

static void fill_zero(const struct product * s) {
    for (int64_t p = 0; p < s->n_pairs; p++) {
        memset(tn_operand_row(&s->y, p % s->ids.ne[0], p / s->ids.ne[0], 0), 0,
               (size_t) s->y.ne[0] * sizeof(float));
    }
}

static enum ggml_status mul_mat_id_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct product s = product_of(node);
    TN_TRY(tn_index_check(&s.ids, s.a.ne[2], "src0", "matrices"));
    if (s.a.ne[0] == 0) {
        fill_zero(&s);
        return GGML_STATUS_SUCCESS;
    }
    s.columns.is_ref = run->use_ref;
    s.packed = run->shared;
    s.experts = (struct expert *) (s.packed + (size_t) (s.b.ne[1] * s.b.ne[2]) * s.columns.size);
    s.order = (int64_t *) (s.experts + s.a.ne[2]);
    sort_pairs(&s);
    if (!s.columns.in_place)
        tn_cpu_run_parts(run, s.b.ne[1] * s.b.ne[2], 2 * s.b.ne[0], (struct tn_cpu_work){ pack_part, &s });
    const int64_t cost = ROWS * s.a.ne[0] * (s.n_pairs / s.n_experts + 4) / 4;
    tn_cpu_run_parts(run, s.n_experts * s.n_blocks, cost, (struct tn_cpu_work){ compute_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool shared_size(const struct product * s, size_t * size) {
    size_t experts, order, columns;
    if (!tn_size_mul((size_t) s->a.ne[2], sizeof(struct expert), &experts) ||
        !tn_size_mul((size_t) s->n_pairs, sizeof(int64_t), &order) ||
        !tn_size_mul((size_t) (s->b.ne[1] * s->b.ne[2]), s->columns.size, &columns)) {
        return false;
    }
    return tn_size_add(experts, order, size) && tn_size_add(*size, columns, size);
}

static struct tn_cpu_scratch mul_mat_id_scratch(const struct ggml_tensor * node) {
    const struct product s = product_of(node);
    struct tn_cpu_scratch scratch = { .per_thread = ROWS * BLOCK * sizeof(float) };
    if (!shared_size(&s, &scratch.shared)) scratch.shared = SIZE_MAX;
    return scratch;
}

static bool mul_mat_id_supports(const struct ggml_tensor * node) {
    for (int i = 0; i < 2; i++) {
        const struct ggml_tensor * x = node->src[i];
        if (!tn_operand_can_load(x->type) || x->type == GGML_TYPE_I32)
            return tn_refuse("src%d: there is no decoder of %s", i, ggml_type_name(x->type));
        if (ggml_is_quantized(x->type) && !tn_operand_is_dense(x))
            return tn_refuse("src%d: quantised rows must be contiguous", i);
    }
    if (!tn_operand_is_dense(node)) return tn_refuse("rows of the result must be contiguous");
    return true;
}

const struct tn_cpu_op tn_cpu_op_mul_mat_id = { .supports = mul_mat_id_supports,
                                                .scratch = mul_mat_id_scratch,
                                                .run = mul_mat_id_run };
