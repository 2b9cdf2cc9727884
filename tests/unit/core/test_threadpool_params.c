// SPDX-License-Identifier: MIT
// core/threadpool_params.c: defaults, and which differences count.
#include "harness.h"

#include "ggml.h"

static void defaults(void ** state) {
    (void) state;
    struct ggml_threadpool_params p;
    memset(&p, 0xff, sizeof(p));
    ggml_threadpool_params_init(&p, 6);
    assert_int_equal(p.n_threads, 6);
    assert_int_equal(p.prio, GGML_SCHED_PRIO_NORMAL);
    assert_int_equal(p.poll, 50);
    assert_false(p.strict_cpu);
    assert_false(p.paused);
    for (int i = 0; i < GGML_MAX_N_THREADS; i++) {
        assert_false(p.cpumask[i]);
    }
    const struct ggml_threadpool_params q = ggml_threadpool_params_default(6);
    assert_true(ggml_threadpool_params_match(&p, &q));
    ggml_threadpool_params_init(NULL, 6);
}

static void differences(void ** state) {
    (void) state;
    const struct ggml_threadpool_params p = ggml_threadpool_params_default(4);
    struct ggml_threadpool_params q = p;
    q.paused = true; // a state, not a property
    assert_true(ggml_threadpool_params_match(&p, &q));
    q.n_threads = 5;
    assert_false(ggml_threadpool_params_match(&p, &q));
    q = p;
    q.prio = GGML_SCHED_PRIO_HIGH;
    assert_false(ggml_threadpool_params_match(&p, &q));
    q = p;
    q.poll = 0;
    assert_false(ggml_threadpool_params_match(&p, &q));
    q = p;
    q.strict_cpu = true;
    assert_false(ggml_threadpool_params_match(&p, &q));
    q = p;
    q.cpumask[GGML_MAX_N_THREADS - 1] = true;
    assert_false(ggml_threadpool_params_match(&p, &q));
    assert_false(ggml_threadpool_params_match(NULL, &p));
    assert_false(ggml_threadpool_params_match(&p, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
