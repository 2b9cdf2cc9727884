// SPDX-License-Identifier: MIT
// A pool of threads with one service: run a function over a number of chunks.
#ifndef TN_CPU_POOL_H
#define TN_CPU_POOL_H

#include <stdint.h>

#include "ggml-cpu.h"

// Computes chunk `chunk` on thread `thread` (0: the caller). Chunks may run in any order and at the same
// time.
struct tn_pool_work {
    void (*run)(const void * arg, int64_t chunk, int thread);
    const void * arg;
};

// Runs all chunks and returns when they are done. At most n_threads threads take part, the caller among them;
// fewer if there are fewer chunks or processors. pool NULL: the caller alone; so it is when the pool has a
// job already, of another thread or of the one whose chunk this is.
void tn_pool_run(struct ggml_threadpool * pool, int n_threads, int64_t n_chunks, struct tn_pool_work work);

// What it was made with; NULL for NULL.
const struct ggml_threadpool_params * tn_pool_params(const struct ggml_threadpool * pool);

// The caller included; 1 for NULL.
int tn_pool_threads(const struct ggml_threadpool * pool);

#endif
