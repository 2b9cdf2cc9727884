// SPDX-License-Identifier: MIT
// Hash map keyed by pointer. Kept at most half full, so that probes stay short.
#include "base/ptrset.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"

static size_t slot_of(const struct tn_ptrset * set, const void * key) {
    size_t i = tn_ptrset_hash(key) & (set->slots - 1);
    while (set->keys[i] && set->keys[i] != key) i = (i + 1) & (set->slots - 1);
    return i;
}

static bool grow(struct tn_ptrset * set, size_t slots) {
    struct tn_ptrset bigger = { .slots = slots, .count = set->count };
    bigger.keys = tn_mem_calloc(bigger.slots, sizeof(bigger.keys[0]), TN_MEM_GRAPH);
    bigger.values = tn_mem_calloc(bigger.slots, sizeof(bigger.values[0]), TN_MEM_GRAPH);
    if (!bigger.keys || !bigger.values) {
        tn_ptrset_free(&bigger);
        return false;
    }
    for (size_t i = 0; i < set->slots; i++) {
        if (!set->keys[i]) continue;
        const size_t to = slot_of(&bigger, set->keys[i]);
        bigger.keys[to] = set->keys[i];
        bigger.values[to] = set->values[i];
    }
    tn_ptrset_free(set);
    *set = bigger;
    return true;
}

bool tn_ptrset_reserve(struct tn_ptrset * set, size_t n) {
    size_t slots = set->slots ? set->slots : 32;
    while (slots / 2 < n) {
        if (!tn_size_mul(slots, 2, &slots)) return tn_refuse("a table of %zu pointers is too large", n);
    }
    return slots == set->slots || grow(set, slots);
}

void tn_ptrset_free(struct tn_ptrset * set) {
    tn_mem_free(set->keys);
    tn_mem_free(set->values);
    *set = (struct tn_ptrset) { 0 };
}

void tn_ptrset_clear(struct tn_ptrset * set) {
    if (set->slots) memset(set->keys, 0, set->slots * sizeof(set->keys[0]));
    set->count = 0;
}

int64_t * tn_ptrset_put(struct tn_ptrset * set, const void * key, bool * is_new) {
    if (set->count * 2 >= set->slots && !grow(set, set->slots ? set->slots * 2 : 32)) return NULL;
    const size_t i = slot_of(set, key);
    const bool absent = !set->keys[i];
    if (absent) {
        set->keys[i] = key;
        set->values[i] = 0;
        set->count++;
    }
    if (is_new) *is_new = absent;
    return &set->values[i];
}

int64_t * tn_ptrset_find(const struct tn_ptrset * set, const void * key) {
    if (!set->slots) return NULL;
    const size_t i = slot_of(set, key);
    return set->keys[i] ? &set->values[i] : NULL;
}
