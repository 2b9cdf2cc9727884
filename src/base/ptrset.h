// SPDX-License-Identifier: MIT
// Hash map keyed by pointer with 64-bit values. Open addressing, linear probing, no removal.
#ifndef TN_BASE_PTRSET_H
#define TN_BASE_PTRSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct tn_ptrset {
    const void ** keys; // NULL: free slot
    int64_t * values;
    size_t slots; // power of two, 0 before the first insertion
    size_t count;
};

// A zeroed struct is an empty map.
void tn_ptrset_free(struct tn_ptrset * set);
void tn_ptrset_clear(struct tn_ptrset * set);

// Makes room for n keys in all, so that as many are inserted at once. false: no memory, set unchanged.
bool tn_ptrset_reserve(struct tn_ptrset * set, size_t n);

// The value's place, inserted as 0 if it was absent (then *is_new, if given, is true). NULL: no memory.
// The pointer is valid until the next insertion.
int64_t * tn_ptrset_put(struct tn_ptrset * set, const void * key, bool * is_new);

// The value's place, NULL if absent.
int64_t * tn_ptrset_find(const struct tn_ptrset * set, const void * key);

// Spreads the bits of an address; shared with the graph's own table.
TN_INLINE size_t tn_ptrset_hash(const void * key) {
    const uint64_t x = (uint64_t) (uintptr_t) key >> 4;
    return (size_t) ((x * 0x9e3779b97f4a7c15ull) >> 20);
}

#endif
