// SPDX-License-Identifier: MIT
// Random graphs of all operators on random devices: the CPU's results, bit for bit, and nothing out of order;
// at times something fails, and later works.
// A run follows from TENON_SEED; each scene from its own number, which a failure prints: TENON_SCENE=<number>
// runs it alone and tells what is in it.
#include "sched/scene.h"

#include "ggml-cpu.h"

enum { MOST_FAILURES = 10 };

struct run {
    struct combinations all;
    ggml_backend_t cpu;
    struct test_rng rng;
    int64_t n_scenes, n_nodes, n_splits, n_compared, n_refused;
    int n_failures;
    uint64_t under_way; // the scene that runs, 0 for none
};

static void quiet(enum ggml_log_level level, const char * text, void * data) {
    (void) level, (void) text, (void) data;
}

static int setup(void ** state) {
    static struct run run;
    ggml_log_set(quiet, NULL);
    run.all = combinations_new();
    run.cpu = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(run.cpu, 1);
    run.rng.state = test_seed();
    *state = &run;
    return run.cpu ? 0 : -1;
}

static int teardown(void ** state) {
    struct run * run = *state;
    if (run->under_way) printf("TENON_SCENE=%llu did not end\n", (unsigned long long) run->under_way);
    combinations_free(&run->all);
    ggml_backend_free(run->cpu);
    ggml_log_set(NULL, NULL);
    return 0;
}

static bool try_scene(struct run * run, uint64_t number, bool verbose) {
    char text[1024];
    run->under_way = number;
    struct scene * s = scene_new(&run->all, run->cpu, number);
    const bool done = scene_run(s);
    if (verbose) scene_print(s);
    run->n_scenes++;
    run->n_nodes += s->n_nodes;
    run->n_splits += s->n_splits;
    run->n_compared += s->n_compared;
    run->n_refused += s->n_refused;
    const int n_nodes = s->n_nodes, n_backends = s->n_backends;
    const bool well = scene_free(s, text, sizeof(text)) && done;
    if (!well)
        printf("TENON_SCENE=%llu (%d nodes, %d back ends) %s\n", (unsigned long long) number, n_nodes,
               n_backends, text);
    run->n_failures += !well;
    run->under_way = 0;
    return well;
}

static void random_graphs(void ** state) {
    struct run * run = *state;
    const int64_t n = test_rounds(20000);
    while (run->n_scenes < n && run->n_failures < MOST_FAILURES)
        try_scene(run, test_rng_u64(&run->rng), false);
    printf("%lld scenes, %lld nodes in %lld splits, %lld tensors compared, %lld refusals\n",
           (long long) run->n_scenes, (long long) run->n_nodes, (long long) run->n_splits,
           (long long) run->n_compared, (long long) run->n_refused);
    assert_int_equal(run->n_failures, 0);
    assert_true(run->n_refused > 0);
}

// With what the library says meanwhile, which is more with GGML_SCHED_DEBUG=2.
static void one_scene(void ** state) {
    ggml_log_set(NULL, NULL);
    assert_true(try_scene(*state, strtoull(getenv("TENON_SCENE"), NULL, 0), true));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_graphs) };
    const struct CMUnitTest alone[] = { cmocka_unit_test(one_scene) };
    if (getenv("TENON_SCENE")) return cmocka_run_group_tests(alone, setup, teardown);
    return cmocka_run_group_tests(tests, setup, teardown);
}
