// SPDX-License-Identifier: MIT
// Growth of arrays.
#include "base/array.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"

bool tn_array_grow(void * items_at, size_t * capacity, size_t count, size_t size, enum tn_mem_tag tag) {
    if (count <= *capacity) return true;
    size_t wanted = tn_max_size(count, 8), bytes;
    if (*capacity <= SIZE_MAX / 2) wanted = tn_max_size(wanted, *capacity * 2);
    if (!tn_size_mul(wanted, size, &bytes)) return tn_refuse("an array of %zu items is too large", wanted);
    // The pointer has the array's own type; it is moved as bytes, since it may not be read as a void *.
    void * items;
    memcpy(&items, items_at, sizeof(items));
    items = tn_mem_realloc(items, bytes, tag);
    if (!items) return false;
    memcpy(items_at, &items, sizeof(items));
    *capacity = wanted;
    return true;
}
