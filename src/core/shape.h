// SPDX-License-Identifier: MIT
// Shapes: predicates on sizes and strides, and their arithmetic with overflow checks.
#ifndef TN_CORE_SHAPE_H
#define TN_CORE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "ggml.h"

TN_INLINE bool tn_shape_same(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    return memcmp(a->ne, b->ne, sizeof(a->ne)) == 0;
}

TN_INLINE bool tn_shape_same_strides(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    return memcmp(a->nb, b->nb, sizeof(a->nb)) == 0;
}

TN_INLINE bool tn_shape_empty(const struct ggml_tensor * t) {
    return t->ne[0] == 0 || t->ne[1] == 0 || t->ne[2] == 0 || t->ne[3] == 0;
}

TN_INLINE void tn_shape_copy(int64_t * to, const int64_t * from) {
    memcpy(to, from, 4 * sizeof(int64_t));
}

TN_INLINE void tn_shape_set(int64_t * ne, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    ne[0] = ne0;
    ne[1] = ne1;
    ne[2] = ne2;
    ne[3] = ne3;
}

// Does ne divide the other size (0 only divides 0)?
TN_INLINE bool tn_shape_divides(int64_t ne, int64_t other) {
    return ne == 0 ? other == 0 : other % ne == 0;
}

// "[3, 4, 1, 1]" and "'name' f32 [3, 4, 1, 1]" into a buffer of the caller; returns the buffer.
enum { TN_SHAPE_TEXT = 128, TN_SHAPE_TENSOR_TEXT = 256 };
TN_API const char * tn_shape_text(char * buffer, const int64_t * ne);
TN_API const char * tn_shape_tensor_text(char * buffer, const struct ggml_tensor * t);

// Number of elements. false with a text: a negative size, or a product (taken from ne[0] on) of 2^63 or more.
TN_API bool tn_shape_count(const int64_t * ne, int64_t * out);

// Contiguous strides and bytes of a new tensor of this type and these sizes. false with a text.
TN_API bool tn_shape_strides(enum ggml_type type, const int64_t * ne, size_t * nb, size_t * bytes);

// Bytes from the first to behind the last element of a strided tensor (ggml_nbytes). false: overflow.
TN_API bool tn_shape_extent(enum ggml_type type, const int64_t * ne, const size_t * nb, size_t * bytes);

#endif
