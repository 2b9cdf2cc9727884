// SPDX-License-Identifier: MIT
// repeat: element i of the result is element i modulo the source's size, in each dimension. Bytes are moved.
// repeat_back: the sum of all elements that come from the same one; kept in double.
#include "base/bits.h"
#include "base/error.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct repeat {
    struct tn_operand y, x;
    size_t size;
};

static void run_tile(const void * arg, const struct tn_tile * t) {
    const struct repeat * s = arg;
    const char * row = tn_operand_row_at(&s->x, t);
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3) + (size_t) t->i0 * s->y.nb[0];
    int64_t from = t->i0 % s->x.ne[0];
    for (int64_t done = 0; done < t->n; from = 0) {
        const int64_t n = tn_min_i64(t->n - done, s->x.ne[0] - from);
        tn_convert_move(n, s->size, to + (size_t) done * s->y.nb[0], s->y.nb[0],
                        row + (size_t) from * s->x.nb[0], s->x.nb[0]);
        done += n;
    }
}

static enum ggml_status repeat_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct repeat s = { tn_operand_of(node), tn_operand_of(node->src[0]), ggml_type_size(node->type) };
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ run_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool repeat_supports(const struct ggml_tensor * node) {
    if (node->type == node->src[0]->type && ggml_blck_size(node->type) == 1) return true;
    return tn_refuse("type %s has blocks, which cannot be repeated", ggml_type_name(node->src[0]->type));
}

// A tile of the result that is being summed up.
struct sums {
    double v[TN_TILE];
    int64_t n;
};

// Elements first .. first + n - 1 of a row of x, the first of them onto sum number 0.
static void add_span(const struct tn_operand * x, const char * row, int64_t first, int64_t n,
                     struct sums * sums) {
    float buf[TN_TILE];
    int64_t at = 0;
    for (int64_t i = 0; i < n; i += TN_TILE) {
        const int64_t count = tn_min_i64(TN_TILE, n - i);
        const float * v = tn_operand_load(x, row, first + i, count, buf);
        for (int64_t k = 0; k < count; k++) {
            sums->v[at++] += (double) v[k];
            if (at == sums->n) at = 0;
        }
    }
}

// A result row of one tile wraps around inside a row of x; of longer ones each repeat is a span of its own.
static void add_row(const struct repeat * s, const char * row, const struct tn_tile * t, struct sums * sums) {
    if (t->n == s->y.ne[0]) {
        add_span(&s->x, row, 0, s->x.ne[0], sums);
        return;
    }
    for (int64_t i = t->i0; i < s->x.ne[0]; i += s->y.ne[0])
        add_span(&s->x, row, i, t->n, sums);
}

static void sum_tile(const void * arg, const struct tn_tile * t) {
    const struct repeat * s = arg;
    const struct tn_operand * x = &s->x;
    const int64_t r1 = x->ne[1] / s->y.ne[1], r2 = x->ne[2] / s->y.ne[2], r3 = x->ne[3] / s->y.ne[3];
    const int64_t n_rows = x->ne[0] > 0 ? r1 * r2 * r3 : 0;
    struct sums sums = { .n = t->n };
    for (int64_t r = 0; r < n_rows; r++) {
        const int64_t i1 = r % r1 * s->y.ne[1] + t->i1;
        const int64_t i2 = r / r1 % r2 * s->y.ne[2] + t->i2;
        const int64_t i3 = r / r1 / r2 * s->y.ne[3] + t->i3;
        add_row(s, tn_operand_row(x, i1, i2, i3), t, &sums);
    }
    float values[TN_TILE];
    for (int64_t k = 0; k < t->n; k++)
        values[k] = (float) sums.v[k];
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, values);
}

static enum ggml_status repeat_back_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct repeat s = { tn_operand_of(node), tn_operand_of(node->src[0]), 0 };
    const int64_t n = s.x.ne[0] * s.x.ne[1] * s.x.ne[2] * s.x.ne[3];
    const int64_t n_y = s.y.ne[0] * s.y.ne[1] * s.y.ne[2] * s.y.ne[3];
    tn_operand_tiles(run, &s.y, 1 + n / n_y, (struct tn_tile_work){ sum_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool repeat_back_supports(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->type)) return true;
    return tn_refuse("type %s: only f32, f16 and bf16 are summed", ggml_type_name(node->type));
}

const struct tn_cpu_op tn_cpu_op_repeat = { .supports = repeat_supports, .run = repeat_run };
const struct tn_cpu_op tn_cpu_op_repeat_back = { .supports = repeat_back_supports, .run = repeat_back_run };
