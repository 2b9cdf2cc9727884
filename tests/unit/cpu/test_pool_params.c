// SPDX-License-Identifier: MIT
// Every field of ggml_threadpool_params does what it says, as seen from outside: the system's own view of the
// workers (number, processors, scheduling), and of the caller while a graph runs.
#include "harness.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cpu/crowd.h"
#include "cpu/pool.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "threads.h"

struct workers {
    long ids[THREADS_MAX];
    int n;
};

static bool is_in(const long * ids, int n, long id) {
    for (int i = 0; i < n; i++) {
        if (ids[i] == id) return true;
    }
    return false;
}

static struct ggml_threadpool * start(struct ggml_threadpool_params * params, struct workers * out) {
    static long before[THREADS_MAX], now[THREADS_MAX];
    const int rest = threads_at_rest();
    const int n_before = threads_list(before);
    struct ggml_threadpool * pool = ggml_threadpool_new(params);
    assert_non_null(pool);
    assert_threads(rest + params->n_threads - 1);
    const int n = threads_list(now);
    out->n = 0;
    for (int i = 0; i < n; i++) {
        if (!is_in(before, n_before, now[i])) out->ids[out->n++] = now[i];
    }
    assert_int_equal(out->n, params->n_threads - 1);
    return pool;
}

static void number_of_threads(void ** state) {
    (void) state;
    static const int counts[] = { 1, 2, 3, 5, 17, 64 };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct ggml_threadpool_params params = ggml_threadpool_params_default(counts[i]);
        struct workers w;
        struct ggml_threadpool * pool = start(&params, &w);
        assert_int_equal(ggml_threadpool_get_n_threads(pool), counts[i]);
        ggml_threadpool_free(pool);
    }
    threads_at_rest();
}

// Workers place themselves, so one that has just started may not have done so yet.
static bool eventually(bool (*holds)(long id, const void * arg), long id, const void * arg) {
    for (int i = 0; i < 5000; i++) {
        if (holds(id, arg)) return true;
        threads_nap(1000);
    }
    return false;
}

static bool is_on(long id, const void * arg) {
    cpu_set_t set;
    return sched_getaffinity((pid_t) id, sizeof(set), &set) == 0 && CPU_EQUAL(&set, (const cpu_set_t *) arg);
}

struct processors {
    int n;
    int ids[CPU_SETSIZE];
};

static struct processors processors(void) {
    struct processors p = { 0 };
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set)) p.ids[p.n++] = i;
    }
    return p;
}

static void no_mask_changes_nothing(void ** state) {
    (void) state;
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
    struct workers w;
    struct ggml_threadpool * pool = start(&params, &w);
    for (int i = 0; i < w.n; i++)
        assert_true(eventually(is_on, w.ids[i], &set));
    ggml_threadpool_free(pool);
}

static void all_threads_get_the_mask(void ** state) {
    (void) state;
    const struct processors have = processors();
    for (int n = 1; n <= have.n && n <= 3; n++) { // the last n of them
        struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
        cpu_set_t set;
        CPU_ZERO(&set);
        for (int i = 0; i < n; i++) {
            params.cpumask[have.ids[have.n - 1 - i]] = true;
            CPU_SET(have.ids[have.n - 1 - i], &set);
        }
        struct workers w;
        struct ggml_threadpool * pool = start(&params, &w);
        for (int i = 0; i < w.n; i++)
            assert_true(eventually(is_on, w.ids[i], &set));
        ggml_threadpool_free(pool);
    }
}

// Each worker on one processor, and these dealt evenly.
static void strict_threads_get_one_each(void ** state) {
    (void) state;
    const struct processors have = processors();
    struct ggml_threadpool_params params = ggml_threadpool_params_default(6);
    params.strict_cpu = true;
    const int n = have.n < 3 ? have.n : 3;
    for (int i = 0; i < n; i++)
        params.cpumask[have.ids[i]] = true;
    struct workers w;
    struct ggml_threadpool * pool = start(&params, &w);
    int found = 0;
    for (int i = 0; i < n; i++) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(have.ids[i], &set);
        const int expected = w.n / n + (i < w.n % n); // 5 workers in turn
        int on = 0;
        for (int t = 0; t < 5000 && on != expected; t++) {
            on = 0;
            for (int k = 0; k < w.n; k++)
                on += is_on(w.ids[k], &set);
            if (on != expected) threads_nap(1000);
        }
        assert_int_equal(on, expected);
        found += on;
    }
    assert_int_equal(found, w.n);
    ggml_threadpool_free(pool);
}

// What a custom function on the calling thread sees.
struct view {
    cpu_set_t set;
    int policy;
};

static void look(struct ggml_tensor * dst, const struct ggml_tensor * a, int ith, int nth, void * data) {
    struct view * v = data;
    (void) dst, (void) a, (void) ith, (void) nth;
    sched_getaffinity(0, sizeof(v->set), &v->set);
    v->policy = sched_getscheduler(0);
}

static struct view view_of_caller(struct ggml_threadpool * pool) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    struct view v = { .policy = -1 };
    ggml_build_forward_expand(g, ggml_map_custom1(ctx, ggml_new_f32(ctx, 1.0f), look, 1, &v));
    struct ggml_cplan plan = ggml_graph_plan(g, 0, pool);
    assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_SUCCESS);
    ggml_free(ctx);
    return v;
}

// The caller is the last to be dealt a processor, and has its own back afterwards.
static void the_caller_too_while_it_computes(void ** state) {
    (void) state;
    const struct processors have = processors();
    struct view before, after;
    look(NULL, NULL, 0, 1, &before);
    for (int strict = 0; strict < 2; strict++) {
        struct ggml_threadpool_params params =
            ggml_threadpool_params_default(3); // two workers, then the caller
        params.strict_cpu = strict;
        params.prio = GGML_SCHED_PRIO_LOW;
        const int n = have.n < 3 ? have.n : 3;
        cpu_set_t set;
        CPU_ZERO(&set);
        for (int i = 0; i < n; i++) {
            params.cpumask[have.ids[i]] = true;
            if (!strict || i == 2 % n) CPU_SET(have.ids[i], &set);
        }
        struct ggml_threadpool * pool = ggml_threadpool_new(&params);
        assert_non_null(pool);
        const struct view v = view_of_caller(pool);
        assert_true(CPU_EQUAL(&v.set, &set));
        assert_int_equal(v.policy, SCHED_BATCH);
        look(NULL, NULL, 0, 1, &after);
        assert_true(CPU_EQUAL(&after.set, &before.set));
        assert_int_equal(after.policy, before.policy);
        ggml_threadpool_free(pool);
    }
}

struct level {
    int policy, priority;
};

static bool is_scheduled(long id, const void * arg) {
    const struct level * wanted = arg;
    struct sched_param param;
    return sched_getscheduler((pid_t) id) == wanted->policy && sched_getparam((pid_t) id, &param) == 0 &&
           param.sched_priority == wanted->priority;
}

static bool is_allowed(const struct level * level) {
    struct tn_schedule before;
    assert_true(tn_thread_get_schedule(&before));
    const struct tn_schedule wanted = { level->policy, level->priority };
    const bool allowed = tn_thread_set_schedule(&wanted);
    assert_true(tn_thread_set_schedule(&before));
    return allowed;
}

static void count_warnings(enum ggml_log_level level, const char * text, void * data) {
    if (level == GGML_LOG_LEVEL_WARN && strstr(text, "priority")) ++*(_Atomic int *) data;
}

// What the system refuses is only warned of, and the pool works.
static void priorities(void ** state) {
    (void) state;
    static const struct {
        enum ggml_sched_priority prio;
        struct level level;
    } rows[] = {
        { GGML_SCHED_PRIO_LOW, { SCHED_BATCH, 0 } },    { GGML_SCHED_PRIO_MEDIUM, { SCHED_FIFO, 40 } },
        { GGML_SCHED_PRIO_HIGH, { SCHED_FIFO, 80 } },   { GGML_SCHED_PRIO_REALTIME, { SCHED_FIFO, 90 } },
        { GGML_SCHED_PRIO_NORMAL, { SCHED_OTHER, 0 } }, // inherited
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ggml_threadpool_params params = ggml_threadpool_params_default(3);
        params.prio = rows[i].prio;
        const bool allowed = is_allowed(&rows[i].level);
        assert_true(allowed || params.prio > GGML_SCHED_PRIO_NORMAL);
        _Atomic int warnings = 0;
        ggml_log_set(count_warnings, &warnings);
        struct workers w;
        struct ggml_threadpool * pool = start(&params, &w);
        const struct level wanted = allowed ? rows[i].level : (struct level){ SCHED_OTHER, 0 };
        for (int k = 0; k < w.n; k++)
            assert_true(eventually(is_scheduled, w.ids[k], &wanted));
        struct threads_work work = threads_work_new(1);
        struct ggml_cplan plan = ggml_graph_plan(work.g, 3, pool);
        plan.work_data = malloc(plan.work_size);
        assert_int_equal(ggml_graph_compute(work.g, &plan), GGML_STATUS_SUCCESS);
        assert_true(threads_work_right(&work));
        free(plan.work_data);
        threads_work_free(&work);
        ggml_threadpool_free(pool);
        ggml_log_set(NULL, NULL);
        assert_int_equal(warnings > 0, !allowed);
    }
}

// A job that both threads take part in, and when the worker was through with it.
struct meeting {
    _Atomic int arrived;
    _Atomic int64_t left_us;
};

static void meet(const void * arg, int64_t chunk, int thread) {
    struct meeting * m = *(struct meeting * const *) arg;
    (void) chunk;
    atomic_fetch_add(&m->arrived, 1);
    const int64_t end = tn_clock_us() + 200000;
    while (atomic_load(&m->arrived) < 2 && tn_clock_us() < end)
        tn_thread_yield();
    if (thread == 1) atomic_store(&m->left_us, tn_clock_us());
}

static void leave(struct ggml_threadpool * pool) {
    (void) pool;
}

// A back end that is given another pool pauses the one that it had.
static void take_another(struct ggml_threadpool * pool) {
    static ggml_backend_t backend;
    if (!backend) backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_threadpool(backend, pool); // the same: nothing happens
    ggml_backend_cpu_set_threadpool(backend, pool);
    ggml_backend_cpu_set_threadpool(backend, NULL);
    if (pool) return;
    ggml_backend_free(backend);
    backend = NULL;
}

// Microseconds from the end of a job until the worker sleeps: the least of n jobs.
static int64_t time_to_sleep(uint32_t poll, void (*then)(struct ggml_threadpool * pool), int n) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(2);
    params.poll = poll;
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    assert_non_null(pool);
    const int64_t room = 64;
    int64_t least = INT64_MAX;
    for (int i = 0; i < n; i++) {
        struct meeting m = { 0 }, *arg = &m;
        tn_pool_run(pool, 2, 2, (struct tn_pool_work){ meet, &arg });
        then(pool);
        while (tn_crowd_room() != room)
            tn_thread_yield();
        const int64_t took = tn_clock_us() - atomic_load(&m.left_us);
        if (atomic_load(&m.left_us) > 0 && took < least) least = took;
    }
    ggml_threadpool_free(pool);
    return least;
}

// A busy machine makes it longer, nothing makes it shorter.
static void poll_and_pause(void ** state) {
    (void) state;
    tn_crowd_pretend(64);
    const int64_t least[] = { time_to_sleep(100, leave, 100), time_to_sleep(50, leave, 100) };
    const int64_t none = time_to_sleep(0, leave, 2000);
    const int64_t paused = time_to_sleep(100, ggml_threadpool_pause, 2000);
    const int64_t replaced = time_to_sleep(100, take_another, 2000);
    take_another(NULL);
    tn_crowd_pretend(0);
    if (least[0] < 100) fail_msg("poll 100 sleeps after %d us", (int) least[0]);
    if (least[1] < 50) fail_msg("poll 50 sleeps after %d us", (int) least[1]);
    if (none >= 50) fail_msg("poll 0 sleeps after %d us", (int) none);
    if (paused >= 100) fail_msg("a paused pool of poll 100 sleeps after %d us", (int) paused);
    if (replaced >= 100) fail_msg("a replaced pool of poll 100 sleeps after %d us", (int) replaced);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_of_threads),
        cmocka_unit_test(no_mask_changes_nothing),
        cmocka_unit_test(all_threads_get_the_mask),
        cmocka_unit_test(strict_threads_get_one_each),
        cmocka_unit_test(the_caller_too_while_it_computes),
        cmocka_unit_test(priorities),
        cmocka_unit_test(poll_and_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
