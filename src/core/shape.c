// SPDX-License-Identifier: MIT
// Arithmetic of shapes with overflow checks.
#include "core/shape.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "quant/type.h"

const char * tn_shape_text(char * buffer, const int64_t * ne) {
    snprintf(buffer, TN_SHAPE_TEXT, "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]", ne[0], ne[1],
             ne[2], ne[3]);
    return buffer;
}

const char * tn_shape_tensor_text(char * buffer, const struct ggml_tensor * t) {
    char shape[TN_SHAPE_TEXT];
    if (!t) return "NULL";
    snprintf(buffer, TN_SHAPE_TENSOR_TEXT, "'%.64s' %s %s", t->name, ggml_type_name(t->type),
             tn_shape_text(shape, t->ne));
    return buffer;
}

bool tn_shape_count(const int64_t * ne, int64_t * out) {
    char text[TN_SHAPE_TEXT];
    int64_t n = 1;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (ne[i] < 0) return tn_refuse("sizes %s: ne[%d] is negative", tn_shape_text(text, ne), i);
        if (!tn_i64_mul(n, ne[i], &n)) {
            return tn_refuse("sizes %s: the number of elements is 2^63 or more", tn_shape_text(text, ne));
        }
    }
    *out = n;
    return true;
}

bool tn_shape_strides(enum ggml_type type, const int64_t * ne, size_t * nb, size_t * bytes) {
    char text[TN_SHAPE_TEXT];
    int64_t count;
    size_t size;
    if (!tn_shape_count(ne, &count) || !tn_type_row_size(type, ne[0], &size)) return false;
    nb[0] = (size_t) tn_type_get(type)->type_size;
    bool fits = true;
    for (int i = 1; i < GGML_MAX_DIMS; i++) {
        nb[i] = size;
        fits = fits && tn_size_mul(size, (size_t) ne[i], &size);
    }
    // Clients and files count bytes in signed numbers too.
    if (!fits || size > INT64_MAX) {
        return tn_refuse("sizes %s of type %s: 2^63 bytes or more", tn_shape_text(text, ne),
                         ggml_type_name(type));
    }
    *bytes = size;
    return true;
}

// The same without a text; SIZE_MAX for what does not fit.
static size_t extent(enum ggml_type type, const int64_t * ne, const size_t * nb) {
    const struct tn_type * t = tn_type_get(type);
    if (!t || ne[0] <= 0 || ne[1] <= 0 || ne[2] <= 0 || ne[3] <= 0) return 0;
    size_t total = (size_t) t->type_size, step;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        // Blocks of several elements count as one along the row.
        const int64_t n = i == 0 && t->block_size > 1 ? ne[0] / t->block_size : ne[i];
        if (n == 0) continue;
        if (!tn_size_mul((size_t) (n - 1), nb[i], &step) || !tn_size_add(total, step, &total))
            return SIZE_MAX;
    }
    return total;
}

bool tn_shape_extent(enum ggml_type type, const int64_t * ne, const size_t * nb, size_t * bytes) {
    char text[TN_SHAPE_TEXT];
    if (!tn_type_get(type)) return tn_refuse("type %d is unknown", (int) type);
    *bytes = extent(type, ne, nb);
    if (*bytes <= INT64_MAX) return true;
    return tn_refuse("sizes %s: strides reach 2^63 bytes or more", tn_shape_text(text, ne));
}

// The public functions below take tensors made by hand too: products that do not fit saturate.

static int64_t product(const int64_t * ne, int from) {
    int64_t n = 1;
    for (int i = from; i < GGML_MAX_DIMS; i++) {
        if (!tn_i64_mul(n, ne[i], &n)) n = INT64_MAX;
    }
    return n;
}

int64_t ggml_nelements(const struct ggml_tensor * t) {
    return !t || tn_shape_empty(t) ? 0 : product(t->ne, 0);
}

int64_t ggml_nrows(const struct ggml_tensor * t) {
    return t ? product(t->ne, 1) : 0;
}

size_t ggml_nbytes(const struct ggml_tensor * t) {
    return t ? extent(t->type, t->ne, t->nb) : 0;
}

size_t ggml_nbytes_pad(const struct ggml_tensor * t) {
    size_t n = ggml_nbytes(t);
    return tn_size_align(n, GGML_MEM_ALIGN, &n) ? n : SIZE_MAX;
}

size_t ggml_element_size(const struct ggml_tensor * t) {
    return t ? ggml_type_size(t->type) : 0;
}

int ggml_n_dims(const struct ggml_tensor * t) {
    for (int i = GGML_MAX_DIMS - 1; t && i > 0; i--) {
        if (t->ne[i] > 1) return i + 1;
    }
    return 1;
}

bool ggml_is_empty(const struct ggml_tensor * t) {
    return t && tn_shape_empty(t);
}

bool ggml_is_view(const struct ggml_tensor * t) {
    return t && t->view_src;
}

// Are all sizes from dimension `n` on 1?
static bool has_dims(const struct ggml_tensor * t, int n) {
    for (int i = n; t && i < GGML_MAX_DIMS; i++) {
        if (t->ne[i] != 1) return false;
    }
    return t != NULL;
}

bool ggml_is_scalar(const struct ggml_tensor * t) {
    return has_dims(t, 0);
}

bool ggml_is_vector(const struct ggml_tensor * t) {
    return has_dims(t, 1);
}

bool ggml_is_matrix(const struct ggml_tensor * t) {
    return has_dims(t, 2);
}

bool ggml_is_3d(const struct ggml_tensor * t) {
    return has_dims(t, 3);
}

bool ggml_is_transposed(const struct ggml_tensor * t) {
    return t && t->nb[0] > t->nb[1];
}

bool ggml_is_permuted(const struct ggml_tensor * t) {
    return t && (t->nb[0] > t->nb[1] || t->nb[1] > t->nb[2] || t->nb[2] > t->nb[3]);
}

// Without gaps in the dimensions below `end`, but for those of 1 .. n_free, whose strides are taken as they
// are.
static bool is_dense(const struct ggml_tensor * t, int n_free, int end) {
    const struct tn_type * type = t ? tn_type_get(t->type) : NULL;
    if (!type) return false;
    if (t->ne[0] != type->block_size && t->nb[0] != (size_t) type->type_size) return false;
    size_t next = (size_t) type->type_size * (size_t) (t->ne[0] / type->block_size);
    for (int i = 1; i < end; i++) {
        if (i <= n_free) {
            next = t->nb[i] * (size_t) t->ne[i]; // also of size 1: its stride is the distance of what follows
        } else {
            if (t->ne[i] != 1 && t->nb[i] != next) return false;
            next *= (size_t) t->ne[i];
        }
    }
    return true;
}

bool ggml_is_contiguous(const struct ggml_tensor * t) {
    return is_dense(t, 0, GGML_MAX_DIMS);
}

bool ggml_is_contiguous_0(const struct ggml_tensor * t) {
    return is_dense(t, 0, GGML_MAX_DIMS);
}

bool ggml_is_contiguous_1(const struct ggml_tensor * t) {
    return is_dense(t, 1, GGML_MAX_DIMS);
}

bool ggml_is_contiguous_2(const struct ggml_tensor * t) {
    return is_dense(t, 2, GGML_MAX_DIMS);
}

bool ggml_is_contiguous_to_1(const struct ggml_tensor * t) {
    return is_dense(t, 0, 1);
}

bool ggml_is_contiguous_to_2(const struct ggml_tensor * t) {
    return is_dense(t, 0, 2);
}

bool ggml_is_contiguous_to_3(const struct ggml_tensor * t) {
    return is_dense(t, 0, 3);
}

bool ggml_is_contiguous_rows(const struct ggml_tensor * t) {
    return is_dense(t, 0, 1);
}

bool ggml_is_contiguously_allocated(const struct ggml_tensor * t) {
    const struct tn_type * type = t ? tn_type_get(t->type) : NULL;
    size_t bytes;
    return type &&
           tn_size_mul((size_t) (ggml_nelements(t) / type->block_size), (size_t) type->type_size, &bytes) &&
           ggml_nbytes(t) == bytes;
}

bool ggml_is_contiguous_channels(const struct ggml_tensor * t) {
    return t && t->nb[0] > t->nb[2] && t->nb[1] > t->nb[0] && t->nb[2] == ggml_type_size(t->type);
}

bool ggml_are_same_shape(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    return a && b && tn_shape_same(a, b);
}

bool ggml_are_same_stride(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    return a && b && tn_shape_same_strides(a, b);
}

bool ggml_can_repeat(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    if (!a || !b) return false;
    if (tn_shape_empty(a)) return tn_shape_empty(b);
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (!tn_shape_divides(a->ne[i], b->ne[i])) return false;
    }
    return true;
}

void ggml_unravel_index(const struct ggml_tensor * t, int64_t i, int64_t * i0, int64_t * i1, int64_t * i2,
                        int64_t * i3) {
    int64_t * const out[GGML_MAX_DIMS] = { i0, i1, i2, i3 };
    const bool known = t && !tn_shape_empty(t);
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        const bool last = d == GGML_MAX_DIMS - 1;
        if (out[d]) *out[d] = !known ? 0 : last ? i : i % t->ne[d];
        if (known) i /= t->ne[d];
    }
}
