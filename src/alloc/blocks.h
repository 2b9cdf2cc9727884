// SPDX-License-Identifier: MIT
// The memory of one pool while it is planned: up to 16 chunks, each divided without gaps into blocks that are
// used or free. No byte of it exists yet. Operations cost at most the logarithm of the number of free blocks.
#ifndef TN_ALLOC_BLOCKS_H
#define TN_ALLOC_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

// Buffers of one pool. The last one has no largest size.
enum { TN_BLOCKS_CHUNKS = 16 };

struct tn_block {
    size_t offset, size;
    int32_t chunk;
    bool free;
    int32_t prev, next;  // neighbours by address in the chunk, -1 at its ends; `next` links recycled ones
    int32_t left, right; // in the tree of free blocks
};

struct tn_blocks {
    TN_ARRAY(struct tn_block) items;
    int32_t recycled; // first of the blocks that are none any more, -1: none
    int32_t root;     // of the free blocks, by size, then chunk and offset
    int32_t last[TN_BLOCKS_CHUNKS];
    size_t chunk_size[TN_BLOCKS_CHUNKS];
    int n_chunks;
    size_t max_size; // of a chunk
};

void tn_blocks_init(struct tn_blocks * b, size_t max_size);
void tn_blocks_fini(struct tn_blocks * b);

// A used block of `size` bytes (above 0): the smallest free one that is large enough, else at the end of the
// chunk that grows least, else in a new chunk. -1: no memory, or sizes overflow, with a text.
int32_t tn_blocks_take(struct tn_blocks * b, size_t size);

// Keeps the first `size` bytes (above 0) of a used block and frees the rest. false: no memory.
bool tn_blocks_shrink(struct tn_blocks * b, int32_t block, size_t size);

void tn_blocks_release(struct tn_blocks * b, int32_t block);

#endif
