// SPDX-License-Identifier: MIT
// Threads, mutexes, conditions, once, affinity: a thin layer that a port replaces (thread_posix.c).
#ifndef TN_BASE_THREAD_H
#define TN_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "ggml.h"

struct tn_thread {
    pthread_t handle;
};

struct tn_mutex {
    pthread_mutex_t handle;
};

struct tn_cond {
    pthread_cond_t handle;
};

struct tn_once {
    pthread_once_t handle;
};

#define TN_MUTEX_INIT                                                                                        \
    { PTHREAD_MUTEX_INITIALIZER }
#define TN_COND_INIT                                                                                         \
    { PTHREAD_COND_INITIALIZER }
#define TN_ONCE_INIT                                                                                         \
    { PTHREAD_ONCE_INIT }

// false: the system refused; the text says why.
TN_API bool tn_thread_start(struct tn_thread * thread, void * (*run)(void *), void * arg);
// For tests, process-wide: the n-th start from now (1 = the next) fails, and only that one; 0 turns it off.
// Returns whether the previous order has struck.
TN_API int tn_thread_fail_nth(int64_t n);
TN_API void tn_thread_join(struct tn_thread * thread);
TN_API void tn_thread_yield(void);
// Pause hint inside a spin loop.
TN_INLINE void tn_thread_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}
TN_API int tn_thread_cpu_count(void);
enum { TN_THREAD_CPUS = 1024 }; // more are not told apart
// mask[i]: may run on processor i. An all-false mask changes nothing. false: the system refused.
TN_API bool tn_thread_set_affinity(const bool * mask, int n);
// The same mask as it is; processors from n on are left out.
TN_API bool tn_thread_get_affinity(bool * mask, int n);
// The processor that the calling thread is on at the moment, -1 if the system does not say.
TN_API int tn_thread_cpu(void);

// How the system gives the calling thread its time. false: the system refused.
struct tn_schedule {
    int policy;
    int priority;
};

// What stands for a priority of a pool; false for NORMAL, which is whatever a thread inherits.
TN_API bool tn_thread_schedule_of(enum ggml_sched_priority priority, struct tn_schedule * out);
TN_API bool tn_thread_get_schedule(struct tn_schedule * out);
TN_API bool tn_thread_set_schedule(const struct tn_schedule * schedule);

TN_API bool tn_mutex_init(struct tn_mutex * m);
TN_API void tn_mutex_free(struct tn_mutex * m);
TN_API void tn_mutex_lock(struct tn_mutex * m);
TN_API void tn_mutex_unlock(struct tn_mutex * m);

TN_API bool tn_cond_init(struct tn_cond * c);
TN_API void tn_cond_free(struct tn_cond * c);
TN_API void tn_cond_wait(struct tn_cond * c, struct tn_mutex * m);
TN_API void tn_cond_wake_one(struct tn_cond * c);
TN_API void tn_cond_wake_all(struct tn_cond * c);

TN_API void tn_once(struct tn_once * once, void (*run)(void));

#endif
