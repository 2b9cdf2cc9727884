// SPDX-License-Identifier: MIT
// pad, pad_reflect_1d, roll: elements moved along dimensions, with zeros or other elements around them.
#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "core/shape.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct pad {
    struct tn_operand y, x;
    int64_t left[4];
    bool circular;
    bool empty; // nothing but padding
};

// Elements of the result that lie side by side in the source as well, from `index` on; -1: padding.
struct stretch {
    int64_t index;
    int64_t n;
};

// The stretch that begins at index i of the result; at most n long.
static struct stretch stretch_at(const struct pad * s, int dim, int64_t i, int64_t n) {
    const int64_t size = s->x.ne[dim];
    i -= s->left[dim];
    if (s->circular) i %= size;
    if (s->circular && i < 0) i += size;
    if (i < 0) return (struct stretch){ -1, tn_min_i64(n, -i) };
    return i < size ? (struct stretch){ i, tn_min_i64(n, size - i) } : (struct stretch){ -1, n };
}

// NULL: a row of padding.
static const char * source_row(const struct pad * s, const struct tn_tile * t) {
    if (s->empty) return NULL;
    const int64_t i1 = stretch_at(s, 1, t->i1, 1).index;
    const int64_t i2 = stretch_at(s, 2, t->i2, 1).index;
    const int64_t i3 = stretch_at(s, 3, t->i3, 1).index;
    return i1 < 0 || i2 < 0 || i3 < 0 ? NULL : tn_operand_row(&s->x, i1, i2, i3);
}

static void pad_tile(const void * arg, const struct tn_tile * t) {
    static const uint64_t zero = 0;
    const struct pad * s = arg;
    const size_t size = ggml_type_size(s->y.type);
    const char * from = source_row(s, t);
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3) + (size_t) t->i0 * s->y.nb[0];
    for (int64_t done = 0; done < t->n;) {
        struct stretch r = { -1, t->n - done };
        if (from) r = stretch_at(s, 0, t->i0 + done, r.n);
        const bool inside = r.index >= 0;
        tn_convert_move(r.n, size, to + (size_t) done * s->y.nb[0], s->y.nb[0],
                        inside ? from + (size_t) r.index * s->x.nb[0] : (const char *) &zero,
                        inside ? s->x.nb[0] : 0);
        done += r.n;
    }
}

static enum ggml_status run_pad(struct tn_cpu_run * run, const struct pad * s) {
    tn_operand_tiles(run, &s->y, 1, (struct tn_tile_work){ pad_tile, s });
    return GGML_STATUS_SUCCESS;
}

// op_params: lp0, rp0, lp1, rp1, .., circular
static enum ggml_status pad_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct pad s = { .y = tn_operand_of(node), .x = tn_operand_of(node->src[0]) };
    for (int d = 0; d < 4; d++)
        s.left[d] = tn_param_i32(node, 2 * d);
    s.circular = tn_param_i32(node, 8) != 0;
    s.empty = tn_shape_empty(node->src[0]);
    return run_pad(run, &s);
}

// Circular padding by the shifts, of which as much is kept as there was.
static enum ggml_status roll_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct pad s = { .y = tn_operand_of(node), .x = tn_operand_of(node->src[0]), .circular = true };
    for (int d = 0; d < 4; d++)
        s.left[d] = tn_param_i32(node, d);
    return run_pad(run, &s);
}

static bool single_elements(const struct ggml_tensor * node) {
    if (ggml_blck_size(node->type) == 1) return true;
    return tn_refuse("type %s: only types without blocks are moved by elements", ggml_type_name(node->type));
}

// --- pad_reflect_1d: the elements behind an edge, in turn, without the edge itself

static void reflect_tile(const void * arg, const struct tn_tile * t) {
    const struct pad * s = arg;
    const int64_t n = s->x.ne[0];
    const char * from = tn_operand_row(&s->x, t->i1, t->i2, t->i3);
    float buf[TN_TILE];
    for (int64_t i = 0; i < t->n; i++) {
        int64_t j = t->i0 + i - s->left[0];
        if (j < 0) j = -j;
        if (j >= n) j = 2 * (n - 1) - j;
        buf[i] = ((const float *) from)[j];
    }
    tn_operand_store(&s->y, tn_operand_row(&s->y, t->i1, t->i2, t->i3), t->i0, t->n, buf);
}

static enum ggml_status reflect_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const struct pad s = { .y = tn_operand_of(node),
                           .x = tn_operand_of(node->src[0]),
                           .left = { tn_param_i32(node, 0) } };
    tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ reflect_tile, &s });
    return GGML_STATUS_SUCCESS;
}

// The rule has said that everything is f32, and the source contiguous.
static bool always(const struct ggml_tensor * node) {
    (void) node;
    return true;
}

const struct tn_cpu_op tn_cpu_op_pad = { .supports = single_elements, .run = pad_run };
const struct tn_cpu_op tn_cpu_op_pad_reflect_1d = { .supports = always, .run = reflect_run };
const struct tn_cpu_op tn_cpu_op_roll = { .supports = single_elements, .run = roll_run };
