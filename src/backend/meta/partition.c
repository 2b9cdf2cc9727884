// SPDX-License-Identifier: MIT
// Arithmetic of split states.
#include "backend/meta/partition.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/str.h"
#include "core/shape.h"

static const int64_t * segment(const struct tn_partition * p, int n, uint32_t s) {
    return p->ne + (size_t) s * (size_t) n;
}

static int64_t sum_of(const int64_t * ne, int n) {
    int64_t sum = 0;
    for (int j = 0; j < n; j++)
        sum += ne[j];
    return sum;
}

size_t tn_partition_bytes(const struct tn_partition * p, int n) {
    return offsetof(struct tn_partition, ne) + (size_t) p->n_segments * (size_t) n * sizeof(p->ne[0]);
}

void tn_partition_copy(struct tn_partition * to, const struct tn_partition * from, int n) {
    if (to != from) memcpy(to, from, tn_partition_bytes(from, n));
}

void tn_partition_whole(struct tn_partition * p, enum ggml_backend_meta_split_axis axis, int n) {
    p->axis = axis;
    p->n_segments = 1;
    p->nr[0] = 1;
    for (int j = 0; j < n; j++)
        p->ne[j] = axis == GGML_BACKEND_SPLIT_AXIS_PARTIAL;
}

const char * tn_partition_text(char text[TN_PARTITION_TEXT], const struct tn_partition * p, int n) {
    struct tn_str s = tn_str_on(text, TN_PARTITION_TEXT);
    if (!tn_partition_is_split(p)) {
        tn_str_add(&s, "%s", ggml_backend_meta_split_axis_name(p->axis));
        return text;
    }
    tn_str_add(&s, "axis %d:", (int) p->axis);
    for (int j = 0; j < n; j++)
        tn_str_add(&s, " %" PRId64, tn_partition_length(p, n, j));
    return text;
}

// ---- from a program ---------------------------------------------------------------------------------------

static bool sum_fits(const struct tn_partition * p, int n, int64_t * total) {
    *total = 0;
    for (uint32_t s = 0; s < p->n_segments; s++) {
        for (int j = 0; j < n; j++) {
            int64_t all;
            const int64_t ne = segment(p, n, s)[j];
            if (ne < 0 || !tn_i64_mul(ne, p->nr[s], &all) || !tn_i64_add(*total, all, total)) return false;
        }
    }
    return true;
}

bool tn_partition_check(const struct tn_partition * p, const struct ggml_tensor * t, int n) {
    if (!tn_partition_is_split(p)) return true;
    char text[TN_SHAPE_TENSOR_TEXT], split[TN_PARTITION_TEXT];
    int64_t total;
    if (!sum_fits(p, n, &total) || total != t->ne[p->axis]) {
        return tn_refuse("%s cannot be divided by %s", tn_shape_tensor_text(text, t),
                         tn_partition_text(split, p, n));
    }
    const int64_t block = p->axis == GGML_BACKEND_SPLIT_AXIS_0 ? ggml_blck_size(t->type) : 1;
    for (uint32_t i = 0; i < p->n_segments * (uint32_t) n; i++) {
        if (p->ne[i] % block == 0) continue;
        return tn_refuse("rows of %s cannot be cut into %" PRId64 " elements: blocks have %" PRId64,
                         tn_shape_tensor_text(text, t), p->ne[i], block);
    }
    return true;
}

static bool check_partial(const struct tn_partition * p, const struct ggml_tensor * t) {
    if (!tn_partition_is_partial(p) || (t->type == GGML_TYPE_F32 && ggml_is_contiguous(t))) return true;
    char text[TN_SHAPE_TENSOR_TEXT];
    return tn_refuse("%s cannot be partial: sums are formed of contiguous f32",
                     tn_shape_tensor_text(text, t));
}

static bool is_known_axis(enum ggml_backend_meta_split_axis axis) {
    return (unsigned) axis <= GGML_BACKEND_SPLIT_AXIS_3 || axis == GGML_BACKEND_SPLIT_AXIS_MIRRORED ||
           axis == GGML_BACKEND_SPLIT_AXIS_PARTIAL;
}

bool tn_partition_read(struct tn_partition * p, const struct ggml_backend_meta_split_state * state,
                       const struct ggml_tensor * t, int n) {
    if (!is_known_axis(state->axis)) {
        return tn_refuse("'%s' is to be split on axis %d", t->name, (int) state->axis);
    }
    if (state->axis == GGML_BACKEND_SPLIT_AXIS_MIRRORED) {
        tn_partition_whole(p, state->axis, n);
        return true;
    }
    if (state->n_segments < 1 || state->n_segments > TN_PARTITION_SEGMENTS) {
        return tn_refuse("'%s' is to be split into %" PRIu32 " segments: 1 to %d can be", t->name,
                         state->n_segments, TN_PARTITION_SEGMENTS);
    }
    p->axis = state->axis;
    p->n_segments = tn_partition_is_partial(p) ? 1 : state->n_segments;
    memcpy(p->nr, state->nr, sizeof(p->nr));
    memcpy(p->ne, state->ne, (size_t) p->n_segments * (size_t) n * sizeof(p->ne[0]));
    if (!tn_partition_is_partial(p)) return tn_partition_check(p, t, n);
    p->nr[0] = 1;
    if (sum_of(p->ne, n) == 0) tn_partition_whole(p, p->axis, n);
    return check_partial(p, t);
}

// ---- sizes ------------------------------------------------------------------------------------------------

int64_t tn_partition_length(const struct tn_partition * p, int n, int j) {
    int64_t length = 0;
    for (uint32_t s = 0; s < p->n_segments; s++)
        length += segment(p, n, s)[j] * p->nr[s];
    return length;
}

int64_t tn_partition_total(const struct tn_partition * p, int n) {
    int64_t total = 0;
    for (uint32_t s = 0; s < p->n_segments; s++)
        total += sum_of(segment(p, n, s), n) * p->nr[s];
    return total;
}

int tn_partition_owner(const struct tn_partition * p, int n) {
    int owner = -1;
    for (int j = 0; tn_partition_is_split(p) && j < n; j++) {
        if (tn_partition_length(p, n, j) == 0) continue;
        if (owner >= 0) return -1;
        owner = j;
    }
    return owner;
}

static int64_t before_in_runs(const int64_t * ne, int j, int64_t at) {
    for (int k = 0; k < j; k++)
        at -= ne[k];
    return tn_max_i64(0, tn_min_i64(at, ne[j]));
}

int64_t tn_partition_before(const struct tn_partition * p, int n, int j, int64_t at) {
    int64_t count = 0;
    for (uint32_t s = 0; s < p->n_segments && at > 0; s++) {
        const int64_t * ne = segment(p, n, s);
        const int64_t once = sum_of(ne, n);
        const int64_t full = once > 0 ? tn_min_i64(p->nr[s], at / once) : 0;
        count += full * ne[j];
        at -= full * once;
        if (full == p->nr[s] || once == 0) continue;
        return count + before_in_runs(ne, j, at);
    }
    return count;
}

// ---- comparison -------------------------------------------------------------------------------------------

// One run after the other.
struct walk {
    const struct tn_partition * p;
    int n, j; // j: the next run's device
    uint32_t s, r;
    int64_t left; // of the run before
    int owner;
};

static bool next_run(struct walk * w) {
    while (w->left == 0) {
        if (w->j == w->n) {
            w->j = 0;
            w->r++;
        }
        while (w->s < w->p->n_segments && w->r >= w->p->nr[w->s]) {
            w->r = 0;
            w->s++;
        }
        if (w->s == w->p->n_segments) return false;
        w->owner = w->j;
        w->left = segment(w->p, w->n, w->s)[w->j++];
    }
    return true;
}

bool tn_partition_same(const struct tn_partition * a, const struct tn_partition * b, int n) {
    if (!tn_partition_is_split(a) || !tn_partition_is_split(b)) return a->axis == b->axis;
    struct walk x = { .p = a, .n = n }, y = { .p = b, .n = n };
    for (;;) {
        const bool more = next_run(&x);
        if (next_run(&y) != more) return false;
        if (!more) return true;
        if (x.owner != y.owner) return false;
        const int64_t both = tn_min_i64(x.left, y.left);
        x.left -= both;
        y.left -= both;
    }
}

// ---- change -----------------------------------------------------------------------------------------------

bool tn_partition_scale(struct tn_partition * p, int n, int64_t mul, int64_t div) {
    for (uint32_t i = 0; i < p->n_segments * (uint32_t) n; i++) {
        int64_t product;
        if (!tn_i64_mul(p->ne[i], mul, &product) || product % div != 0) {
            return tn_refuse("a part of %" PRId64 " x %" PRId64 " is no multiple of %" PRId64, p->ne[i], mul,
                             div);
        }
        p->ne[i] = product / div;
    }
    return true;
}

// One more segment; the same as the last one lengthens that.
static bool append(struct tn_partition * p, int n, const int64_t * ne, int64_t times) {
    if (times == 0 || sum_of(ne, n) == 0) return true;
    const size_t bytes = (size_t) n * sizeof(ne[0]);
    if (p->n_segments > 0 && memcmp(segment(p, n, p->n_segments - 1), ne, bytes) == 0 &&
        p->nr[p->n_segments - 1] + times <= UINT32_MAX) {
        p->nr[p->n_segments - 1] += (uint32_t) times;
        return true;
    }
    if (p->n_segments == TN_PARTITION_SEGMENTS || times > UINT32_MAX) {
        return tn_refuse("the parts would have more than %d segments", TN_PARTITION_SEGMENTS);
    }
    memcpy(p->ne + (size_t) p->n_segments * (size_t) n, ne, bytes);
    p->nr[p->n_segments++] = (uint32_t) times;
    return true;
}

// What of the runs `ne`, the first of which starts at 0, is in begin .. end - 1.
static bool append_cut(struct tn_partition * p, int n, const int64_t * ne, int64_t begin, int64_t end) {
    int64_t cut[GGML_BACKEND_META_MAX_DEVICES];
    int64_t at = 0;
    for (int j = 0; j < n; j++) {
        cut[j] = tn_max_i64(0, tn_min_i64(at + ne[j], end) - tn_max_i64(at, begin));
        at += ne[j];
    }
    return append(p, n, cut, 1);
}

// A segment of `times` repetitions of `once` elements, cut to begin .. end - 1 of it: the rest of a
// repetition, whole ones, the start of one.
static bool append_range(struct tn_partition * p, int n, const int64_t * ne, int64_t begin, int64_t end) {
    const int64_t once = sum_of(ne, n);
    const int64_t first = begin / once, last = end / once;
    if (begin % once == 0 && end % once == 0) return append(p, n, ne, last - first);
    if (first == last) return append_cut(p, n, ne, begin % once, end % once);
    const int64_t whole = first + (begin % once != 0);
    return (begin % once == 0 || append_cut(p, n, ne, begin % once, once)) &&
           append(p, n, ne, last - whole) && (end % once == 0 || append_cut(p, n, ne, 0, end % once));
}

bool tn_partition_range(const struct tn_partition * p, int n, int64_t begin, int64_t count,
                        struct tn_partition * out) {
    struct tn_partition cut = { .axis = p->axis };
    const int64_t end = begin + count;
    int64_t at = 0;
    for (uint32_t s = 0; s < p->n_segments; s++) {
        const int64_t * ne = segment(p, n, s);
        const int64_t size = sum_of(ne, n) * p->nr[s];
        const int64_t from = tn_max_i64(begin, at) - at, to = tn_min_i64(end, at + size) - at;
        if (from < to && !append_range(&cut, n, ne, from, to)) return false;
        at += size;
    }
    if (cut.n_segments == 0) { // nothing of it
        cut.n_segments = cut.nr[0] = 1;
    }
    tn_partition_copy(out, &cut, n);
    return true;
}

bool tn_partition_repeat(struct tn_partition * p, int n, int64_t times) {
    struct tn_partition all = { .axis = p->axis };
    if (p->n_segments == 1) {
        if (!append(&all, n, p->ne, times * p->nr[0])) return false;
    }
    for (int64_t i = 0; p->n_segments > 1 && i < times; i++) {
        for (uint32_t s = 0; s < p->n_segments; s++) {
            if (!append(&all, n, segment(p, n, s), p->nr[s])) return false;
        }
    }
    if (all.n_segments == 0) return true;
    tn_partition_copy(p, &all, n);
    return true;
}
