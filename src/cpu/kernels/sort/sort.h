// SPDX-License-Identifier: MIT
// Order of f32: keys, sorted indices, thresholds.
//
// Numbers become 32-bit keys whose unsigned order is the order wanted, ascending or descending; 0 and -0 have
// one key, and so has every NaN: the largest, so that NaN comes last in both orders. Equal keys stay in the
// order of their indices, which makes the order total. No comparisons of floats, no recursion, no worst case:
// both sorting and selecting take time linear in n.
//
// n >= 0 dense elements; nothing overlaps.
#ifndef TN_CPU_KERNELS_SORT_H
#define TN_CPU_KERNELS_SORT_H

#include <stdbool.h>
#include <stdint.h>

// keys[i] of x[i].
void tn_sort_keys(int64_t n, uint32_t * keys, const float * x, bool descending);

// Sorts pairs key << 32 | index by key, and indices of equal keys in the order they came in. Returns a or b,
// where the sorted pairs are.
const uint64_t * tn_sort_pairs(int64_t n, uint64_t * a, uint64_t * b);

// The k smallest of n keys, 1 <= k <= n: all below `key`, and the first `n_equal` that equal it.
struct tn_sort_bound {
    uint32_t key;
    int64_t n_equal;
};
struct tn_sort_bound tn_sort_select(int64_t n, const uint32_t * keys, int64_t k);

#endif
