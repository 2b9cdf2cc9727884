// SPDX-License-Identifier: MIT
// Arithmetic of shapes with overflow checks.
#include "core/shape.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "quant/type.h"

const char * tn_shape_text(char * buffer, const int64_t * ne) {
    snprintf(buffer, TN_SHAPE_TEXT, "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]", ne[0], ne[1], ne[2], ne[3]);
    return buffer;
}

const char * tn_shape_tensor_text(char * buffer, const struct ggml_tensor * t) {
    char shape[TN_SHAPE_TEXT];
    if (!t) return "NULL";
    snprintf(buffer, TN_SHAPE_TENSOR_TEXT, "'%.64s' %s %s", t->name, ggml_type_name(t->type), tn_shape_text(shape, t->ne));
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
        return tn_refuse("sizes %s of type %s: 2^63 bytes or more", tn_shape_text(text, ne), ggml_type_name(type));
    }
    *bytes = size;
    return true;
}

bool tn_shape_extent(enum ggml_type type, const int64_t * ne, const size_t * nb, size_t * bytes) {
    const struct tn_type * t = tn_type_get(type);
    if (!t) return tn_refuse("type %d is unknown", (int) type);
    *bytes = 0;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (ne[i] <= 0) return true;
    }
    size_t total = (size_t) t->type_size, step;
    bool fits = true;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        // Blocks of several elements count as one along the row.
        const int64_t n = i == 0 && t->block_size > 1 ? ne[0] / t->block_size : ne[i];
        if (n == 0) continue;
        fits = fits && tn_size_mul((size_t) (n - 1), nb[i], &step) && tn_size_add(total, step, &total);
    }
    char text[TN_SHAPE_TEXT];
    if (!fits || total > INT64_MAX) return tn_refuse("sizes %s: strides reach 2^63 bytes or more", tn_shape_text(text, ne));
    *bytes = total;
    return true;
}
