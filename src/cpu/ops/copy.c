// SPDX-License-Identifier: MIT
// dup cpy cont: elements in row-major order of the source, written in row-major order of the result.
//
// Equal types move as they are, in units of blocks; other types go through f32. Both tensors may have any
// strides; for types with blocks the blocks of a row lie one behind the other.
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct copy {
    struct tn_operand y, x;
    size_t unit; // bytes of an element or block
};

// A place in row-major order: element `i0` of the row that starts at `row`.
struct place {
    char * row;
    int64_t i0;
};

static struct place place_of(const struct tn_operand * x, int64_t index) {
    const int64_t row = index / x->ne[0];
    const int64_t i3 = row / x->ne[1] / x->ne[2];
    return (struct place){ tn_operand_row(x, row % x->ne[1], row / x->ne[1] % x->ne[2], i3),
                           index % x->ne[0] };
}

static int64_t index_of(const struct tn_operand * y, const struct tn_tile * t) {
    return ((t->i3 * y->ne[2] + t->i2) * y->ne[1] + t->i1) * y->ne[0] + t->i0;
}

// Equal types. Both operands count in units here.
static void move_tile(const void * arg, const struct tn_tile * t) {
    const struct copy * s = arg;
    const int64_t first = index_of(&s->y, t);
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3) + (size_t) t->i0 * s->y.nb[0];
    for (int64_t done = 0; done < t->n;) {
        const struct place from = place_of(&s->x, first + done);
        const int64_t n = tn_min_i64(t->n - done, s->x.ne[0] - from.i0);
        tn_convert_move(n, s->unit, to + (size_t) done * s->y.nb[0], s->y.nb[0],
                        from.row + (size_t) from.i0 * s->x.nb[0], s->x.nb[0]);
        done += n;
    }
}

// n elements of a row from i0 on, which may lie inside a block.
static void load_any(const struct tn_operand * x, struct place from, int64_t n, float * to) {
    const int64_t block = ggml_blck_size(x->type);
    float buf[TN_TILE];
    while (n > 0) {
        const int64_t start = from.i0 - from.i0 % block;
        const int64_t end = tn_min_i64(start + TN_TILE, tn_ceil_div(from.i0 + n, block) * block);
        const int64_t count = tn_min_i64(n, end - from.i0);
        const float * v = tn_operand_load(x, from.row, start, end - start, buf);
        memcpy(to, v + (from.i0 - start), (size_t) count * sizeof(float));
        to += count;
        from.i0 += count;
        n -= count;
    }
}

static void convert_tile(const void * arg, const struct tn_tile * t) {
    const struct copy * s = arg;
    const int64_t first = index_of(&s->y, t);
    float values[TN_TILE];
    for (int64_t done = 0; done < t->n;) {
        const struct place from = place_of(&s->x, first + done);
        const int64_t n = tn_min_i64(t->n - done, s->x.ne[0] - from.i0);
        load_any(&s->x, from, n, values + done);
        done += n;
    }
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, values);
}

static struct tn_operand in_units(const struct ggml_tensor * t) {
    struct tn_operand x = tn_operand_of(t);
    x.ne[0] /= ggml_blck_size(t->type);
    return x;
}

static enum ggml_status copy_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct ggml_tensor * src = node->src[0];
    const bool same = src->type == node->type;
    struct copy s = { .unit = ggml_type_size(node->type) };
    s.y = same ? in_units(node) : tn_operand_of(node);
    s.x = same ? in_units(src) : tn_operand_of(src);
    tn_operand_tiles(run, &s.y, same ? 1 : 4, (struct tn_tile_work){ same ? move_tile : convert_tile, &s });
    return GGML_STATUS_SUCCESS;
}

// f32 from and into everything; f16 and bf16 as well, but for i32 as a source, which f16 could not hold.
static bool converts(enum ggml_type from, enum ggml_type to) {
    if (!tn_operand_can_load(from) || !tn_operand_can_store(to)) return false;
    if (from == GGML_TYPE_F32 || to == GGML_TYPE_F32) return true;
    return from == GGML_TYPE_F16 || from == GGML_TYPE_BF16;
}

static bool copy_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * src = node->src[0];
    if ((ggml_is_quantized(src->type) && !tn_operand_is_dense(src)) ||
        (ggml_is_quantized(node->type) && !tn_operand_is_dense(node))) {
        return tn_refuse("quantised rows must be contiguous");
    }
    if (src->type == node->type || converts(src->type, node->type)) return true;
    return tn_refuse("there is no conversion from %s to %s", ggml_type_name(src->type),
                     ggml_type_name(node->type));
}

const struct tn_cpu_op tn_cpu_op_dup = { .supports = copy_supports, .run = copy_run };
const struct tn_cpu_op tn_cpu_op_cpy = { .supports = copy_supports, .run = copy_run };
const struct tn_cpu_op tn_cpu_op_cont = { .supports = copy_supports, .run = copy_run };
