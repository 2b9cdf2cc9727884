// SPDX-License-Identifier: MIT
// What an operator is given when it runs: threads and scratch memory.
#ifndef TN_CPU_RUN_H
#define TN_CPU_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml-cpu.h"

struct tn_cpu_run {
    struct ggml_threadpool * pool; // NULL: the caller alone
    int n_threads;
    bool use_ref;      // scalar kernels and no short cuts
    char * shared;     // what the node's scratch() asked for
    char * per_thread; // n_threads pieces
    size_t per_thread_size;
};

// A part of an operator's work: items begin .. end - 1, with the scratch memory of one thread.
struct tn_cpu_part {
    int64_t begin;
    int64_t end;
    char * scratch;
};

struct tn_cpu_work {
    void (*run)(const void * arg, const struct tn_cpu_part * part);
    const void * arg;
};

// Cuts n items into parts and computes all of them. `cost` is what one item takes, in element operations
// (about a nanosecond); a part is worth waking a thread for, or there is only one. Parts depend on n and cost
// alone.
void tn_cpu_run_parts(struct tn_cpu_run * run, int64_t n, int64_t cost, struct tn_cpu_work work);

// How many parts that makes, and where they begin, for operators that keep something for each part.
int64_t tn_cpu_run_step(int64_t n, int64_t cost);

#endif
