// SPDX-License-Identifier: MIT
// Placement of threads.
#include "cpu/placement.h"

#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "cpu/numa.h"

static int count(const bool * mask) {
    int n = 0;
    for (int i = 0; i < GGML_MAX_N_THREADS; i++)
        n += mask[i];
    return n;
}

// Processors of the mask are dealt in turn, to the workers first and to the caller last.
static void keep_one(bool * mask, int n, const struct ggml_threadpool_params * params, int thread) {
    int skip = (thread > 0 ? thread - 1 : params->n_threads - 1) % n;
    for (int i = 0; i < GGML_MAX_N_THREADS; i++) {
        if (mask[i]) mask[i] = skip-- == 0;
    }
}

bool tn_placement_mask(const struct ggml_threadpool_params * params, int thread,
                       bool mask[GGML_MAX_N_THREADS]) {
    const int n = params ? count(params->cpumask) : 0;
    if (n == 0) return tn_numa_mask(thread, mask);
    memcpy(mask, params->cpumask, sizeof(params->cpumask));
    if (params->strict_cpu) keep_one(mask, n, params, thread);
    return true;
}

static void warn_if(bool refused) {
    if (refused) TN_LOG_WARN("a thread of a pool: %s\n", tn_error_text());
}

void tn_placement_apply(const struct ggml_threadpool_params * params, int thread) {
    bool mask[GGML_MAX_N_THREADS];
    struct tn_schedule schedule;
    if (tn_placement_mask(params, thread, mask)) warn_if(!tn_thread_set_affinity(mask, GGML_MAX_N_THREADS));
    if (tn_thread_schedule_of(params->prio, &schedule)) warn_if(!tn_thread_set_schedule(&schedule));
}

// What cannot be read cannot be given back, and is not changed.
void tn_placement_enter(const struct ggml_threadpool_params * params, struct tn_placement * before) {
    bool mask[GGML_MAX_N_THREADS];
    struct tn_schedule schedule;
    before->has_mask = tn_placement_mask(params, 0, mask) &&
                       tn_thread_get_affinity(before->mask, TN_THREAD_CPUS) &&
                       tn_thread_set_affinity(mask, GGML_MAX_N_THREADS);
    before->has_schedule = params && tn_thread_schedule_of(params->prio, &schedule) &&
                           tn_thread_get_schedule(&before->schedule) && tn_thread_set_schedule(&schedule);
}

void tn_placement_leave(const struct tn_placement * before) {
    if (before->has_mask) tn_thread_set_affinity(before->mask, TN_THREAD_CPUS);
    if (before->has_schedule) tn_thread_set_schedule(&before->schedule);
}
