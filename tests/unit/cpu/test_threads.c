// SPDX-License-Identifier: MIT
// Threads of a pool through whole graphs: counts that change, pauses from other threads, pools that are
// shared, aborts and failures that must leave no thread behind.
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "base/thread.h"
#include "cpu/crowd.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "threads.h"

static struct ggml_threadpool * pool_of(int n_threads) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(n_threads);
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    assert_non_null(pool);
    return pool;
}

// Computes as a user without a back end does.
static enum ggml_status compute(struct threads_work * w, int n_threads, struct ggml_threadpool * pool,
                                ggml_abort_callback callback, void * data) {
    struct ggml_cplan plan = ggml_graph_plan(w->g, n_threads, pool);
    plan.work_data = plan.work_size > 0 ? malloc(plan.work_size) : NULL;
    plan.abort_callback = callback;
    plan.abort_callback_data = data;
    threads_work_clear(w);
    const enum ggml_status status = ggml_graph_compute(w->g, &plan);
    free(plan.work_data);
    return status;
}

static void compute_right(struct threads_work * w, int n_threads, struct ggml_threadpool * pool) {
    assert_int_equal(compute(w, n_threads, pool, NULL, NULL), GGML_STATUS_SUCCESS);
    assert_true(threads_work_right(w));
}

static void compute_on(struct threads_work * w, ggml_backend_t backend) {
    threads_work_clear(w);
    assert_int_equal(ggml_backend_graph_compute(backend, w->g), GGML_STATUS_SUCCESS);
    assert_true(threads_work_right(w));
}

static void the_count_flips_on_a_pool(void ** state) {
    (void) state;
    struct threads_work w = threads_work_new(1);
    struct ggml_threadpool * pool = pool_of(4);
    for (int64_t i = 0; i < test_rounds(10000); i++)
        compute_right(&w, i % 2 ? 4 : 1, pool);
    ggml_threadpool_free(pool);
    threads_work_free(&w);
}

static void the_count_flips_on_a_back_end(void ** state) {
    (void) state;
    struct threads_work w = threads_work_new(2);
    const int rest = threads_at_rest();
    ggml_backend_t backend = ggml_backend_cpu_init();
    assert_non_null(backend);
    for (int64_t i = 0; i < test_rounds(10000); i++) {
        ggml_backend_cpu_set_n_threads(backend, i % 2 ? 4 : 1);
        compute_on(&w, backend);
    }
    for (int i = 0; i < 60;
         i++) { // a larger pool takes the place of a smaller one, never the other way round
        ggml_backend_cpu_set_n_threads(backend, 1 + i * 5 % 7);
        compute_on(&w, backend);
    }
    assert_threads(rest + 6);
    ggml_backend_free(backend);
    assert_threads(rest);
    threads_work_free(&w);
}

static void the_count_flips_without_a_pool(void ** state) {
    (void) state;
    struct threads_work w = threads_work_new(3);
    const int rest = threads_at_rest();
    for (int64_t i = 0; i < test_rounds(3000); i++)
        compute_right(&w, i % 2 ? 4 : 1, NULL);
    assert_threads(rest);
    threads_work_free(&w);
}

// Pools of an application change under a back end that is computing with each in turn.
static void the_pool_changes_between_graphs(void ** state) {
    (void) state;
    struct threads_work w = threads_work_new(4);
    const int rest = threads_at_rest();
    struct ggml_threadpool * pools[] = { pool_of(4), NULL, pool_of(1), pool_of(3) };
    ggml_backend_t backend = ggml_backend_cpu_init();
    for (int64_t i = 0; i < test_rounds(4000); i++) {
        ggml_backend_cpu_set_threadpool(backend, pools[i % 4]);
        compute_on(&w, backend);
    }
    ggml_backend_free(backend); // borrowed pools stay
    compute_right(&w, 4, pools[0]);
    for (int i = 0; i < 4; i++)
        ggml_threadpool_free(pools[i]);
    assert_threads(rest);
    threads_work_free(&w);
}

struct meddler {
    struct ggml_threadpool * pool;
    _Atomic bool stop;
    uint64_t seed;
};

static void * pause_and_resume(void * arg) {
    struct meddler * m = arg;
    struct test_rng rng = { m->seed };
    while (!atomic_load(&m->stop)) {
        if (test_rng_below(&rng, 2)) {
            ggml_threadpool_pause(m->pool);
        } else {
            ggml_threadpool_resume(m->pool);
        }
        threads_nap(test_rng_below(&rng, 60));
    }
    return NULL;
}

static void others_pause_and_resume_midway(void ** state) {
    (void) state;
    struct threads_work w = threads_work_new(5);
    const uint64_t seed = test_seed();
    struct meddler meddlers[2] = { { .pool = pool_of(4), .seed = seed }, { .seed = seed + 1 } };
    meddlers[1].pool = meddlers[0].pool;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pause_and_resume, &meddlers[i]), 0);
    for (int64_t i = 0; i < test_rounds(10000); i++)
        compute_right(&w, i % 3 == 0 ? 1 : 4, meddlers[0].pool);
    for (int i = 0; i < 2; i++) {
        atomic_store(&meddlers[i].stop, true);
        pthread_join(threads[i], NULL);
    }
    ggml_threadpool_free(meddlers[0].pool);
    threads_work_free(&w);
}

static void pools_go_in_any_state(void ** state) {
    (void) state;
    struct threads_work w = threads_work_new(6);
    const int rest = threads_at_rest();
    for (int64_t i = 0; i < test_rounds(1000); i++) {
        struct ggml_threadpool_params params = ggml_threadpool_params_default(1 + (int) (i % 5));
        params.paused = i & 1;
        params.poll = i & 2 ? 100 : 0;
        struct ggml_threadpool * pool = ggml_threadpool_new(&params);
        assert_non_null(pool);
        if (i & 4) compute_right(&w, 4, pool);
        if (i & 8) ggml_threadpool_pause(pool);
        if (i & 16) threads_nap(50);
        if (i & 32) ggml_threadpool_resume(pool);
        ggml_threadpool_free(pool);
    }
    assert_threads(rest);
    threads_work_free(&w);
}

// Several contexts on one pool at the same time.
struct sharer {
    struct ggml_threadpool * pool;
    int seed;
    bool with_backend;
    int64_t wrong;
};

static void * share(void * arg) {
    struct sharer * s = arg;
    struct threads_work w = threads_work_new(s->seed);
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_threadpool(backend, s->pool);
    for (int64_t i = 0; i < test_rounds(4000); i++) {
        threads_work_clear(&w);
        const enum ggml_status status = s->with_backend ? ggml_backend_graph_compute(backend, w.g)
                                                        : compute(&w, 1 + (int) (i % 4), s->pool, NULL, NULL);
        s->wrong += status != GGML_STATUS_SUCCESS || !threads_work_right(&w);
    }
    ggml_backend_free(backend);
    threads_work_free(&w);
    return NULL;
}

static void contexts_share_a_pool(void ** state) {
    (void) state;
    struct ggml_threadpool * pool = pool_of(4);
    struct sharer sharers[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        sharers[i] = (struct sharer){ .pool = pool, .seed = 10 + i, .with_backend = i != 1 };
        assert_int_equal(pthread_create(&threads[i], NULL, share, &sharers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(sharers[i].wrong, 0);
    }
    ggml_threadpool_free(pool);
}

// A custom function that computes a graph of its own, on the pool that is computing it.
struct inner {
    struct threads_work works[4];
    struct ggml_threadpool * pool;
    _Atomic int right;
};

static void compute_inside(struct ggml_tensor * dst, const struct ggml_tensor * a, int ith, int nth,
                           void * data) {
    struct inner * s = data;
    (void) dst, (void) a, (void) nth;
    if (compute(&s->works[ith], 4, s->pool, NULL, NULL) != GGML_STATUS_SUCCESS) return;
    if (threads_work_right(&s->works[ith])) atomic_fetch_add(&s->right, 1);
}

static void a_graph_inside_a_graph_on_one_pool(void ** state) {
    (void) state;
    struct inner s = { .pool = pool_of(4) };
    for (int i = 0; i < 4; i++)
        s.works[i] = threads_work_new(20 + i);
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
    struct ggml_tensor * a = ggml_new_f32(ctx, 1.0f);
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, ggml_map_custom1(ctx, a, compute_inside, 4, &s));
    struct ggml_cplan plan = ggml_graph_plan(g, 4, s.pool);
    for (int i = 0; i < 100; i++)
        assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_SUCCESS);
    assert_int_equal(atomic_load(&s.right), 400);
    ggml_free(ctx);
    for (int i = 0; i < 4; i++)
        threads_work_free(&s.works[i]);
    ggml_threadpool_free(s.pool);
}

struct countdown {
    int left;
};

static bool count_down(void * data) {
    struct countdown * c = data;
    return --c->left < 0;
}

// After every node, with every count of threads, on a pool, without one, and through a back end.
static void an_abort_leaves_no_thread_behind(void ** state) {
    (void) state;
    struct threads_work w = threads_work_new(7);
    const int n_nodes = ggml_graph_n_nodes(w.g);
    const int rest = threads_at_rest();
    for (int n_threads = 1; n_threads <= 6; n_threads++) {
        struct ggml_threadpool * pool = pool_of(n_threads);
        ggml_backend_t backend = ggml_backend_cpu_init();
        ggml_backend_cpu_set_n_threads(backend, n_threads);
        for (int at = 0; at <= n_nodes; at++) {
            const enum ggml_status status = at < n_nodes ? GGML_STATUS_ABORTED : GGML_STATUS_SUCCESS;
            struct countdown c = { at };
            assert_int_equal(compute(&w, n_threads, NULL, count_down, &c), status);
            assert_threads(rest + 2 * (n_threads - 1) - (at == 0 ? n_threads - 1 : 0));
            c.left = at;
            assert_int_equal(compute(&w, n_threads, pool, count_down, &c), status);
            c.left = at;
            ggml_backend_cpu_set_abort_callback(backend, count_down, &c);
            assert_int_equal(ggml_backend_graph_compute(backend, w.g), status);
            if (status == GGML_STATUS_ABORTED) assert_contains(ggml_ext_last_error(), "abort callback");
            ggml_backend_cpu_set_abort_callback(backend, NULL, NULL);
            compute_on(&w, backend);
            assert_threads(rest + 2 * (n_threads - 1));
        }
        ggml_backend_free(backend);
        ggml_threadpool_free(pool);
        assert_threads(rest);
    }
    threads_work_free(&w);
}

static bool new_pool(struct threads_work * w) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    const bool done = pool && compute(w, 4, pool, NULL, NULL) == GGML_STATUS_SUCCESS;
    ggml_threadpool_free(pool);
    return done;
}

static bool no_pool(struct threads_work * w) {
    return compute(w, 4, NULL, NULL, NULL) == GGML_STATUS_SUCCESS;
}

// A failure is a status, and the next graph is computed.
static bool back_end(struct threads_work * w) {
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (!backend) return false;
    threads_work_clear(w);
    const enum ggml_status status = ggml_backend_graph_compute(backend, w->g);
    assert_true(status == GGML_STATUS_SUCCESS || status == GGML_STATUS_ALLOC_FAILED);
    if (status != GGML_STATUS_SUCCESS) compute_on(w, backend);
    ggml_backend_free(backend);
    return status == GGML_STATUS_SUCCESS;
}

static bool prepared(struct threads_work * w) {
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (!backend) return false;
    threads_work_clear(w);
    ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(backend, w->g);
    const bool done = plan && ggml_backend_graph_plan_compute(backend, plan) == GGML_STATUS_SUCCESS;
    if (plan) ggml_backend_graph_plan_free(backend, plan);
    ggml_backend_free(backend);
    return done;
}

static int64_t live_blocks(void) {
    struct tn_mem_stats object, work, graph;
    tn_mem_stats_get(TN_MEM_OBJECT, &object);
    tn_mem_stats_get(TN_MEM_WORK, &work);
    tn_mem_stats_get(TN_MEM_GRAPH, &graph);
    return object.live_blocks + work.live_blocks + graph.live_blocks;
}

// The first, second, ... start of a thread or allocation fails, until none is left to fail.
static void sweep(int (*fail_nth)(int64_t), bool (*run)(struct threads_work * w), int expected) {
    struct threads_work w = threads_work_new(8);
    const int rest = threads_at_rest();
    assert_true(run(&w));
    const int64_t blocks = live_blocks();
    for (int n = 1;; n++) {
        fail_nth(n);
        const bool done = run(&w);
        const bool struck = fail_nth(0);
        assert_true(done == !struck);
        assert_threads(rest);
        assert_int_equal(live_blocks(), blocks);
        if (struck) continue;
        assert_true(threads_work_right(&w));
        assert_int_equal(n - 1, expected);
        break;
    }
    threads_work_free(&w);
}

static void threads_that_cannot_be_started(void ** state) {
    (void) state;
    sweep(tn_thread_fail_nth, new_pool, 3);
    sweep(tn_thread_fail_nth, no_pool, 3);
    sweep(tn_thread_fail_nth, back_end, 3);
    sweep(tn_thread_fail_nth, prepared, 3);
    struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
    tn_thread_fail_nth(2);
    assert_null(ggml_threadpool_new(&params));
    assert_contains(ggml_ext_last_error(), "thread 2 of 4");
    assert_int_equal(tn_thread_fail_nth(0), 1);
}

static void memory_that_cannot_be_had(void ** state) {
    (void) state;
    sweep(tn_mem_fail_nth, new_pool, 2);
    sweep(tn_mem_fail_nth, no_pool, 2);
    sweep(tn_mem_fail_nth, back_end, 5);
    sweep(tn_mem_fail_nth, prepared, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_count_flips_on_a_pool),
        cmocka_unit_test(the_count_flips_on_a_back_end),
        cmocka_unit_test(the_count_flips_without_a_pool),
        cmocka_unit_test(the_pool_changes_between_graphs),
        cmocka_unit_test(others_pause_and_resume_midway),
        cmocka_unit_test(pools_go_in_any_state),
        cmocka_unit_test(contexts_share_a_pool),
        cmocka_unit_test(a_graph_inside_a_graph_on_one_pool),
        cmocka_unit_test(an_abort_leaves_no_thread_behind),
        cmocka_unit_test(threads_that_cannot_be_started),
        cmocka_unit_test(memory_that_cannot_be_had),
    };
    // As it is, and once more with all threads at work at the same time, be there processors for them or not.
    const int failed = cmocka_run_group_tests_name("threads", tests, NULL, NULL);
    tn_crowd_pretend(64);
    return failed + cmocka_run_group_tests_name("threads, crowded", tests, NULL, NULL);
}
