// SPDX-License-Identifier: MIT
// Alignment, bit sets, and size arithmetic that says when it overflows.
#ifndef TN_BASE_BITS_H
#define TN_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

// Each returns false, with *out untouched, when the result does not fit.
TN_INLINE bool tn_size_add(size_t a, size_t b, size_t * out) {
    size_t r;
    if (TN_ADD_OVERFLOWS(a, b, &r)) return false;
    *out = r;
    return true;
}

TN_INLINE bool tn_size_mul(size_t a, size_t b, size_t * out) {
    size_t r;
    if (TN_MUL_OVERFLOWS(a, b, &r)) return false;
    *out = r;
    return true;
}

TN_INLINE bool tn_i64_add(int64_t a, int64_t b, int64_t * out) {
    int64_t r;
    if (TN_ADD_OVERFLOWS(a, b, &r)) return false;
    *out = r;
    return true;
}

TN_INLINE bool tn_i64_mul(int64_t a, int64_t b, int64_t * out) {
    int64_t r;
    if (TN_MUL_OVERFLOWS(a, b, &r)) return false;
    *out = r;
    return true;
}

// Rounds up to a power of two; false when the result does not fit.
TN_INLINE bool tn_size_align(size_t x, size_t align, size_t * out) {
    size_t r;
    if (TN_ADD_OVERFLOWS(x, align - 1, &r)) return false;
    *out = r & ~(align - 1);
    return true;
}

// The same where the caller knows that it fits.
TN_INLINE size_t tn_align_up(size_t x, size_t align) { return (x + align - 1) & ~(align - 1); }

TN_INLINE bool tn_is_pow2(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }

TN_INLINE int64_t tn_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

TN_INLINE size_t tn_min_size(size_t a, size_t b) { return a < b ? a : b; }
TN_INLINE size_t tn_max_size(size_t a, size_t b) { return a > b ? a : b; }
TN_INLINE int64_t tn_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
TN_INLINE int64_t tn_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// Bit sets are arrays of 32-bit words, the form that struct ggml_hash_set has.
#define TN_BITSET_WORDS(n) (((size_t) (n) + 31) / 32)

TN_INLINE bool tn_bitset_get(const uint32_t * set, size_t i) { return (set[i >> 5] >> (i & 31)) & 1u; }
TN_INLINE void tn_bitset_set(uint32_t * set, size_t i) { set[i >> 5] |= 1u << (i & 31); }
TN_INLINE void tn_bitset_clear(uint32_t * set, size_t i) { set[i >> 5] &= ~(1u << (i & 31)); }

#endif
