// SPDX-License-Identifier: MIT
// The only door to the heap: accounting by tag, fault injection, overflow checks.
//
// All functions are thread-safe. A failure is NULL with a text in base/error.h that names tag and size.
#ifndef TN_BASE_MEM_H
#define TN_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum tn_mem_tag {
    TN_MEM_CONTEXT, // pools of tensors and graphs
    TN_MEM_BUFFER,  // data of tensors
    TN_MEM_GRAPH,   // planning: hashes, intervals, plans
    TN_MEM_GGUF,    // model files
    TN_MEM_WORK,    // scratch of kernels and encoders
    TN_MEM_OBJECT,  // back ends, devices, pools, everything small
    TN_MEM_TAGS
};

struct tn_mem_stats {
    int64_t live_bytes;
    int64_t live_blocks;
    int64_t peak_bytes;
    int64_t total_blocks; // allocations ever made
};

// Uninitialised, aligned to 16. A size of 0 gives a valid pointer.
TN_API void * tn_mem_alloc(size_t size, enum tn_mem_tag tag);
// Zeroed; count * size is checked.
TN_API void * tn_mem_calloc(size_t count, size_t size, enum tn_mem_tag tag);
// As realloc: NULL leaves the old block alone; NULL as block allocates.
TN_API void * tn_mem_realloc(void * block, size_t size, enum tn_mem_tag tag);
// align: a power of two up to 4096.
TN_API void * tn_mem_alloc_aligned(size_t size, size_t align, enum tn_mem_tag tag);
// Frees a block of any of these functions; NULL is fine.
TN_API void tn_mem_free(void * block);
TN_API char * tn_mem_strdup(const char * text, enum tn_mem_tag tag);

TN_API void tn_mem_stats_get(enum tn_mem_tag tag, struct tn_mem_stats * out);

// Bytes of memory that this machine has; 0: unknown.
TN_API size_t tn_mem_physical(void);

// Fault injection for tests, process-wide: the n-th allocation from now (1 = the next) fails, and only that
// one; 0 turns it off. Returns whether the previous order has struck.
TN_API int tn_mem_fail_nth(int64_t n);

#endif
