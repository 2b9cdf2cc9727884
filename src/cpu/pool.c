// SPDX-License-Identifier: MIT
// Threads that wait for chunks of work.
//
// One job at a time. The caller fills it in, opens it by storing its number in `open`, and works on it
// itself. A worker that sees an open job enters (inside += 1), looks again whether that very job is still
// open, takes chunks until none is left, and leaves (inside -= 1). When the caller finds no chunk left, it
// closes the job (open = 0) and waits until nobody is inside.
//
//     caller   fill   open = n   chunks .....   open = 0   wait for inside == 0   | fill next
//     worker A                   inside++  open == n?  chunks ......  inside--    |
//     worker B (late)                                    inside++  open != n  inside--
//
// What follows from it:
//  - The job's plain fields are only written while it is closed and nobody is inside, so nobody reads them
//    then: a worker that enters late has either been seen by the caller, who waits, or sees that the job is
//    closed. Both sides store, then load what the other stores, all sequentially consistent, so one of the
//    two must hold.
//  - When nobody is inside, every chunk that was taken is finished. There is no count of finished chunks.
//  - A worker that sleeps through a job delays nobody. The caller never waits for a thread to wake up, only
//    for chunks that somebody is computing. A machine with too few processors loses the help, not the time.
//  - So workers are a matter of time alone. One is woken only if there is a processor for it, and looks for
//    work only as long as there is (cpu/crowd.h); a pool that another thread is using at the moment, or the
//    same thread further up, is left alone, and the caller computes all chunks itself.
//
// Waiting is the same everywhere: look again for a short time, then sleep on a condition. Whoever sleeps says
// so first (asleep = true), then looks once more under the mutex; whoever changes what is waited for looks at
// `asleep` afterwards and wakes under the mutex. Again one of the two must see the other. An idle pool
// sleeps.
//
// Numbers do not depend on any of this: chunks are cut by shape, and which thread computes one leaves no
// trace.
#include "cpu/pool.h"

#include <stdatomic.h>

#include "backend/use.h"
#include "base/bits.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cpu/crowd.h"
#include "cpu/placement.h"

enum { LOOKS = 16 }; // between two looks at the clock and at others' needs

struct sleeper {
    struct tn_cond wake;
    _Atomic bool asleep;
};

struct worker {
    struct ggml_threadpool * pool;
    int index;
    struct tn_thread thread;
    struct sleeper sleeper;
};

struct ggml_threadpool {
    struct ggml_threadpool_params params;
    int64_t patience; // microseconds of looking before sleeping
    int n_processors; // that its threads may use

    _Atomic bool taken;    // by a caller, for one job
    _Atomic uint64_t open; // number of the open job, 0: none
    _Atomic int inside;    // workers that may be reading the job
    _Atomic bool paused;
    _Atomic bool stop;

    uint64_t n_jobs;
    struct tn_pool_work work;
    int64_t n_chunks;
    int n_threads;        // workers from this index on stay out
    _Atomic int64_t next; // first chunk that nobody has taken

    struct tn_mutex mutex; // only for going to sleep and waking
    struct sleeper caller;
    int n_started;
    struct worker * workers; // [1 .. n_threads - 1]; 0 is the caller and not used
};

static void wake(struct ggml_threadpool * p, struct sleeper * s) {
    if (!atomic_load(&s->asleep)) return;
    tn_mutex_lock(&p->mutex);
    tn_cond_wake_one(&s->wake);
    tn_mutex_unlock(&p->mutex);
}

typedef bool done_fn(const struct ggml_threadpool * p, uint64_t seen);

// Looks until done(p, seen) holds. false: it does not, and it is time to sleep.
static bool look(const struct ggml_threadpool * p, done_fn * done, uint64_t seen) {
    int64_t end = 0;
    while (!atomic_load_explicit(&p->paused, memory_order_relaxed)) {
        for (int i = 0; i < LOOKS; i++) {
            if (done(p, seen)) return true;
            tn_thread_relax();
        }
        if (p->patience == 0 || tn_crowd_room() < 0) return false;
        const int64_t now = tn_clock_us();
        if (end == 0) end = now + p->patience;
        if (now >= end) return false;
        tn_thread_yield(); // to whom this processor was taken from: often the caller itself
    }
    return false;
}

static void wait_until(struct ggml_threadpool * p, struct sleeper * s, done_fn * done, uint64_t seen) {
    if (look(p, done, seen)) return;
    tn_crowd_leave();
    tn_mutex_lock(&p->mutex);
    atomic_store(&s->asleep, true);
    while (!done(p, seen))
        tn_cond_wait(&s->wake, &p->mutex);
    atomic_store(&s->asleep, false);
    tn_mutex_unlock(&p->mutex);
    tn_crowd_enter();
}

static bool has_news(const struct ggml_threadpool * p, uint64_t seen) {
    const uint64_t open = atomic_load(&p->open);
    return (open != 0 && open != seen) || atomic_load(&p->stop);
}

static bool is_left(const struct ggml_threadpool * p, uint64_t seen) {
    (void) seen;
    return atomic_load(&p->inside) == 0;
}

static void take_chunks(struct ggml_threadpool * p, int thread) {
    if (thread >= p->n_threads) return;
    const struct tn_pool_work work = p->work;
    const int64_t n = p->n_chunks;
    for (;;) {
        const int64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (i >= n) return;
        work.run(work.arg, i, thread);
    }
}

static void * worker_main(void * arg) {
    struct worker * w = arg;
    struct ggml_threadpool * p = w->pool;
    tn_placement_apply(&p->params, w->index);
    uint64_t seen = 0;
    tn_crowd_enter();
    for (;;) {
        wait_until(p, &w->sleeper, has_news, seen);
        if (atomic_load(&p->stop)) break;
        const uint64_t job = atomic_load(&p->open);
        if (job == 0 || job == seen) continue;
        seen = job;
        atomic_fetch_add(&p->inside, 1);
        if (atomic_load(&p->open) == job) take_chunks(p, w->index);
        if (atomic_fetch_sub(&p->inside, 1) == 1) wake(p, &p->caller);
    }
    tn_crowd_leave();
    return NULL;
}

// As many of the workers below n as there are processors for.
static void wake_workers(struct ggml_threadpool * p, int n) {
    int room = p->n_processors - 1;
    for (int i = 1; i < n; i++)
        room -= !atomic_load(&p->workers[i].sleeper.asleep);
    room = (int) tn_min_i64(room, tn_crowd_room());
    for (int i = 1; i < n && room > 0; i++) {
        if (!atomic_load(&p->workers[i].sleeper.asleep)) continue;
        wake(p, &p->workers[i].sleeper);
        room--;
    }
}

static void run_alone(int64_t n_chunks, struct tn_pool_work work) {
    for (int64_t i = 0; i < n_chunks; i++)
        work.run(work.arg, i, 0);
}

void tn_pool_run(struct ggml_threadpool * p, int n_threads, int64_t n_chunks, struct tn_pool_work work) {
    const int n = (int) tn_min_i64(tn_min_i64(n_threads, tn_pool_threads(p)), n_chunks);
    if (n <= 1 || atomic_exchange(&p->taken, true)) {
        run_alone(n_chunks, work);
        return;
    }
    p->work = work;
    p->n_chunks = n_chunks;
    p->n_threads = n;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    atomic_store_explicit(&p->paused, false, memory_order_relaxed);
    atomic_store(&p->open, ++p->n_jobs);
    wake_workers(p, n);
    take_chunks(p, 0);
    atomic_store(&p->open, 0);
    wait_until(p, &p->caller, is_left, 0);
    atomic_store(&p->taken, false);
}

int tn_pool_threads(const struct ggml_threadpool * p) {
    return p ? p->params.n_threads : 1;
}

const struct ggml_threadpool_params * tn_pool_params(const struct ggml_threadpool * p) {
    return p ? &p->params : NULL;
}

static void stop_workers(struct ggml_threadpool * p) {
    atomic_store(&p->stop, true);
    for (int i = 1; i <= p->n_started; i++)
        wake(p, &p->workers[i].sleeper);
    for (int i = 1; i <= p->n_started; i++) {
        tn_thread_join(&p->workers[i].thread);
        tn_cond_free(&p->workers[i].sleeper.wake);
    }
}

static bool start_worker(struct ggml_threadpool * p, int index) {
    struct worker * w = &p->workers[index];
    w->pool = p;
    w->index = index;
    if (!tn_cond_init(&w->sleeper.wake)) return false;
    if (!tn_thread_start(&w->thread, worker_main, w)) {
        tn_cond_free(&w->sleeper.wake);
        return false;
    }
    p->n_started = index;
    return true;
}

static bool start(struct ggml_threadpool * p) {
    for (int i = 1; i < p->params.n_threads; i++) {
        if (start_worker(p, i)) continue;
        tn_error_prefix("ggml_threadpool_new: thread %d of %d", i, p->params.n_threads);
        return false;
    }
    return true;
}

struct ggml_threadpool * ggml_threadpool_new(struct ggml_threadpool_params * params) {
    if (!params || params->n_threads < 1 || params->n_threads > GGML_MAX_N_THREADS) {
        tn_error_set("ggml_threadpool_new: %d threads, but a pool has 1 to %d",
                     params ? params->n_threads : 0, GGML_MAX_N_THREADS);
        return NULL;
    }
    struct ggml_threadpool * p = tn_mem_calloc(1, sizeof(*p), TN_MEM_OBJECT);
    struct worker * workers = tn_mem_calloc((size_t) params->n_threads, sizeof(*workers), TN_MEM_OBJECT);
    if (!p || !workers || !tn_mutex_init(&p->mutex)) goto fail;
    if (!tn_cond_init(&p->caller.wake)) {
        tn_mutex_free(&p->mutex);
        goto fail;
    }
    p->params = *params;
    p->patience = params->poll > 100 ? 100 : params->poll;
    p->n_processors = tn_crowd_admit(params);
    p->workers = workers;
    atomic_store(&p->paused, params->paused);
    if (tn_use_begin(ggml_backend_cpu_reg(), TN_USE_THREADPOOL, p) && start(p)) return p;
    ggml_threadpool_free(p);
    return NULL;
fail:
    tn_mem_free(workers);
    tn_mem_free(p);
    return NULL;
}

void ggml_threadpool_free(struct ggml_threadpool * p) {
    if (!p) return;
    stop_workers(p);
    tn_use_end(p);
    tn_cond_free(&p->caller.wake);
    tn_mutex_free(&p->mutex);
    tn_mem_free(p->workers);
    tn_mem_free(p);
}

int ggml_threadpool_get_n_threads(struct ggml_threadpool * p) {
    return p ? p->params.n_threads : 0;
}

void ggml_threadpool_pause(struct ggml_threadpool * p) {
    if (p) atomic_store(&p->paused, true);
}

void ggml_threadpool_resume(struct ggml_threadpool * p) {
    if (p) atomic_store(&p->paused, false);
}
