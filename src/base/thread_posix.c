// SPDX-License-Identifier: MIT
// Threads on POSIX systems. Mutex calls cannot fail on initialised, non-recursive mutexes.
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static _Atomic int64_t starts_left; // 1: the next one fails
static _Atomic bool failing;

int tn_thread_fail_nth(int64_t n) {
    const bool struck = atomic_load(&failing) && atomic_load(&starts_left) <= 0;
    atomic_store(&starts_left, n);
    atomic_store(&failing, n > 0);
    return struck;
}

bool tn_thread_start(struct tn_thread * thread, void * (*run)(void *), void * arg) {
    const bool fail = atomic_load(&failing) && atomic_fetch_sub(&starts_left, 1) == 1;
    const int rc = fail ? EAGAIN : pthread_create(&thread->handle, NULL, run, arg);
    return rc == 0 ? true : tn_refuse("cannot start a thread: %s", strerror(rc));
}

void tn_thread_join(struct tn_thread * thread) {
    pthread_join(thread->handle, NULL);
}

void tn_thread_yield(void) {
    sched_yield();
}

int tn_thread_cpu_count(void) {
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int) n : 1;
}

_Static_assert(TN_THREAD_CPUS == CPU_SETSIZE, "masks hold what the system's sets hold");

bool tn_thread_set_affinity(const bool * mask, int n) {
    cpu_set_t set;
    CPU_ZERO(&set);
    int wanted = 0;
    for (int i = 0; i < n && i < CPU_SETSIZE; i++) {
        if (!mask[i]) continue;
        CPU_SET(i, &set);
        wanted++;
    }
    if (wanted == 0) return true;
    const int rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    return rc == 0 ? true : tn_refuse("cannot set the affinity of a thread: %s", strerror(rc));
}

bool tn_thread_get_affinity(bool * mask, int n) {
    cpu_set_t set;
    const int rc = pthread_getaffinity_np(pthread_self(), sizeof(set), &set);
    if (rc != 0) return tn_refuse("cannot read the affinity of a thread: %s", strerror(rc));
    for (int i = 0; i < n; i++)
        mask[i] = i < CPU_SETSIZE && CPU_ISSET(i, &set);
    return true;
}

int tn_thread_cpu(void) {
    return sched_getcpu();
}

bool tn_thread_schedule_of(enum ggml_sched_priority priority, struct tn_schedule * out) {
    switch (priority) {
    case GGML_SCHED_PRIO_LOW: *out = (struct tn_schedule){ SCHED_BATCH, 0 }; return true;
    case GGML_SCHED_PRIO_MEDIUM: *out = (struct tn_schedule){ SCHED_FIFO, 40 }; return true;
    case GGML_SCHED_PRIO_HIGH: *out = (struct tn_schedule){ SCHED_FIFO, 80 }; return true;
    case GGML_SCHED_PRIO_REALTIME: *out = (struct tn_schedule){ SCHED_FIFO, 90 }; return true;
    case GGML_SCHED_PRIO_NORMAL: break;
    }
    return false;
}

bool tn_thread_get_schedule(struct tn_schedule * out) {
    struct sched_param param;
    const int rc = pthread_getschedparam(pthread_self(), &out->policy, &param);
    if (rc != 0) return tn_refuse("cannot read the priority of a thread: %s", strerror(rc));
    out->priority = param.sched_priority;
    return true;
}

bool tn_thread_set_schedule(const struct tn_schedule * schedule) {
    const struct sched_param param = { .sched_priority = schedule->priority };
    const int rc = pthread_setschedparam(pthread_self(), schedule->policy, &param);
    return rc == 0 ? true : tn_refuse("cannot set the priority of a thread: %s", strerror(rc));
}

bool tn_mutex_init(struct tn_mutex * m) {
    const int rc = pthread_mutex_init(&m->handle, NULL);
    return rc == 0 ? true : tn_refuse("cannot make a mutex: %s", strerror(rc));
}

void tn_mutex_free(struct tn_mutex * m) {
    pthread_mutex_destroy(&m->handle);
}

void tn_mutex_lock(struct tn_mutex * m) {
    pthread_mutex_lock(&m->handle);
}

void tn_mutex_unlock(struct tn_mutex * m) {
    pthread_mutex_unlock(&m->handle);
}

bool tn_cond_init(struct tn_cond * c) {
    const int rc = pthread_cond_init(&c->handle, NULL);
    return rc == 0 ? true : tn_refuse("cannot make a condition: %s", strerror(rc));
}

void tn_cond_free(struct tn_cond * c) {
    pthread_cond_destroy(&c->handle);
}

void tn_cond_wait(struct tn_cond * c, struct tn_mutex * m) {
    pthread_cond_wait(&c->handle, &m->handle);
}

void tn_cond_wake_one(struct tn_cond * c) {
    pthread_cond_signal(&c->handle);
}

void tn_cond_wake_all(struct tn_cond * c) {
    pthread_cond_broadcast(&c->handle);
}

void tn_once(struct tn_once * once, void (*run)(void)) {
    pthread_once(&once->handle, run);
}
