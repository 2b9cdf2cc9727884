// SPDX-License-Identifier: MIT
// The heap behind a 32-byte header: size, tag and how far back the real block starts.
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/error.h"

struct header {
    size_t size;
    void * block; // what the system's free wants
    uint64_t tag;
    uint64_t reserved; // keeps the size a multiple of 16, so that user pointers stay aligned to it
};
_Static_assert(sizeof(struct header) == 32, "user pointers must stay aligned to 16");

static struct {
    _Atomic int64_t live_bytes, live_blocks, peak_bytes, total_blocks;
} stats[TN_MEM_TAGS];

static _Atomic int64_t fail_after; // 0: off; 1: the next one fails
static _Atomic int struck;

static const char * const tag_names[TN_MEM_TAGS] = {
    [TN_MEM_CONTEXT] = "contexts", [TN_MEM_BUFFER] = "buffers", [TN_MEM_GRAPH] = "graphs",
    [TN_MEM_GGUF] = "model files", [TN_MEM_WORK] = "scratch",   [TN_MEM_OBJECT] = "objects",
};

static bool must_fail(void) {
    int64_t n = atomic_load_explicit(&fail_after, memory_order_relaxed);
    while (n > 0) {
        if (!atomic_compare_exchange_weak(&fail_after, &n, n - 1)) continue;
        if (n == 1) atomic_store(&struck, 1);
        return n == 1;
    }
    return false;
}

static void count(enum tn_mem_tag tag, int64_t bytes, int64_t blocks) {
    const int64_t live = atomic_fetch_add(&stats[tag].live_bytes, bytes) + bytes;
    atomic_fetch_add(&stats[tag].live_blocks, blocks);
    if (blocks > 0) atomic_fetch_add(&stats[tag].total_blocks, blocks);
    int64_t peak = atomic_load(&stats[tag].peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&stats[tag].peak_bytes, &peak, live)) {}
}

static struct header * header_of(void * user) {
    return (struct header *) ((char *) user - sizeof(struct header));
}

static void * refuse(size_t size, enum tn_mem_tag tag) {
    tn_error_set("out of memory: %zu bytes for %s", size, tag_names[tag]);
    return NULL;
}

void * tn_mem_alloc_aligned(size_t size, size_t align, enum tn_mem_tag tag) {
    TN_ASSERT(tn_is_pow2(align) && align <= 4096 && tag < TN_MEM_TAGS);
    const size_t front = tn_align_up(sizeof(struct header), align);
    size_t total;
    if (must_fail() || !tn_size_add(size, front + align, &total)) return refuse(size, tag);
    if (total > PTRDIFF_MAX) return refuse(size, tag);
    char * block = malloc(total);
    if (!block) return refuse(size, tag);
    const uintptr_t first = (uintptr_t) block + sizeof(struct header);
    char * user = block + (tn_align_up(first, align) - (uintptr_t) block);
    *header_of(user) = (struct header) { .size = size, .block = block, .tag = tag };
    count(tag, (int64_t) size, 1);
    return user;
}

void * tn_mem_alloc(size_t size, enum tn_mem_tag tag) {
    return tn_mem_alloc_aligned(size, 16, tag);
}

void * tn_mem_calloc(size_t n, size_t size, enum tn_mem_tag tag) {
    size_t total;
    if (!tn_size_mul(n, size, &total)) return refuse(SIZE_MAX, tag);
    void * user = tn_mem_alloc(total, tag);
    if (user) memset(user, 0, total);
    return user;
}

void * tn_mem_realloc(void * old, size_t size, enum tn_mem_tag tag) {
    void * user = tn_mem_alloc(size, tag);
    if (user && old) {
        memcpy(user, old, tn_min_size(size, header_of(old)->size));
        tn_mem_free(old);
    }
    return user;
}

void tn_mem_free(void * user) {
    if (!user) return;
    const struct header h = *header_of(user);
    count((enum tn_mem_tag) h.tag, -(int64_t) h.size, -1);
    free(h.block);
}

char * tn_mem_strdup(const char * text, enum tn_mem_tag tag) {
    const size_t size = strlen(text) + 1;
    char * copy = tn_mem_alloc(size, tag);
    if (copy) memcpy(copy, text, size);
    return copy;
}

void tn_mem_stats_get(enum tn_mem_tag tag, struct tn_mem_stats * out) {
    out->live_bytes = atomic_load(&stats[tag].live_bytes);
    out->live_blocks = atomic_load(&stats[tag].live_blocks);
    out->peak_bytes = atomic_load(&stats[tag].peak_bytes);
    out->total_blocks = atomic_load(&stats[tag].total_blocks);
}

int tn_mem_fail_nth(int64_t n) {
    atomic_store(&fail_after, n);
    return atomic_exchange(&struck, 0);
}
