// SPDX-License-Identifier: MIT
// The thread pool: every chunk once, any number of threads, idle costs nothing, parameters, failures.
#include "harness.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "cpu/pool.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

enum { CHUNKS = 200 };

struct tally {
    _Atomic int count[CHUNKS];
    _Atomic int thread_max;
};

static void count_chunk(const void * arg, int64_t chunk, int thread) {
    struct tally * t = *(struct tally * const *) arg;
    atomic_fetch_add(&t->count[chunk], 1);
    int seen = atomic_load(&t->thread_max);
    while (thread > seen && !atomic_compare_exchange_weak(&t->thread_max, &seen, thread)) {}
}

static struct ggml_threadpool * pool_of(int n_threads, uint32_t poll) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(n_threads);
    params.poll = poll;
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    assert_non_null(pool);
    return pool;
}

static void check_once(struct ggml_threadpool * pool, int n_threads, int64_t n_chunks) {
    static struct tally tally;
    struct tally * t = &tally;
    memset(t, 0, sizeof(*t));
    tn_pool_run(pool, n_threads, n_chunks, (struct tn_pool_work){ count_chunk, &t });
    for (int i = 0; i < CHUNKS; i++)
        assert_int_equal(atomic_load(&t->count[i]), i < n_chunks ? 1 : 0);
    assert_true(atomic_load(&t->thread_max) < n_threads);
}

static void every_chunk_runs_once(void ** state) {
    (void) state;
    for (int n = 1; n <= 5; n++) {
        struct ggml_threadpool * pool = pool_of(n, 50);
        assert_int_equal(ggml_threadpool_get_n_threads(pool), n);
        for (int64_t chunks = 0; chunks <= CHUNKS; chunks += 1 + chunks / 3)
            check_once(pool, n, chunks);
        ggml_threadpool_free(pool);
    }
    check_once(NULL, 8, CHUNKS); // without a pool the caller does it all
}

// Thread numbers stay below the number asked for, whatever the pool has: scratch memory is cut by it.
static void the_number_of_threads_may_change_between_jobs(void ** state) {
    (void) state;
    struct ggml_threadpool * pool = pool_of(4, 50);
    for (int64_t i = 0; i < test_rounds(20000); i++)
        check_once(pool, i % 2 ? 4 : 1 + (int) (i / 2 % 3), 1 + i % 7);
    ggml_threadpool_free(pool);
}

static void threads_that_sleep_at_once_are_woken(void ** state) {
    (void) state;
    struct ggml_threadpool * pool = pool_of(3, 0);
    for (int i = 0; i < 300; i++)
        check_once(pool, 3, 1 + i % 9);
    ggml_threadpool_free(pool);
}

static double processor_seconds(void) {
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double) ts.tv_sec + 1e-9 * (double) ts.tv_nsec;
}

static void an_idle_pool_uses_no_processor_time(void ** state) {
    (void) state;
    struct ggml_threadpool * pool = pool_of(4, 100);
    check_once(pool, 4, CHUNKS);
    const double before = processor_seconds();
    nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
    const double used = processor_seconds() - before;
    ggml_threadpool_free(pool);
    if (used > 0.0125) fail_msg("%.1f ms of processor time in half a second", 1000 * used);
}

static void a_paused_pool_resumes_by_itself(void ** state) {
    (void) state;
    struct ggml_threadpool_params params = ggml_threadpool_params_default(3);
    params.paused = true;
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    assert_non_null(pool);
    check_once(pool, 3, CHUNKS);
    ggml_threadpool_pause(pool);
    ggml_threadpool_pause(pool);
    check_once(pool, 3, CHUNKS);
    ggml_threadpool_pause(pool);
    ggml_threadpool_resume(pool);
    check_once(pool, 3, CHUNKS);
    ggml_threadpool_free(pool);
}

static void bad_parameters_are_refused(void ** state) {
    (void) state;
    struct ggml_threadpool_params params = ggml_threadpool_params_default(0);
    assert_null(ggml_threadpool_new(NULL));
    params.n_threads = 0;
    assert_null(ggml_threadpool_new(&params));
    assert_contains(ggml_ext_last_error(), "1 to 512");
    params.n_threads = GGML_MAX_N_THREADS + 1;
    assert_null(ggml_threadpool_new(&params));
    ggml_threadpool_free(NULL);
    ggml_threadpool_pause(NULL);
    ggml_threadpool_resume(NULL);
    assert_int_equal(ggml_threadpool_get_n_threads(NULL), 0);
    assert_int_equal(tn_pool_threads(NULL), 1);
}

static void a_failed_allocation_leaves_nothing_behind(void ** state) {
    (void) state;
    struct ggml_threadpool_params params = ggml_threadpool_params_default(2);
    struct tn_mem_stats before, after;
    tn_mem_stats_get(TN_MEM_OBJECT, &before);
    for (int n = 1;; n++) {
        tn_mem_fail_nth(n);
        struct ggml_threadpool * pool = ggml_threadpool_new(&params);
        const int struck = tn_mem_fail_nth(0);
        if (!struck) {
            assert_int_equal(n, 3);
            ggml_threadpool_free(pool);
            break;
        }
        assert_null(pool);
        tn_mem_stats_get(TN_MEM_OBJECT, &after);
        assert_int_equal(after.live_blocks, before.live_blocks);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_runs_once),
        cmocka_unit_test(the_number_of_threads_may_change_between_jobs),
        cmocka_unit_test(threads_that_sleep_at_once_are_woken),
        cmocka_unit_test(an_idle_pool_uses_no_processor_time),
        cmocka_unit_test(a_paused_pool_resumes_by_itself),
        cmocka_unit_test(bad_parameters_are_refused),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
