// SPDX-License-Identifier: MIT
// Growth of arrays.
#include "base/array.h"

#include "base/bits.h"
#include "base/error.h"

bool tn_array_grow(void ** items, size_t * capacity, size_t count, size_t size, enum tn_mem_tag tag) {
    if (count <= *capacity) return true;
    size_t wanted = tn_max_size(count, 8), bytes;
    if (*capacity <= SIZE_MAX / 2) wanted = tn_max_size(wanted, *capacity * 2);
    if (!tn_size_mul(wanted, size, &bytes)) return tn_refuse("an array of %zu items is too large", wanted);
    void * grown = tn_mem_realloc(*items, bytes, tag);
    if (!grown) return false;
    *items = grown;
    *capacity = wanted;
    return true;
}
