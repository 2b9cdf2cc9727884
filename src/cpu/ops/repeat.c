// SPDX-License-Identifier: MIT
// repeat: element i of the result is element i modulo the source's size, in each dimension. Bytes are moved.
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

const struct tn_cpu_op tn_cpu_op_repeat = { .supports = repeat_supports, .run = repeat_run };
