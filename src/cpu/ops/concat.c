// SPDX-License-Identifier: MIT
// concat: a followed by b along one dimension. Elements, or blocks, are moved as they are.
#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct concat {
    struct tn_operand y, a, b; // sizes in units
    int dim;
    size_t unit;
};

// n units from unit `from` of the result on, all in the same source, which begins at `shift` along the
// dimension.
static void move(const struct concat * s, const struct tn_operand * x, const struct tn_tile * t,
                 int64_t shift) {
    int64_t i[4] = { t->i0, t->i1, t->i2, t->i3 };
    i[s->dim] -= shift;
    tn_convert_move(t->n, s->unit, tn_operand_row(&s->y, t->i1, t->i2, t->i3) + (size_t) t->i0 * s->y.nb[0],
                    s->y.nb[0], tn_operand_row(x, i[1], i[2], i[3]) + (size_t) i[0] * x->nb[0], x->nb[0]);
}

static void run_tile(const void * arg, const struct tn_tile * t) {
    const struct concat * s = arg;
    const int64_t split = s->a.ne[s->dim];
    if (s->dim == 0) {
        struct tn_tile left = *t, right = *t;
        left.n = tn_max_i64(0, tn_min_i64(t->n, split - t->i0));
        right.i0 += left.n;
        right.n -= left.n;
        if (left.n > 0) move(s, &s->a, &left, 0);
        if (right.n > 0) move(s, &s->b, &right, split);
        return;
    }
    const int64_t i = (const int64_t[]){ t->i0, t->i1, t->i2, t->i3 }[s->dim];
    if (i < split) {
        move(s, &s->a, t, 0);
    } else {
        move(s, &s->b, t, split);
    }
}

static struct tn_operand in_units(const struct ggml_tensor * t) {
    struct tn_operand x = tn_operand_of(t);
    x.ne[0] /= ggml_blck_size(t->type);
    return x;
}

static enum ggml_status concat_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct concat s = {
        .y = in_units(node),
        .a = in_units(node->src[0]),
        .b = in_units(node->src[1]),
        .dim = tn_param_i32(node, 0),
        .unit = ggml_type_size(node->type),
    };
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ run_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool concat_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    if (a->type != node->type || b->type != node->type) return tn_refuse("all types must be equal");
    if (ggml_blck_size(node->type) == 1) return true;
    if (!tn_operand_is_dense(a) || !tn_operand_is_dense(b) || !tn_operand_is_dense(node)) {
        return tn_refuse("rows of %s must be contiguous", ggml_type_name(node->type));
    }
    if (a->ne[0] % ggml_blck_size(a->type) == 0 && b->ne[0] % ggml_blck_size(b->type) == 0) return true;
    return tn_refuse("rows of %s must be whole blocks", ggml_type_name(node->type));
}

const struct tn_cpu_op tn_cpu_op_concat = { .supports = concat_supports, .run = concat_run };
