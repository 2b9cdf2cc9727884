// SPDX-License-Identifier: MIT
// Spans of memory in one address space, placed with all of time in view: the slow and better half of place.c.
#ifndef TN_ALLOC_PACK_H
#define TN_ALLOC_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Memory that is needed from time `begin` to time `end`, both included.
struct tn_pack_span {
    size_t size; // above 0
    size_t offset;
    int32_t begin, end;
};

struct tn_pack_result {
    size_t peak;  // SIZE_MAX: not placed, as it would have taken too long
    size_t bound; // what no order gets below
};

// Places the `n` spans, which are sorted by begin: fills their offsets. The time is at most linear in n, so
// what is dense beyond measure is not placed. false: no memory, with a text.
bool tn_pack_spans(struct tn_pack_span * spans, size_t n, struct tn_pack_result * result);

#endif
