// SPDX-License-Identifier: MIT
// Contents of tensors in meta buffers: bytes of the whole go to, or come from, the slices that have them.
//
// A range of bytes is cut into a started period, whole ones and one that ends early (a period: all that has
// the same indices above the split axis). In whole periods, and in repetitions of a segment, the pieces of a
// device are at equal distances: one 2-D transfer each.
#include <string.h>

#include "backend/meta/meta_int.h"
#include "base/bits.h"
#include "base/error.h"
#include "core/shape.h"

// n pieces of `size` bytes: where in the whole, and where in a slice.
struct strip {
    size_t size, n;
    size_t whole, whole_stride;
    size_t part, part_stride;
};

struct transfer {
    const struct tn_slices * s;
    int n;
    ggml_backend_t * backends; // NULL: blocking
    size_t offset, size;       // of the whole
    const char * from;         // one of these
    char * to;
    const uint8_t * fill;
    void (*move)(const struct transfer * x, int j, const struct strip * strip);
};

// ---- one strip --------------------------------------------------------------------------------------------

static void move_in(const struct transfer * x, int j, const struct strip * p) {
    struct ggml_tensor * part = x->s->of[j];
    const char * from = x->from + (p->whole - x->offset);
    if (!x->backends) {
        ggml_backend_tensor_set_2d(part, from, p->part, p->size, p->n, p->part_stride, p->whole_stride);
    } else if (p->n == 1) {
        ggml_backend_tensor_set_async(x->backends[j], part, from, p->part, p->size);
    } else {
        ggml_backend_tensor_set_2d_async(x->backends[j], part, from, p->part, p->size, p->n, p->part_stride,
                                         p->whole_stride);
    }
}

static void move_out(const struct transfer * x, int j, const struct strip * p) {
    const struct ggml_tensor * part = x->s->of[j];
    char * to = x->to + (p->whole - x->offset);
    if (!x->backends) {
        ggml_backend_tensor_get_2d(part, to, p->part, p->size, p->n, p->part_stride, p->whole_stride);
    } else if (p->n == 1) {
        ggml_backend_tensor_get_async(x->backends[j], part, to, p->part, p->size);
    } else {
        ggml_backend_tensor_get_2d_async(x->backends[j], part, to, p->part, p->size, p->n, p->part_stride,
                                         p->whole_stride);
    }
}

static void move_fill(const struct transfer * x, int j, const struct strip * p) {
    for (size_t i = 0; i < p->n; i++)
        ggml_backend_tensor_memset(x->s->of[j], *x->fill, p->part + i * p->part_stride, p->size);
}

static void move(const struct transfer * x, int j, struct strip strip) {
    if (strip.size > 0 && strip.n > 0) x->move(x, j, &strip);
}

// ---- contiguous tensors -----------------------------------------------------------------------------------

struct layout {
    const struct tn_partition * p;
    size_t unit;   // bytes of one step along the axis
    int64_t block; // elements of one step
    size_t period; // bytes, of the whole
    size_t part_period[GGML_BACKEND_META_MAX_DEVICES];
};

static struct layout layout_of(const struct transfer * x) {
    const struct ggml_tensor * t = x->s->tensor;
    struct layout l = { .p = x->s->partition };
    l.unit = t->nb[l.p->axis];
    l.block = l.p->axis == GGML_BACKEND_SPLIT_AXIS_0 ? ggml_blck_size(t->type) : 1;
    l.period = l.unit * (size_t) (t->ne[l.p->axis] / l.block);
    for (int j = 0; j < x->n; j++)
        l.part_period[j] = l.unit * (size_t) (tn_partition_length(l.p, x->n, j) / l.block);
    return l;
}

// Period number `at`, bytes begin .. end - 1 of it, run by run.
static void move_started(const struct transfer * x, const struct layout * l, size_t at, size_t begin,
                         size_t end) {
    size_t done[GGML_BACKEND_META_MAX_DEVICES] = { 0 }, whole = 0;
    for (uint32_t s = 0; s < l->p->n_segments; s++) {
        for (uint64_t run = 0; run < (uint64_t) l->p->nr[s] * (uint64_t) x->n; run++) {
            const int j = (int) (run % (uint64_t) x->n);
            const size_t size = (size_t) (l->p->ne[s * (uint32_t) x->n + (uint32_t) j] / l->block) * l->unit;
            const size_t from = tn_max_size(begin, whole), to = tn_min_size(end, whole + size);
            if (from < to) {
                move(x, j,
                     (struct strip){ .size = to - from,
                                     .n = 1,
                                     .whole = at * l->period + from,
                                     .part = at * l->part_period[j] + done[j] + (from - whole) });
            }
            done[j] += size;
            whole += size;
        }
    }
}

// Where the runs of a segment are.
struct runs {
    size_t size, whole, part; // of the first one, in the first period
    size_t n, whole_stride, part_stride;
};

// All runs of one device and segment in `n` periods: the longer of the two rows is one transfer.
static void move_runs(const struct transfer * x, const struct layout * l, int j, const struct runs * r,
                      size_t n) {
    const bool rows_are_periods = n >= r->n;
    const size_t calls = rows_are_periods ? r->n : n;
    for (size_t i = 0; i < calls; i++) {
        struct strip strip = { .size = r->size, .whole = r->whole, .part = r->part };
        strip.whole += i * (rows_are_periods ? r->whole_stride : l->period);
        strip.part += i * (rows_are_periods ? r->part_stride : l->part_period[j]);
        strip.n = rows_are_periods ? n : r->n;
        strip.whole_stride = rows_are_periods ? l->period : r->whole_stride;
        strip.part_stride = rows_are_periods ? l->part_period[j] : r->part_stride;
        move(x, j, strip);
    }
}

// Periods first .. first + n - 1.
static void move_periods(const struct transfer * x, const struct layout * l, size_t first, size_t n) {
    size_t done[GGML_BACKEND_META_MAX_DEVICES] = { 0 }, whole = first * l->period;
    for (uint32_t s = 0; s < l->p->n_segments; s++) {
        const int64_t * ne = l->p->ne + (size_t) s * (size_t) x->n;
        size_t once = 0, at = whole;
        for (int j = 0; j < x->n; j++)
            once += (size_t) (ne[j] / l->block) * l->unit;
        for (int j = 0; j < x->n; j++) {
            const size_t size = (size_t) (ne[j] / l->block) * l->unit;
            const struct runs r = { size, at, first * l->part_period[j] + done[j], l->p->nr[s], once, size };
            move_runs(x, l, j, &r, n);
            done[j] += size * l->p->nr[s];
            at += size;
        }
        whole += once * l->p->nr[s];
    }
}

static void move_contiguous(const struct transfer * x) {
    const struct layout l = layout_of(x);
    const size_t end = x->offset + x->size;
    size_t first = x->offset / l.period;
    if (x->offset % l.period != 0 || end < (first + 1) * l.period) {
        move_started(x, &l, first, x->offset % l.period, tn_min_size(end - first * l.period, l.period));
        first++;
    }
    const size_t last = end / l.period;
    if (last > first) move_periods(x, &l, first, last - first);
    if (last >= first && end % l.period != 0) move_started(x, &l, last, 0, end % l.period);
}

// ---- others -----------------------------------------------------------------------------------------------

// Element by element, or block by block: rare, small, and of any strides.
static void move_element(const struct transfer * x, const int64_t * i, size_t size) {
    const struct ggml_tensor * t = x->s->tensor;
    const struct tn_partition * p = x->s->partition;
    const int64_t block = ggml_blck_size(t->type);
    const int64_t along = i[p->axis] * (p->axis == GGML_BACKEND_SPLIT_AXIS_0 ? block : 1);
    size_t whole = 0, part = 0;
    int j = 0;
    while (j + 1 < x->n &&
           tn_partition_before(p, x->n, j, along + 1) == tn_partition_before(p, x->n, j, along))
        j++;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        int64_t at = i[d];
        whole += (size_t) at * t->nb[d];
        if (d == (int) p->axis) at = tn_partition_before(p, x->n, j, along) / (d == 0 ? block : 1);
        part += (size_t) at * x->s->of[j]->nb[d];
    }
    const size_t from = tn_max_size(whole, x->offset), to = tn_min_size(whole + size, x->offset + x->size);
    if (from < to)
        move(x, j, (struct strip){ .size = to - from, .n = 1, .whole = from, .part = part + from - whole });
}

static void move_strided(const struct transfer * x) {
    const struct ggml_tensor * t = x->s->tensor;
    const int64_t n0 = t->ne[0] / ggml_blck_size(t->type), n = n0 * t->ne[1] * t->ne[2] * t->ne[3];
    for (int64_t k = 0; k < n; k++) {
        const int64_t i[GGML_MAX_DIMS] = { k % n0, k / n0 % t->ne[1], k / n0 / t->ne[1] % t->ne[2],
                                           k / n0 / t->ne[1] / t->ne[2] };
        move_element(x, i, ggml_type_size(t->type));
    }
}

static bool is_ready(const struct tn_slices * s) {
    return s->made || tn_refuse("'%s' has no value yet: its graph was not computed", s->tensor->name);
}

static void move_split(const struct transfer * x) {
    if (ggml_is_contiguous(x->s->tensor)) {
        move_contiguous(x);
    } else {
        move_strided(x);
    }
}

// ---- partial ----------------------------------------------------------------------------------------------

static bool check_floats(const struct transfer * x) {
    const struct ggml_tensor * t = x->s->tensor;
    if (t->type == GGML_TYPE_F32 && x->offset % sizeof(float) == 0 && x->size % sizeof(float) == 0)
        return true;
    return tn_refuse("'%s' is a sum over devices: whole f32 elements of it can be read and written", t->name);
}

static void wait_for_all(const struct transfer * x) {
    for (int j = 0; x->backends && j < x->n; j++)
        ggml_backend_synchronize(x->backends[j]);
}

// The first device that contributes gets the value, others zeros: so the sum is exact.
static bool set_partial(const struct transfer * x) {
    if (!check_floats(x)) return false;
    wait_for_all(x);
    int first = 0;
    while (first + 1 < x->n && x->s->partition->ne[first] == 0)
        first++;
    for (int j = 0; j < x->n; j++) {
        if (j == first) {
            ggml_backend_tensor_set(x->s->of[j], x->from, x->offset, x->size);
        } else {
            ggml_backend_tensor_memset(x->s->of[j], 0, x->offset, x->size);
        }
    }
    return true;
}

static bool get_partial(const struct transfer * x) {
    float * addend = check_floats(x) ? tn_mem_alloc(x->size, TN_MEM_WORK) : NULL;
    if (!addend) return false;
    wait_for_all(x);
    ggml_backend_tensor_get(x->s->of[0], x->to, x->offset, x->size);
    for (int j = 1; j < x->n; j++) {
        ggml_backend_tensor_get(x->s->of[j], addend, x->offset, x->size);
        for (size_t i = 0; i < x->size / sizeof(float); i++) {
            float sum;
            memcpy(&sum, x->to + i * sizeof(float), sizeof(sum));
            sum += addend[i];
            memcpy(x->to + i * sizeof(float), &sum, sizeof(sum));
        }
    }
    tn_mem_free(addend);
    return true;
}

// ---- the three transfers ----------------------------------------------------------------------------------

// The range in each of the first n slices.
static void move_all(const struct transfer * x, int n) {
    for (int j = 0; j < n; j++)
        move(x, j, (struct strip){ .size = x->size, .n = 1, .whole = x->offset, .part = x->offset });
}

bool tn_scatter_set(const struct tn_slices * s, int n, ggml_backend_t * backends, const void * data,
                    size_t offset, size_t size) {
    const struct transfer x = {
        .s = s, .n = n, .backends = backends, .offset = offset, .size = size, .from = data, .move = move_in
    };
    if (!is_ready(s)) return false;
    if (tn_partition_is_partial(s->partition)) return set_partial(&x);
    if (tn_partition_is_split(s->partition)) {
        move_split(&x);
    } else {
        move_all(&x, n);
    }
    return true;
}

bool tn_scatter_get(const struct tn_slices * s, int n, ggml_backend_t * backends, void * data, size_t offset,
                    size_t size) {
    const struct transfer x = {
        .s = s, .n = n, .backends = backends, .offset = offset, .size = size, .to = data, .move = move_out
    };
    if (!is_ready(s)) return false;
    if (tn_partition_is_partial(s->partition)) return get_partial(&x);
    if (tn_partition_is_split(s->partition)) {
        move_split(&x);
    } else {
        move_all(&x, 1);
    }
    return true;
}

bool tn_scatter_fill(const struct tn_slices * s, int n, uint8_t value, size_t offset, size_t size) {
    const struct transfer x = {
        .s = s, .n = n, .offset = offset, .size = size, .fill = &value, .move = move_fill
    };
    if (!is_ready(s)) return false;
    if (tn_partition_is_partial(s->partition) && value != 0) {
        return tn_refuse("'%s' is a sum over devices: it can be filled with zeros only", s->tensor->name);
    }
    if (tn_partition_is_split(s->partition)) {
        move_split(&x);
    } else {
        move_all(&x, n);
    }
    return true;
}
