// SPDX-License-Identifier: MIT
// ggml_quantize_*: rows of f32 into blocks, with everything checked that a caller can get wrong.
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/half.h"
#include "base/log.h"
#include "quant/type.h"

// One call of ggml_quantize_chunk; the names of its parameters.
struct chunk {
    enum ggml_type type;
    const float * src;
    void * dst;
    int64_t start;
    int64_t nrows;
    int64_t n_per_row;
    const float * imatrix; // NULL also for types that ignore it
};

void ggml_quantize_init(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    if (t && t->prepare && !t->prepare()) {
        TN_LOG_ERROR("ggml_quantize_init: %s: %s\n", ggml_type_name(type), tn_error_text());
    }
}

void ggml_quantize_free(void) {
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const struct tn_type * t = tn_type_get((enum ggml_type) i);
        if (t && t->release) t->release();
    }
}

bool ggml_quantize_requires_imatrix(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t && t->needs_weights;
}

static bool is_finite_bits(uint32_t bits) {
    return (bits & 0x7f800000u) != 0x7f800000u;
}

// Index of the first NaN or infinity, n if there is none. The first pass only asks whether, and vectorises.
static int64_t find_non_finite(const float * x, int64_t n) {
    uint32_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        any |= (uint32_t) !is_finite_bits(tn_f32_to_bits(x[i]));
    }
    if (!any) return n;
    int64_t i = 0;
    while (is_finite_bits(tn_f32_to_bits(x[i]))) {
        i++;
    }
    return i;
}

static bool check_shape(const struct chunk * c, const struct tn_type * t) {
    const char * name = ggml_type_name(c->type);
    if (c->n_per_row <= 0 || c->n_per_row % t->block_size != 0) {
        return tn_refuse("%s: rows of %" PRId64 " elements are no whole number of blocks of %d", name,
                         c->n_per_row, t->block_size);
    }
    if (c->start < 0 || c->start % c->n_per_row != 0) {
        return tn_refuse("%s: start %" PRId64 " is not the beginning of a row of %" PRId64, name, c->start,
                         c->n_per_row);
    }
    int64_t n_elements, n_bytes;
    const bool fits = c->nrows >= 0 && tn_i64_mul(c->nrows, c->n_per_row, &n_elements) &&
                      tn_i64_add(c->start, n_elements, &n_elements) &&
                      tn_i64_mul(n_elements, sizeof(double), &n_bytes);
    if (!fits) return tn_refuse("%s: %" PRId64 " rows of %" PRId64 " elements", name, c->nrows, c->n_per_row);
    return true;
}

static bool check_weights(const struct chunk * c, const struct tn_type * t) {
    const char * name = ggml_type_name(c->type);
    if (!c->imatrix) return !t->needs_weights || tn_refuse("%s: needs importance weights", name);
    for (int64_t i = 0; i < c->n_per_row; i++) {
        if (!(c->imatrix[i] >= 0.0f) || !is_finite_bits(tn_f32_to_bits(c->imatrix[i]))) {
            return tn_refuse("%s: importance weight of column %" PRId64 " is %g", name, i,
                             (double) c->imatrix[i]);
        }
    }
    return true;
}

static bool check_chunk(const struct chunk * c, const struct tn_type * t) {
    if (!t) return tn_refuse("there is no tensor type %d", (int) c->type);
    if (t->no_chunk || !(t->encode || t->encode_ref)) {
        return tn_refuse("%s: is not a type for storing floats", ggml_type_name(c->type));
    }
    if (!check_shape(c, t)) return false;
    if (c->nrows > 0 && (!c->src || !c->dst)) {
        return tn_refuse("%s: no %s", ggml_type_name(c->type), c->src ? "destination" : "source");
    }
    return check_weights(c, t);
}

static bool encode_rows(const struct chunk * c, const struct tn_type * t) {
    const size_t row_size = ggml_row_size(c->type, c->n_per_row);
    const int64_t first = c->start / c->n_per_row;
    for (int64_t r = first; r < first + c->nrows; r++) {
        const float * x = c->src + r * c->n_per_row;
        void * y = (char *) c->dst + (size_t) r * row_size;
        const int64_t bad = find_non_finite(x, c->n_per_row);
        if (bad < c->n_per_row) {
            return tn_refuse("%s: row %" PRId64 ", column %" PRId64 " is %g", ggml_type_name(c->type), r, bad,
                             (double) x[bad]);
        }
        if (!t->encode) {
            t->encode_ref(x, y, c->n_per_row);
        } else if (!t->encode(x, y, c->n_per_row, c->imatrix)) {
            return false;
        }
    }
    return true;
}

size_t ggml_quantize_chunk(enum ggml_type type, const float * src, void * dst, int64_t start, int64_t nrows,
                           int64_t n_per_row, const float * imatrix) {
    const struct tn_type * t = tn_type_get(type);
    const struct chunk c = {
        .type = type,
        .src = src,
        .dst = dst,
        .start = start,
        .nrows = nrows,
        .n_per_row = n_per_row,
        .imatrix = t && t->encode ? imatrix : NULL,
    };
    const bool ok = check_chunk(&c, t) && (!t->prepare || t->prepare()) && encode_rows(&c, t);
    if (ok) return (size_t) nrows * ggml_row_size(type, n_per_row);
    tn_error_prefix("ggml_quantize_chunk");
    TN_LOG_ERROR("%s\n", tn_error_text());
    return 0;
}
