// SPDX-License-Identifier: MIT
// The rules of derive.def, and the table made of it.
#include "backend/meta/derive.h"

#include <string.h>

#include "backend/meta/meta_int.h"
#include "backend/meta/window.h"
#include "base/error.h"
#include "core/params.h"
#include "core/shape.h"

enum partial { PARTIAL_NO, PARTIAL_LINEAR, PARTIAL_EITHER, PARTIAL_BOTH, PARTIAL_SCALE };

struct row {
    bool (*rule)(struct tn_derive * d, const char * axes);
    const char * axes;
    enum partial partial;
};

static const struct row * row_of(enum ggml_op op);

// ---- what rules say ---------------------------------------------------------------------------------------

static bool is_split(const struct tn_derive * d, int i) {
    return d->src[i] && tn_partition_is_split(d->src[i]);
}

static bool any_split(const struct tn_derive * d) {
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (is_split(d, i)) return true;
    }
    return false;
}

// Absent counts as mirrored.
static bool is_mirrored(const struct tn_derive * d, int i) {
    return !d->src[i] || tn_partition_is_mirrored(d->src[i]);
}

static bool others_mirrored(const struct tn_derive * d, int from) {
    for (int i = from; i < GGML_MAX_SRC; i++) {
        if (!is_mirrored(d, i)) return false;
    }
    return true;
}

static bool on_axis(const struct tn_derive * d, int i, int axis) {
    return is_split(d, i) && (int) d->src[i]->axis == axis;
}

static bool mirrored(struct tn_derive * d) {
    tn_partition_whole(&d->out, GGML_BACKEND_SPLIT_AXIS_MIRRORED, d->n);
    return true;
}

static bool like(struct tn_derive * d, int i) {
    tn_partition_copy(&d->out, d->src[i], d->n);
    return true;
}

static bool like_on(struct tn_derive * d, int i, int axis) {
    like(d, i);
    d->out.axis = (enum ggml_backend_meta_split_axis) axis;
    return true;
}

static bool partial(struct tn_derive * d) {
    tn_partition_whole(&d->out, GGML_BACKEND_SPLIT_AXIS_PARTIAL, d->n);
    return true;
}

static bool allowed(const struct tn_derive * d, int i, const char * axes) {
    return is_split(d, i) && strchr(axes, '0' + (int) d->src[i]->axis);
}

static bool same_parts(const struct tn_derive * d, int a, int b) {
    return is_split(d, a) && is_split(d, b) && tn_partition_same(d->src[a], d->src[b], d->n);
}

// The same axis, of the same length, with the same parts.
static bool same(const struct tn_derive * d, int a, int b) {
    return same_parts(d, a, b) && d->src[a]->axis == d->src[b]->axis;
}

static bool no_rule(const struct tn_derive * d) {
    char text[TN_PARTITION_TEXT];
    tn_error_set("no rule fits sources divided like this:");
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (d->src[i])
            tn_error_append(" src%d '%s' %s;", i, d->node->src[i]->name,
                            tn_partition_text(text, d->src[i], d->n));
    }
    return false;
}

// The device that has all of what is split, the rest being everywhere; -1: there is no such one.
static int only_device(const struct tn_derive * d) {
    int only = -1;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (is_mirrored(d, i)) continue;
        const int owner = tn_partition_owner(d->src[i], d->n);
        if (owner < 0 || (only >= 0 && owner != only)) return -1;
        only = owner;
    }
    return only;
}

// ---- rules ------------------------------------------------------------------------------------------------

static bool whole(struct tn_derive * d, const char * axes) {
    (void) axes;
    return any_split(d) ? no_rule(d) : mirrored(d);
}

// Independent along `axes`, all sources divided alike.
static bool alike(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    if (!allowed(d, 0, axes)) return no_rule(d);
    const int axis = (int) d->src[0]->axis;
    if (d->node->ne[axis] != d->node->src[0]->ne[axis]) return no_rule(d);
    for (int i = 1; i < GGML_MAX_SRC; i++) {
        if (d->src[i] && !same(d, 0, i)) return no_rule(d);
    }
    return like(d, 0);
}

// The other sources concern every part alike.
static bool first(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    return allowed(d, 0, axes) && others_mirrored(d, 1) ? like(d, 0) : no_rule(d);
}

// The last source holds the settings.
static bool opt_step(struct tn_derive * d, const char * axes) {
    const int last = d->node->op == GGML_OP_OPT_STEP_ADAMW ? 4 : 2;
    if (!any_split(d)) return mirrored(d);
    if (!allowed(d, 0, axes) || !is_mirrored(d, last)) return no_rule(d);
    for (int i = 1; i < last; i++) {
        if (!same(d, 0, i)) return no_rule(d);
    }
    return like(d, 0);
}

// src[1] is repeated where it is smaller.
static bool broadcast(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    if (!allowed(d, 0, axes)) return no_rule(d);
    const bool repeated = d->node->src[1]->ne[d->src[0]->axis] == 1;
    return same(d, 0, 1) || (repeated && is_mirrored(d, 1)) ? like(d, 0) : no_rule(d);
}

static bool add_id(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    return allowed(d, 0, axes) && same(d, 0, 1) && is_mirrored(d, 2) ? like(d, 0) : no_rule(d);
}

static bool concat(struct tn_derive * d, const char * axes) {
    (void) axes;
    if (!any_split(d)) return mirrored(d);
    return same(d, 0, 1) && (int) d->src[0]->axis != tn_param_i32(d->node, 0) ? like(d, 0) : no_rule(d);
}

static bool argmax(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    return allowed(d, 0, axes) ? like_on(d, 0, 0) : no_rule(d);
}

// Matrices by the index `axis`, those of src[b] repeated: each goes with its matrix of src[a].
static bool same_heads(const struct tn_derive * d, int a, int b, int axis) {
    const int64_t ne_a = d->node->src[a]->ne[axis], ne_b = d->node->src[b]->ne[axis];
    if (!on_axis(d, a, axis) || !on_axis(d, b, axis) || ne_a == 0 || ne_b % ne_a != 0) return false;
    struct tn_partition repeated;
    tn_partition_copy(&repeated, d->src[a], d->n);
    return tn_partition_scale(&repeated, d->n, ne_b / ne_a, 1) &&
           tn_partition_same(&repeated, d->src[b], d->n);
}

static bool mul_mat(struct tn_derive * d, const char * axes) {
    (void) axes;
    if (!any_split(d)) return mirrored(d);
    if (on_axis(d, 0, 0) && on_axis(d, 1, 0)) return same(d, 0, 1) ? partial(d) : no_rule(d);
    if (on_axis(d, 0, 1) && is_mirrored(d, 1)) return like_on(d, 0, 0);
    if (is_mirrored(d, 0) && on_axis(d, 1, 1)) return like(d, 1);
    for (int axis = 2; axis < GGML_MAX_DIMS; axis++) {
        const bool alone = is_mirrored(d, 0) && d->node->src[0]->ne[axis] == 1 && on_axis(d, 1, axis);
        if (alone || same_heads(d, 0, 1, axis)) return like(d, 1);
    }
    const bool matrices = d->node->ne[2] == 1 && d->node->ne[3] == 1;
    return matrices && is_split(d, 0) && is_split(d, 1) && only_device(d) >= 0 ? partial(d) : no_rule(d);
}

static bool mul_mat_id(struct tn_derive * d, const char * axes) {
    (void) axes;
    if (!any_split(d)) return mirrored(d);
    if (!is_mirrored(d, 2)) return no_rule(d);
    if (on_axis(d, 0, 0) && on_axis(d, 1, 0)) return same(d, 0, 1) ? partial(d) : no_rule(d);
    return on_axis(d, 0, 1) && is_mirrored(d, 1) ? like_on(d, 0, 0) : no_rule(d);
}

static bool window(struct tn_derive * d, const char * axes) {
    size_t offset;
    (void) axes;
    const struct ggml_tensor * base = tn_slices_base(d->node, &offset);
    if (!base || base != d->node->src[0]) return tn_refuse("it is no view of its source");
    return tn_derive_view(d->node, base, d->src[0], offset, d->n, &d->out);
}

// The elements of src[0] in their order, without gaps, in the result's shape.
static bool in_order(struct tn_derive * d) {
    const struct ggml_tensor * t = d->node->src[0];
    if (!any_split(d)) return mirrored(d);
    if (!is_split(d, 0)) return no_rule(d);
    if (tn_shape_same(t, d->node)) return like(d, 0);
    struct ggml_tensor from = *t, to = *d->node;
    size_t bytes;
    to.type = from.type;
    return tn_shape_strides(from.type, from.ne, from.nb, &bytes) &&
           tn_shape_strides(to.type, to.ne, to.nb, &bytes) &&
           tn_derive_view(&to, &from, d->src[0], 0, d->n, &d->out);
}

static bool cont(struct tn_derive * d, const char * axes) {
    (void) axes;
    return in_order(d);
}

static bool cpy(struct tn_derive * d, const char * axes) {
    (void) axes;
    if (!in_order(d)) return false;
    const struct tn_partition * to = d->src[1];
    if (!to) return true; // a cast, which has no other destination than itself
    return d->out.axis == to->axis && tn_partition_same(&d->out, to, d->n) ? true : no_rule(d);
}

static bool get_rows(struct tn_derive * d, const char * axes) {
    return first(d, axes);
}

// Indices are the same for every row of a matrix, and may differ from matrix to matrix.
static bool set_rows(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    if (!allowed(d, 0, axes) || !same(d, 0, 2) || !is_mirrored(d, 1)) return no_rule(d);
    const int axis = (int) d->src[0]->axis;
    return axis == 0 || d->node->src[1]->ne[axis - 1] == 1 ? like(d, 0) : no_rule(d);
}

// Biases that grow from head to head count heads, which a part cannot.
static bool has_slopes(const struct tn_derive * d) {
    return tn_param_f32(d->node, 1) > 0.0f;
}

static bool mask_fits(const struct tn_derive * d, int i, int axis) {
    const struct ggml_tensor * mask = d->node->src[i];
    return !mask || (is_mirrored(d, i) && mask->ne[axis] == 1);
}

static bool soft_max(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    if (!allowed(d, 0, axes) || has_slopes(d)) return no_rule(d);
    const int axis = (int) d->src[0]->axis;
    const bool sinks =
        !d->src[2] || (axis == 2 ? on_axis(d, 2, 0) && same_parts(d, 0, 2) : is_mirrored(d, 2));
    return sinks && (mask_fits(d, 1, axis) || same(d, 0, 1)) ? like(d, 0) : no_rule(d);
}

// By heads; those of keys and values are shared by equally many of the queries.
static bool attention(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    if (!allowed(d, 0, axes) || has_slopes(d) || !mask_fits(d, 3, 2)) return no_rule(d);
    const bool one_head =
        is_mirrored(d, 1) && is_mirrored(d, 2) && d->node->src[1]->ne[2] == 1 && d->node->src[2]->ne[2] == 1;
    if (!one_head && !(same_heads(d, 1, 0, 2) && same_heads(d, 2, 0, 2))) return no_rule(d);
    if (d->src[4] && !(on_axis(d, 4, 0) && same_parts(d, 0, 4))) return no_rule(d);
    return like_on(d, 0, 1);
}

static bool ssm_conv(struct tn_derive * d, const char * axes) {
    if (!any_split(d)) return mirrored(d);
    return allowed(d, 0, axes) && same(d, 0, 1) ? like_on(d, 0, 0) : no_rule(d);
}

// Gates and values in one row: both halves of it have to be divided alike.
static bool glu_of_one(struct tn_derive * d) {
    struct tn_partition second;
    const int64_t half = d->node->ne[0];
    if (!tn_partition_range(d->src[0], d->n, 0, half, &d->out) ||
        !tn_partition_range(d->src[0], d->n, half, half, &second)) {
        return false;
    }
    return tn_partition_same(&d->out, &second, d->n) || no_rule(d);
}

static bool glu(struct tn_derive * d, const char * axes) {
    if (d->src[1] || !on_axis(d, 0, 0)) return alike(d, axes);
    return glu_of_one(d);
}

// ---- table ------------------------------------------------------------------------------------------------

static const struct row rows[GGML_OP_COUNT] = {
#define TN_ROW(op, rule, axes, partial) [GGML_OP_##op] = { rule, axes, PARTIAL_##partial },
#include "backend/meta/derive.def"
#undef TN_ROW
};

static const struct row * row_of(enum ggml_op op) {
    return (unsigned) op < GGML_OP_COUNT && rows[op].rule ? &rows[op] : NULL;
}

bool tn_derive_view(const struct ggml_tensor * view, const struct ggml_tensor * base,
                    const struct tn_partition * partition, size_t offset, int n, struct tn_partition * out) {
    if (!tn_partition_is_split(partition)) {
        tn_partition_copy(out, partition, n);
        return true;
    }
    if (ggml_is_empty(view)) {
        tn_partition_whole(out, GGML_BACKEND_SPLIT_AXIS_MIRRORED, n);
        return true;
    }
    struct tn_window w;
    if (!tn_window_find(view, base, partition, offset, n, &w)) return false;
    tn_partition_copy(out, &w.partition, n);
    return true;
}

// A device that has all of the sources computes all of the result, whatever the operator is.
static bool on_only_device(struct tn_derive * d) {
    const int only = only_device(d);
    if (only < 0) return false;
    for (int i = 0; d->node->view_src && i < GGML_MAX_SRC; i++) { // results in place are where they lie
        size_t offset;
        if (d->node->src[i] && tn_slices_base(d->node, &offset) == d->node->src[i])
            return tn_derive_view(d->node, d->node->src[i], d->src[i], offset, d->n, &d->out);
    }
    tn_partition_whole(&d->out, GGML_BACKEND_SPLIT_AXIS_0, d->n);
    d->out.ne[only] = d->node->ne[0];
    return true;
}

bool tn_derive_node(struct tn_derive * d) {
    const struct row * row = row_of(d->node->op);
    if (!row) return tn_refuse("nothing is known of operator %s", ggml_op_name(d->node->op));
    return (row->rule(d, row->axes) || on_only_device(d)) && tn_partition_check(&d->out, d->node, d->n);
}

bool tn_derive_may(struct tn_derive * d) {
    const struct row * row = row_of(d->node->op);
    if (!row) return false;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const bool known = !d->node->src[i] || d->src[i];
        if ((!known && row->rule != whole) || (d->src[i] && tn_partition_is_partial(d->src[i]))) return true;
    }
    return row->rule(d, row->axes) && tn_partition_check(&d->out, d->node, d->n);
}

// ---- sums over devices ------------------------------------------------------------------------------------

static int count_partial(const struct tn_derive * d) {
    int count = 0;
    for (int i = 0; i < GGML_MAX_SRC; i++)
        count += d->src[i] && tn_partition_is_partial(d->src[i]);
    return count;
}

static bool is_partial(const struct tn_derive * d, int i) {
    return d->src[i] && tn_partition_is_partial(d->src[i]);
}

bool tn_derive_keeps_partial(const struct tn_derive * d) {
    const struct row * row = row_of(d->node->op);
    if (!row || d->node->view_src || d->node->type != GGML_TYPE_F32 || any_split(d)) return false;
    const int count = count_partial(d);
    switch (row->partial) {
    case PARTIAL_LINEAR: return count == 1 && is_partial(d, 0);
    case PARTIAL_EITHER: return count == 1;
    case PARTIAL_BOTH: return count == 2 && is_partial(d, 0) && is_partial(d, 1);
    case PARTIAL_SCALE: return tn_param_f32(d->node, 1) == 0.0f;
    case PARTIAL_NO: break;
    }
    return false;
}
