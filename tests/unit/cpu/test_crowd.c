// SPDX-License-Identifier: MIT
// cpu/crowd.c: processors that pools may use, and threads at work on them.
#include "harness.h"

#include <stdatomic.h>

#include "base/thread.h"
#include "cpu/crowd.h"
#include "cpu/pool.h"
#include "ggml-cpu.h"
#include "threads.h"

static int first_processor(int n_th) {
    static bool mask[TN_THREAD_CPUS];
    assert_true(tn_thread_get_affinity(mask, TN_THREAD_CPUS));
    for (int i = 0; i < TN_THREAD_CPUS; i++) {
        if (mask[i] && n_th-- == 0) return i;
    }
    return -1;
}

// In this order: what was usable once stays so.
static void pools_bring_their_processors(void ** state) {
    (void) state;
    assert_int_equal(tn_crowd_room(), 0); // no pool yet
    struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
    params.cpumask[first_processor(0)] = true;
    assert_int_equal(tn_crowd_admit(&params), 1);
    assert_int_equal(tn_crowd_room(), 1);
    assert_int_equal(tn_crowd_admit(&params), 1);
    assert_int_equal(tn_crowd_room(), 1);
    params.cpumask[first_processor(0)] = false;
    static bool mask[TN_THREAD_CPUS];
    assert_true(tn_thread_get_affinity(mask, TN_THREAD_CPUS));
    int n = 0;
    for (int i = 0; i < TN_THREAD_CPUS; i++)
        n += mask[i];
    assert_int_equal(tn_crowd_admit(&params), n);
    assert_int_equal(tn_crowd_room(), n);
    for (int i = 0; i < GGML_MAX_N_THREADS; i++) // more than the machine has
        params.cpumask[i] = true;
    assert_int_equal(tn_crowd_admit(&params), tn_thread_cpu_count());
}

static void threads_at_work_take_room(void ** state) {
    (void) state;
    const int room = tn_crowd_room();
    for (int i = 1; i <= room + 2; i++) {
        tn_crowd_enter();
        assert_int_equal(tn_crowd_room(), room - i);
    }
    for (int i = 0; i < room + 2; i++)
        tn_crowd_leave();
    assert_int_equal(tn_crowd_room(), room);
}

static void note_thread(const void * arg, int64_t chunk, int thread) {
    _Atomic int * seen = *(_Atomic int * const *) arg;
    (void) chunk;
    if (thread > 0) atomic_fetch_add(seen, 1);
    threads_nap(200);
}

// With 16 processors workers help; when 16 others are at work none is woken.
static void a_crowd_keeps_workers_asleep(void ** state) {
    (void) state;
    tn_crowd_pretend(16);
    struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
    params.poll = 0;
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    assert_non_null(pool);
    _Atomic int helped = 0, *arg = &helped;
    for (int i = 0; i < 1000 && atomic_load(&helped) == 0; i++)
        tn_pool_run(pool, 4, 16, (struct tn_pool_work){ note_thread, &arg });
    assert_true(atomic_load(&helped) > 0);
    // A worker that has left, or not yet begun, sees the next job unless it sleeps.
    for (int i = 0; i < 5000 && !(tn_crowd_room() == 16 && threads_others_sleep()); i++)
        threads_nap(1000);
    assert_int_equal(tn_crowd_room(), 16);
    assert_true(threads_others_sleep());

    for (int i = 0; i < 16; i++)
        tn_crowd_enter();
    atomic_store(&helped, 0);
    for (int i = 0; i < 20; i++)
        tn_pool_run(pool, 4, 16, (struct tn_pool_work){ note_thread, &arg });
    assert_int_equal(atomic_load(&helped), 0);
    for (int i = 0; i < 16; i++)
        tn_crowd_leave();
    ggml_threadpool_free(pool);
    tn_crowd_pretend(0);
    assert_int_equal(tn_crowd_room(), 16); // of the pools so far; the next one counts again
}

// A graph counts as one thread at work, and no longer than it takes.
static void note_room(struct ggml_tensor * dst, const struct ggml_tensor * a, int ith, int nth, void * data) {
    (void) dst, (void) a, (void) ith, (void) nth;
    *(int *) data = tn_crowd_room();
}

static void a_graph_takes_room(void ** state) {
    (void) state;
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    int during = 99;
    ggml_build_forward_expand(g, ggml_map_custom1(ctx, ggml_new_f32(ctx, 1.0f), note_room, 1, &during));
    const int before = tn_crowd_room();
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, 1), GGML_STATUS_SUCCESS);
    assert_int_equal(during, before - 1);
    assert_int_equal(tn_crowd_room(), before);
    ggml_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_bring_their_processors),
        cmocka_unit_test(threads_at_work_take_room),
        cmocka_unit_test(a_crowd_keeps_workers_asleep),
        cmocka_unit_test(a_graph_takes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
