// SPDX-License-Identifier: MIT
// win_part win_unpart get_rel_pos add_rel_pos: windows and relative positions of image encoders.
#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "core/shape.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct window {
    struct tn_operand y, x;
    int64_t size; // of a window, in both directions
    int64_t n_x;  // windows side by side
};

// n elements of the result from i0 on, out of this row; NULL: zeros.
static void move_tile(const struct window * s, const struct tn_tile * t, const char * row) {
    static const uint64_t zero = 0;
    const char * from = row ? row + (size_t) t->i0 * s->x.nb[0] : (const char *) &zero;
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3) + (size_t) t->i0 * s->y.nb[0];
    tn_convert_move(t->n, ggml_type_size(s->y.type), to, s->y.nb[0], from, row ? s->x.nb[0] : 0);
}

// --- win_part: [C, W, H] -> [C, w, w, windows]

static void part_tile(const void * arg, const struct tn_tile * t) {
    const struct window * s = arg;
    const int64_t x = t->i3 % s->n_x * s->size + t->i1, y = t->i3 / s->n_x * s->size + t->i2;
    const bool inside = x < s->x.ne[1] && y < s->x.ne[2];
    move_tile(s, t, inside ? tn_operand_row(&s->x, x, y, 0) : NULL);
}

static enum ggml_status win_part_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct window s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_param_i32(node, 2),
                              tn_param_i32(node, 0) };
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ part_tile, &s });
    return GGML_STATUS_SUCCESS;
}

// --- win_unpart: [C, w, w, windows] -> [C, W, H]

static void unpart_tile(const void * arg, const struct tn_tile * t) {
    const struct window * s = arg;
    const int64_t window = t->i2 / s->size * s->n_x + t->i1 / s->size;
    move_tile(s, t, tn_operand_row(&s->x, t->i1 % s->size, t->i2 % s->size, window));
}

static enum ggml_status win_unpart_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct window s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_param_i32(node, 0), 0 };
    s.n_x = tn_ceil_div(s.y.ne[1], s.size);
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ unpart_tile, &s });
    return GGML_STATUS_SUCCESS;
}

// The rule has said that everything is f32.
static bool always(const struct ggml_tensor * node) {
    (void) node;
    return true;
}

// --- get_rel_pos: [C, 2n - 1] -> [C, n, n]. The result is called f16 also where the bits are those of bf16.

static void get_rel_pos_tile(const void * arg, const struct tn_tile * t) {
    const struct window * s = arg;
    move_tile(s, t, tn_operand_row(&s->x, s->y.ne[1] - 1 - t->i1 + t->i2, 0, 0));
}

static enum ggml_status get_rel_pos_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct window s = { .y = tn_operand_of(node), .x = tn_operand_of(node->src[0]) };
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ get_rel_pos_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool get_rel_pos_supports(const struct ggml_tensor * node) {
    const enum ggml_type type = node->src[0]->type;
    if (type == GGML_TYPE_F16 || type == GGML_TYPE_BF16) return true;
    return tn_refuse("type %s: only f16 and bf16 are moved into f16", ggml_type_name(type));
}

// --- add_rel_pos: a [n*n, w*h, B] + ph [n, w, h, B] of the key's row + pw of its column

struct rel_pos {
    struct tn_operand y, a;
    const float *w, *h;
    int64_t n; // keys in a row
};

static void add_rel_pos_tile(const void * arg, const struct tn_tile * t) {
    const struct rel_pos * s = arg;
    const int64_t query = (t->i2 * s->y.ne[1] + t->i1) * s->n;
    int64_t column = t->i0 % s->n, row = t->i0 / s->n;
    float buf_a[TN_TILE], buf_y[TN_TILE];
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const float * a = tn_operand_load(&s->a, tn_operand_row(&s->a, t->i1, t->i2, t->i3), t->i0, t->n, buf_a);
    float * y = tn_operand_target(&s->y, to, t->i0, buf_y);
    for (int64_t i = 0; i < t->n; i++) {
        y[i] = (float) ((double) a[i] + (double) s->h[query + row] + (double) s->w[query + column]);
        if (++column < s->n) continue;
        column = 0;
        row++;
    }
    tn_operand_store(&s->y, to, t->i0, t->n, y);
}

static enum ggml_status add_rel_pos_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct rel_pos s = { tn_operand_of(node), tn_operand_of(node->src[0]), node->src[1]->data,
                               node->src[2]->data, node->src[1]->ne[0] };
    tn_operand_tiles(run, &s.y, 2, (struct tn_tile_work){ add_rel_pos_tile, &s });
    return GGML_STATUS_SUCCESS;
}

static bool add_rel_pos_supports(const struct ggml_tensor * node) {
    if (tn_operand_is_float(node->type)) return true;
    return tn_refuse("type %s: only f32, f16 and bf16 are added to", ggml_type_name(node->type));
}

const struct tn_cpu_op tn_cpu_op_win_part = { .supports = always, .run = win_part_run };
const struct tn_cpu_op tn_cpu_op_win_unpart = { .supports = always, .run = win_unpart_run };
const struct tn_cpu_op tn_cpu_op_get_rel_pos = { .supports = get_rel_pos_supports, .run = get_rel_pos_run };
const struct tn_cpu_op tn_cpu_op_add_rel_pos = { .supports = add_rel_pos_supports, .run = add_rel_pos_run };
