// SPDX-License-Identifier: MIT
// Blocks by address in lists, so that neighbours are merged at once; the free ones by size in a treap as
// well.
#include "alloc/blocks.h"

#include "base/bits.h"
#include "base/error.h"

void tn_blocks_init(struct tn_blocks * b, size_t max_size) {
    *b = (struct tn_blocks){ .recycled = -1, .root = -1, .max_size = max_size };
}

void tn_blocks_fini(struct tn_blocks * b) {
    TN_ARRAY_FREE(&b->items);
}

static struct tn_block * at(struct tn_blocks * b, int32_t i) {
    return &b->items.items[i];
}

// ---- the free ones by size -------------------------------------------------------------------------------

static bool before(struct tn_blocks * b, int32_t x, int32_t y) {
    const struct tn_block *p = at(b, x), *q = at(b, y);
    if (p->size != q->size) return p->size < q->size;
    return p->chunk != q->chunk ? p->chunk < q->chunk : p->offset < q->offset;
}

// Parents have the greater priority: as good as random, so that the tree stays flat whatever the sizes are.
static uint32_t priority(int32_t i) {
    uint32_t x = ((uint32_t) i + 1) * 0x9e3779b1u;
    x = (x ^ x >> 15) * 0x85ebca77u;
    return x ^ x >> 13;
}

// Hangs `i` where its priority belongs, and what was there below it: the smaller left, the larger right.
static void tree_add(struct tn_blocks * b, int32_t i) {
    int32_t * link = &b->root;
    while (*link >= 0 && priority(*link) > priority(i)) {
        link = before(b, i, *link) ? &at(b, *link)->left : &at(b, *link)->right;
    }
    int32_t rest = *link, *left = &at(b, i)->left, *right = &at(b, i)->right;
    *link = i;
    while (rest >= 0) {
        if (before(b, rest, i)) {
            *left = rest;
            left = &at(b, rest)->right;
            rest = *left;
        } else {
            *right = rest;
            right = &at(b, rest)->left;
            rest = *right;
        }
    }
    *left = *right = -1;
    at(b, i)->free = true;
}

// Both subtrees, merged, take its place.
static void tree_remove(struct tn_blocks * b, int32_t i) {
    int32_t * link = &b->root;
    while (*link != i)
        link = before(b, i, *link) ? &at(b, *link)->left : &at(b, *link)->right;
    int32_t left = at(b, i)->left, right = at(b, i)->right;
    while (left >= 0 && right >= 0) {
        if (priority(left) > priority(right)) {
            *link = left;
            link = &at(b, left)->right;
            left = *link;
        } else {
            *link = right;
            link = &at(b, right)->left;
            right = *link;
        }
    }
    *link = left >= 0 ? left : right;
    at(b, i)->free = false;
}

static int32_t smallest_of_at_least(struct tn_blocks * b, size_t size) {
    int32_t best = -1;
    for (int32_t i = b->root; i >= 0;) {
        const bool fits = at(b, i)->size >= size;
        if (fits) best = i;
        i = fits ? at(b, i)->left : at(b, i)->right;
    }
    return best;
}

// ---- neighbours by address -------------------------------------------------------------------------------

// A block behind `prev` (-1: the first of the chunk). -1: no memory.
static int32_t insert(struct tn_blocks * b, int32_t chunk, int32_t prev) {
    if (b->recycled < 0) {
        if (b->items.count >= INT32_MAX || !TN_ARRAY_RESERVE(&b->items, 1, TN_MEM_GRAPH)) return -1;
        b->recycled = (int32_t) b->items.count++;
        at(b, b->recycled)->next = -1;
    }
    const int32_t i = b->recycled;
    b->recycled = at(b, i)->next;
    const int32_t next = prev >= 0 ? at(b, prev)->next : -1;
    *at(b, i) = (struct tn_block){ .chunk = chunk, .prev = prev, .next = next, .left = -1, .right = -1 };
    if (prev >= 0) at(b, prev)->next = i;
    if (next >= 0) at(b, next)->prev = i;
    if (b->last[chunk] == prev) b->last[chunk] = i;
    return i;
}

// `i` takes in its right neighbour, which is in no tree.
static void absorb_next(struct tn_blocks * b, int32_t i) {
    const int32_t gone = at(b, i)->next, next = at(b, gone)->next;
    at(b, i)->size += at(b, gone)->size;
    at(b, i)->next = next;
    if (next >= 0) at(b, next)->prev = i;
    if (b->last[at(b, i)->chunk] == gone) b->last[at(b, i)->chunk] = i;
    at(b, gone)->next = b->recycled;
    b->recycled = gone;
}

bool tn_blocks_shrink(struct tn_blocks * b, int32_t block, size_t size) {
    const size_t surplus = at(b, block)->size - size;
    if (surplus == 0) return true;
    const int32_t rest = insert(b, at(b, block)->chunk, block);
    if (rest < 0) return false;
    at(b, block)->size = size;
    at(b, rest)->offset = at(b, block)->offset + size;
    at(b, rest)->size = surplus;
    tn_blocks_release(b, rest);
    return true;
}

void tn_blocks_release(struct tn_blocks * b, int32_t block) {
    const int32_t next = at(b, block)->next, prev = at(b, block)->prev;
    if (next >= 0 && at(b, next)->free) {
        tree_remove(b, next);
        absorb_next(b, block);
    }
    if (prev >= 0 && at(b, prev)->free) {
        tree_remove(b, prev);
        absorb_next(b, prev);
        block = prev;
    }
    tree_add(b, block);
}

// ---- growth ----------------------------------------------------------------------------------------------

// Bytes at the end of a chunk that are free already.
static size_t free_tail(struct tn_blocks * b, int chunk) {
    const struct tn_block * last = at(b, b->last[chunk]);
    return last->free ? last->size : 0;
}

static bool may_grow_to(const struct tn_blocks * b, int chunk, size_t size) {
    return size <= b->max_size || chunk == TN_BLOCKS_CHUNKS - 1;
}

// The chunk that grows least, -1 if none may. No free block is large enough, so every one would have to grow.
static int cheapest_chunk(struct tn_blocks * b, size_t size) {
    int best = -1;
    size_t least = SIZE_MAX;
    for (int c = 0; c < b->n_chunks; c++) {
        const size_t growth = size - free_tail(b, c);
        size_t grown;
        if (!tn_size_add(b->chunk_size[c], growth, &grown) || !may_grow_to(b, c, grown)) continue;
        if (growth < least) {
            least = growth;
            best = c;
        }
    }
    return best;
}

static int new_chunk(struct tn_blocks * b) {
    if (b->n_chunks == TN_BLOCKS_CHUNKS) {
        tn_error_set("the sum of the sizes overflows");
        return -1;
    }
    b->last[b->n_chunks] = -1;
    b->chunk_size[b->n_chunks] = 0;
    return b->n_chunks++;
}

static int32_t extend(struct tn_blocks * b, int chunk, size_t size) {
    int32_t i = b->last[chunk];
    if (i >= 0 && at(b, i)->free) {
        tree_remove(b, i);
    } else {
        i = insert(b, chunk, i);
        if (i < 0) return -1;
        at(b, i)->offset = b->chunk_size[chunk];
    }
    at(b, i)->size = size;
    b->chunk_size[chunk] = at(b, i)->offset + size;
    return i;
}

int32_t tn_blocks_take(struct tn_blocks * b, size_t size) {
    const int32_t found = smallest_of_at_least(b, size);
    if (found < 0) {
        int chunk = cheapest_chunk(b, size);
        if (chunk < 0) chunk = new_chunk(b);
        return chunk >= 0 ? extend(b, chunk, size) : -1;
    }
    tree_remove(b, found);
    if (tn_blocks_shrink(b, found, size)) return found;
    tree_add(b, found);
    return -1;
}
