// SPDX-License-Identifier: MIT
// Growable arrays: declare { T * items; size_t count; size_t capacity; } and grow by tn_array_reserve.
#ifndef TN_BASE_ARRAY_H
#define TN_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

// Makes room for `count` items of `size` bytes, at least doubling. items_at: the address of the pointer to
// them. false: no memory, array unchanged.
TN_API bool tn_array_grow(void * items_at, size_t * capacity, size_t count, size_t size, enum tn_mem_tag tag);

#define TN_ARRAY(T)     \
    struct {            \
        T * items;      \
        size_t count;   \
        size_t capacity; \
    }

// true if at least `n` more items fit afterwards.
#define TN_ARRAY_RESERVE(a, n, tag)           \
    ((a)->capacity - (a)->count >= (n) ||     \
     tn_array_grow(&(a)->items, &(a)->capacity, (a)->count + (n), sizeof((a)->items[0]), tag))

#define TN_ARRAY_FREE(a)         \
    do {                         \
        tn_mem_free((a)->items); \
        (a)->items = NULL;       \
        (a)->count = 0;          \
        (a)->capacity = 0;       \
    } while (0)

#endif
