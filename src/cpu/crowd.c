// SPDX-License-Identifier: MIT
// Threads at work and processors, for the whole process.
#include "cpu/crowd.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "base/thread.h"

static struct tn_mutex mutex = TN_MUTEX_INIT;
static bool usable[TN_THREAD_CPUS]; // by any pool so far
static _Atomic int n_usable;        // 0: no pool yet
static _Atomic int n_active;
static _Atomic int pretended;

static int online(void) {
    const int n = atomic_load_explicit(&pretended, memory_order_relaxed);
    return n > 0 ? n : tn_thread_cpu_count();
}

// The mask of a pool may name processors that the machine has not.
static bool mask_of(const struct ggml_threadpool_params * params, bool mask[TN_THREAD_CPUS]) {
    bool any = false;
    for (int i = 0; i < TN_THREAD_CPUS; i++) {
        mask[i] = i < GGML_MAX_N_THREADS && params->cpumask[i];
        any = any || mask[i];
    }
    return any || tn_thread_get_affinity(mask, TN_THREAD_CPUS);
}

int tn_crowd_admit(const struct ggml_threadpool_params * params) {
    bool mask[TN_THREAD_CPUS];
    if (!mask_of(params, mask) || atomic_load(&pretended) > 0) {
        atomic_store(&n_usable, online());
        return online();
    }
    int own = 0, all = 0;
    tn_mutex_lock(&mutex);
    for (int i = 0; i < TN_THREAD_CPUS; i++) {
        usable[i] = usable[i] || mask[i];
        own += mask[i];
        all += usable[i];
    }
    atomic_store(&n_usable, (int) tn_min_i64(all, online()));
    tn_mutex_unlock(&mutex);
    return (int) tn_min_i64(own, online());
}

void tn_crowd_pretend(int n) {
    atomic_store(&pretended, n);
}

void tn_crowd_enter(void) {
    atomic_fetch_add_explicit(&n_active, 1, memory_order_relaxed);
}

void tn_crowd_leave(void) {
    atomic_fetch_sub_explicit(&n_active, 1, memory_order_relaxed);
}

int tn_crowd_room(void) {
    return atomic_load_explicit(&n_usable, memory_order_relaxed) -
           atomic_load_explicit(&n_active, memory_order_relaxed);
}
