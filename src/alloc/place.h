// SPDX-License-Identifier: MIT
// Intervals to offsets: a pure function of numbers, which knows neither graphs nor buffers.
#ifndef TN_ALLOC_PLACE_H
#define TN_ALLOC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc/blocks.h"

// The end of what is never handed on.
#define TN_PLACE_FOREVER INT32_MAX

// Memory that is needed from time `begin` to time `end`, both included.
struct tn_place_interval {
    size_t size; // above 0, a multiple of the pool's alignment
    int32_t begin;
    int32_t end;
    int32_t pool;
    int32_t over; // an earlier interval of the pool, at least as large, that ends at `begin` and hands its
                  // place over; -1: a place of its own
};

struct tn_place_spot {
    int32_t chunk;
    size_t offset;
};

struct tn_place_pool {
    size_t max_size; // of a chunk
    int n_chunks;    // filled, with their sizes
    size_t chunk_size[TN_BLOCKS_CHUNKS];
};

// Fills spots[i] for each of the `n` intervals, which are sorted by begin, and the chunks of the pools.
// false: no memory, or sizes overflow, with a text.
bool tn_place_intervals(const struct tn_place_interval * intervals, size_t n, struct tn_place_pool * pools,
                        int n_pools, struct tn_place_spot * spots);

#endif
