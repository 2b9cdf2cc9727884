// SPDX-License-Identifier: MIT
// Where a thread of a pool runs, and with what priority: the pool's processors, one for each thread if it is
// strict, else what the process chose for machines with several nodes (cpu/numa.h).
#ifndef TN_CPU_PLACEMENT_H
#define TN_CPU_PLACEMENT_H

#include <stdbool.h>

#include "base/thread.h"
#include "ggml.h"

// What the calling thread had before.
struct tn_placement {
    bool has_mask;
    bool has_schedule;
    struct tn_schedule schedule;
    bool mask[TN_THREAD_CPUS];
};

// The processors of thread i. false: any.
bool tn_placement_mask(const struct ggml_threadpool_params * params, int thread,
                       bool mask[GGML_MAX_N_THREADS]);

// For good: a worker. What the system refuses is only logged.
void tn_placement_apply(const struct ggml_threadpool_params * params, int thread);

// For the time of a graph: the caller, which is thread 0. params may be NULL.
void tn_placement_enter(const struct ggml_threadpool_params * params, struct tn_placement * before);
void tn_placement_leave(const struct tn_placement * before);

#endif
