// SPDX-License-Identifier: MIT
// acc, set: a copy of a, in a region of which b is added, or put. The region (core/region.h) has the shape of
// b and strides of its own. In place there is nothing to copy.
#include <string.h>

#include "base/error.h"
#include "core/params.h"
#include "core/shape.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/kernels/map2/map2.h"
#include "cpu/op.h"
#include "cpu/operand.h"

struct region {
    struct tn_operand y, x;
    size_t size; // of an element
};

static void move_tile(const void * arg, const struct tn_tile * t) {
    const struct region * s = arg;
    char * to = tn_operand_row(&s->y, t->i1, t->i2, t->i3);
    const char * from = tn_operand_row(&s->x, t->i1, t->i2, t->i3);
    tn_convert_move(t->n, s->size, to + (size_t) t->i0 * s->y.nb[0], s->y.nb[0],
                    from + (size_t) t->i0 * s->x.nb[0], s->x.nb[0]);
}

static void add_tile(const void * arg, const struct tn_tile * t) {
    const struct region * s = arg;
    float buf[TN_TILE];
    float * y = (float *) tn_operand_row(&s->y, t->i1, t->i2, t->i3) + t->i0;
    tn_map2_add(t->n, y, y,
                tn_operand_load(&s->x, tn_operand_row(&s->x, t->i1, t->i2, t->i3), t->i0, t->n, buf), NULL);
}

static struct tn_operand region_of(const struct ggml_tensor * node) {
    struct tn_operand r = tn_operand_of(node);
    r.data += tn_param_i32(node, 3);
    memcpy(r.ne, node->src[1]->ne, sizeof(r.ne));
    r.nb[0] = ggml_type_size(node->type);
    for (int i = 1; i < 4; i++)
        r.nb[i] = (size_t) tn_param_i32(node, i - 1);
    return r;
}

// Does no byte belong to two rows?
static bool is_apart(const struct tn_operand * r) {
    size_t extent = r->nb[0] * (size_t) r->ne[0];
    for (int i = 1; i < 4; i++) {
        if (r->ne[i] == 1) continue;
        if (r->nb[i] < extent) return false;
        extent = r->nb[i] * (size_t) r->ne[i];
    }
    return true;
}

static enum ggml_status run_region(struct tn_cpu_run * run, struct ggml_tensor * node,
                                   void (*write)(const void * arg, const struct tn_tile * tile)) {
    struct region s = { tn_operand_of(node), tn_operand_of(node->src[0]), ggml_type_size(node->type) };
    if (node->data != node->src[0]->data) {
        tn_operand_flatten((struct tn_operand *[]){ &s.y, &s.x }, 2);
        tn_operand_tiles(run, &s.y, 1, (struct tn_tile_work){ move_tile, &s });
    }
    if (tn_shape_empty(node->src[1])) return GGML_STATUS_SUCCESS;
    s.y = region_of(node);
    s.x = tn_operand_of(node->src[1]);
    struct tn_cpu_run alone = *run;
    if (!is_apart(&s.y)) alone.n_threads = 1; // rows on top of each other, in order
    tn_operand_tiles(&alone, &s.y, 1, (struct tn_tile_work){ write, &s });
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status acc_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_region(run, node, add_tile);
}

static enum ggml_status set_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return run_region(run, node, move_tile);
}

// The dimension with the largest stride below that of `above`; -1: none is left that has several elements.
static int next_dim(const struct ggml_tensor * node, int above) {
    int found = -1;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (node->ne[i] == 1 || (above >= 0 && node->nb[i] >= node->nb[above])) continue;
        if (found < 0 || node->nb[i] > node->nb[found]) found = i;
    }
    return found;
}

// In a result with gaps a region must be some of its elements: the offset leads to one, the strides are the
// result's, and the sizes do not run over an edge.
static bool is_in_elements(const struct ggml_tensor * node) {
    const int64_t * ne = node->src[1]->ne;
    if (ggml_is_contiguous(node) || tn_shape_empty(node->src[1])) return true;
    size_t left = (size_t) tn_param_i32(node, 3);
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        const size_t nb = i > 0 ? (size_t) tn_param_i32(node, i - 1) : ggml_type_size(node->type);
        if (ne[i] > 1 && (ne[i] > node->ne[i] || nb != node->nb[i]))
            return tn_refuse("a result with gaps has other strides than the region");
    }
    for (int i = next_dim(node, -1); i >= 0; i = next_dim(node, i)) {
        if (left / node->nb[i] + (size_t) ne[i] > (size_t) node->ne[i])
            return tn_refuse("the region lies in gaps");
        left %= node->nb[i];
    }
    return left == 0 || tn_refuse("the region lies in gaps");
}

static bool is_aligned(const struct ggml_tensor * node) {
    if (!tn_operand_is_dense(node)) return tn_refuse("the elements of a row must lie side by side");
    if (!is_in_elements(node)) return false;
    const int32_t size = (int32_t) ggml_type_size(node->type);
    static const char * const names[] = { "nb1", "nb2", "nb3", "the offset" };
    for (int i = 0; i < 4; i++) {
        const bool taken = i == 3 || node->src[1]->ne[i + 1] > 1;
        if (!taken || tn_param_i32(node, i) % size == 0) continue;
        return tn_refuse("%s of %d bytes is no multiple of an element's %d", names[i], tn_param_i32(node, i),
                         size);
    }
    return true;
}

static bool acc_supports(const struct ggml_tensor * node) {
    return is_aligned(node);
}

static bool set_supports(const struct ggml_tensor * node) {
    const enum ggml_type a = node->src[0]->type, b = node->src[1]->type;
    if (a != b) return tn_refuse("%s cannot be put into %s", ggml_type_name(b), ggml_type_name(a));
    if (ggml_blck_size(a) > 1) return tn_refuse("type %s has blocks", ggml_type_name(a));
    return is_aligned(node);
}

const struct tn_cpu_op tn_cpu_op_acc = { .supports = acc_supports, .run = acc_run };
const struct tn_cpu_op tn_cpu_op_set = { .supports = set_supports, .run = set_run };
