// SPDX-License-Identifier: MIT
// Views of split tensors, by addresses.
#include "backend/meta/window.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/shape.h"

// A dimension in units that have an address: blocks of rows, else elements.
static size_t count_of(const struct ggml_tensor * t, int d) {
    return (size_t) (d == 0 ? t->ne[0] / ggml_blck_size(t->type) : t->ne[d]);
}

static bool refuse(const struct ggml_tensor * view, const struct ggml_tensor * source,
                   const struct tn_partition * p, int n, const char * why) {
    char a[TN_SHAPE_TENSOR_TEXT], b[TN_SHAPE_TENSOR_TEXT], split[TN_PARTITION_TEXT];
    return tn_refuse("%s of %s, split on %s, %s", tn_shape_tensor_text(a, view),
                     tn_shape_tensor_text(b, source), tn_partition_text(split, p, n), why);
}

// The period of the split axis. false: smaller dimensions reach over one step of it.
static bool find_period(const struct ggml_tensor * source, int axis, struct tn_window * w) {
    const size_t unit = source->nb[axis], span = unit * count_of(source, axis);
    size_t inner = ggml_type_size(source->type);
    w->period_dim = -1;
    w->period = 0;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (d == axis || count_of(source, d) == 1) continue;
        if (source->nb[d] < span) {
            inner += (count_of(source, d) - 1) * source->nb[d];
        } else if (w->period_dim < 0 || source->nb[d] < w->period) {
            w->period_dim = d;
            w->period = source->nb[d];
        }
    }
    return inner <= unit;
}

static bool is_outer(const struct tn_window * w, size_t stride) {
    return w->period_dim >= 0 && stride >= w->period;
}

// The dimension of the view that walks along the split axis: of those that leave one unit of it the one with
// the largest stride. If none does, one of size 1 stands for the only step. -1: there is none.
static int find_dim(const struct ggml_tensor * view, const struct tn_window * w, size_t unit, int axis) {
    int found = -1;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        const size_t stride = view->nb[d], count = count_of(view, d);
        if (count == 1 || is_outer(w, stride)) continue;
        if (stride < unit && count * stride <= unit) continue;
        if (found < 0 || stride > view->nb[found]) found = d;
    }
    if (found >= 0) return found;
    if (view->ne[axis] == 1) return axis;
    for (int d = GGML_MAX_DIMS - 1; d >= 0; d--) {
        if (view->ne[d] == 1) return d;
    }
    return -1;
}

// Bytes that the dimensions below `dim` cover.
static size_t inner_extent(const struct ggml_tensor * view, const struct tn_window * w, int dim) {
    size_t extent = ggml_type_size(view->type);
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (d != dim && count_of(view, d) > 1 && !is_outer(w, view->nb[d]))
            extent += (count_of(view, d) - 1) * view->nb[d];
    }
    return extent;
}

static bool outer_strides_fit(const struct ggml_tensor * view, const struct tn_window * w) {
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (count_of(view, d) > 1 && is_outer(w, view->nb[d]) && view->nb[d] % w->period != 0) return false;
    }
    return true;
}

// The steps that the view takes. Beyond one period they begin anew, if periods have no gaps.
static bool find_range(const struct ggml_tensor * view, int dim, size_t span, int n, struct tn_window * w) {
    const int64_t total = (int64_t) (span / w->step), count = (int64_t) count_of(view, dim);
    tn_partition_copy(&w->partition, &w->steps, n);
    if (w->first + count <= total) {
        return tn_partition_range(&w->steps, n, w->first, count, &w->partition);
    }
    const bool dense = w->first == 0 && w->rest == 0 && w->period == span && count % total == 0;
    if (!dense) return tn_refuse("the view crosses the end of the split axis");
    return tn_partition_repeat(&w->partition, n, count / total);
}

bool tn_window_find(const struct ggml_tensor * view, const struct ggml_tensor * source,
                    const struct tn_partition * partition, size_t offset, int n, struct tn_window * w) {
    const int axis = (int) partition->axis;
    const size_t unit = source->nb[axis], span = unit * count_of(source, axis);
    if (view->type != source->type) return refuse(view, source, partition, n, "changes the type");
    if (span == 0 || !find_period(source, axis, w))
        return refuse(view, source, partition, n, "overlaps itself");
    const int dim = find_dim(view, w, unit, axis);
    if (dim < 0) return refuse(view, source, partition, n, "takes no step along the split");
    w->step = count_of(view, dim) > 1 ? view->nb[dim] : unit;
    w->outer = w->period_dim >= 0 ? offset / w->period : 0;
    const size_t inside = offset - w->outer * w->period;
    w->first = (int64_t) (inside / w->step);
    w->rest = inside % w->step;
    if (w->rest + inner_extent(view, w, dim) > w->step || !outer_strides_fit(view, w)) {
        return refuse(view, source, partition, n, "has rows that belong to several devices");
    }
    tn_partition_copy(&w->steps, partition, n);
    w->steps.axis = (enum ggml_backend_meta_split_axis) dim;
    const int64_t block = axis == 0 ? ggml_blck_size(source->type) : 1;
    if (!tn_partition_scale(&w->steps, n, (int64_t) unit, (int64_t) w->step * block) || span % w->step != 0 ||
        !find_range(view, dim, span, n, w)) {
        return refuse(view, source, partition, n, "is cut where a device's part goes on");
    }
    w->partition.axis = w->steps.axis;
    return dim > 0 || tn_partition_scale(&w->partition, n, ggml_blck_size(view->type), 1);
}

void tn_window_place(const struct tn_window * w, const struct ggml_tensor * view,
                     const struct ggml_tensor * source_part, int n, int j, struct ggml_tensor * part) {
    const size_t period = w->period_dim >= 0 ? source_part->nb[w->period_dim] : 0;
    tn_shape_copy(part->ne, view->ne);
    memcpy(part->nb, view->nb, sizeof(part->nb));
    part->view_offs = 0;
    part->ne[w->partition.axis] = tn_partition_length(&w->partition, n, j);
    if (part->ne[w->partition.axis] == 0) return; // nothing is there, with strides that look like some
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (is_outer(w, view->nb[d])) part->nb[d] = view->nb[d] / w->period * period;
        if (d > 0 && view->ne[d] == 1) part->nb[d] = part->nb[d - 1] * count_of(part, d - 1);
    }
    const size_t before = (size_t) tn_partition_before(&w->steps, n, j, w->first);
    part->view_offs = w->outer * period + before * w->step + w->rest;
}
