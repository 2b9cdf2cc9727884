// SPDX-License-Identifier: MIT
// cpu/placement.c: masks of threads, and that callers and workers are where a pool wants them.
#include "harness.h"

#include <stdatomic.h>

#include "cpu/placement.h"
#include "cpu/pool.h"
#include "ggml-cpu.h"

static void check_mask(const struct ggml_threadpool_params * p, int thread, const char * expected) {
    bool mask[GGML_MAX_N_THREADS];
    assert_true(tn_placement_mask(p, thread, mask));
    for (int i = 0; i < GGML_MAX_N_THREADS; i++)
        assert_int_equal(mask[i], i < 8 && expected[i] == '1');
}

static void masks(void ** state) {
    (void) state;
    struct ggml_threadpool_params p = ggml_threadpool_params_default(4);
    bool mask[GGML_MAX_N_THREADS];
    assert_false(tn_placement_mask(&p, 1, mask));
    assert_false(tn_placement_mask(NULL, 0, mask));
    p.strict_cpu = true; // of no processors: any
    assert_false(tn_placement_mask(&p, 1, mask));
    p.cpumask[1] = p.cpumask[4] = p.cpumask[6] = true;
    check_mask(&p, 1, "01000000");
    check_mask(&p, 2, "00001000");
    check_mask(&p, 3, "00000010");
    check_mask(&p, 0, "01000000"); // last, and round again
    p.strict_cpu = false;
    check_mask(&p, 0, "01001010");
    check_mask(&p, 3, "01001010");
}

static void the_caller_gets_back_what_it_had(void ** state) {
    (void) state;
    static bool before[TN_THREAD_CPUS], now[TN_THREAD_CPUS];
    struct tn_schedule schedule_before, schedule_now;
    assert_true(tn_thread_get_affinity(before, TN_THREAD_CPUS));
    assert_true(tn_thread_get_schedule(&schedule_before));
    struct ggml_threadpool_params p = ggml_threadpool_params_default(1);
    int first = 0;
    while (!before[first])
        first++;
    p.cpumask[first] = true;
    p.prio = GGML_SCHED_PRIO_LOW;
    struct tn_placement saved;
    tn_placement_enter(&p, &saved);
    assert_true(saved.has_mask && saved.has_schedule);
    assert_true(tn_thread_get_affinity(now, TN_THREAD_CPUS));
    for (int i = 0; i < TN_THREAD_CPUS; i++)
        assert_int_equal(now[i], i == first);
    tn_placement_leave(&saved);
    assert_true(tn_thread_get_affinity(now, TN_THREAD_CPUS));
    assert_memory_equal(now, before, sizeof(now));
    assert_true(tn_thread_get_schedule(&schedule_now));
    assert_int_equal(schedule_now.policy, schedule_before.policy);
    tn_placement_enter(NULL, &saved);
    assert_false(saved.has_mask || saved.has_schedule);
    tn_placement_leave(&saved);
}

// Each thread counts the processors that it may run on, and waits for the other.
struct seen {
    _Atomic int processors[2];
};

static void look(const void * arg, int64_t chunk, int thread) {
    struct seen * s = *(struct seen * const *) arg;
    bool mask[TN_THREAD_CPUS];
    (void) chunk;
    if (!tn_thread_get_affinity(mask, TN_THREAD_CPUS)) return;
    int n = 0;
    for (int i = 0; i < TN_THREAD_CPUS; i++)
        n += mask[i];
    atomic_store(&s->processors[thread], n);
    for (int64_t i = 0; i < 2000 && !atomic_load(&s->processors[1 - thread]); i++)
        tn_thread_yield();
}

static void workers_stay_on_their_processor(void ** state) {
    (void) state;
    static bool all[TN_THREAD_CPUS];
    assert_true(tn_thread_get_affinity(all, TN_THREAD_CPUS));
    struct ggml_threadpool_params p = ggml_threadpool_params_default(2);
    memcpy(p.cpumask, all, sizeof(p.cpumask));
    p.strict_cpu = true;
    struct ggml_threadpool * pool = ggml_threadpool_new(&p);
    assert_non_null(pool);
    struct seen seen = { { 0, 0 } }, *arg = &seen;
    for (int i = 0; i < 1000 && !atomic_load(&seen.processors[1]); i++)
        tn_pool_run(pool, 2, 2, (struct tn_pool_work){ look, &arg });
    ggml_threadpool_free(pool);
    assert_int_equal(atomic_load(&seen.processors[1]), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks),
        cmocka_unit_test(the_caller_gets_back_what_it_had),
        cmocka_unit_test(workers_stay_on_their_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
