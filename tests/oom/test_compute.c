// SPDX-License-Identifier: MIT
// Every operator while allocations fail: ggml_graph_compute, directly and through a back end, answers with
// GGML_STATUS_ALLOC_FAILED, leaves nothing behind, and the next time computes what it should. And while data
// is missing: GGML_STATUS_FAILED, with the name of what has none.
#include "numbers/every_op.h"
#include "oom/sweep.h"

// One way to compute: takes a plan or a back end as it comes.
struct way {
    struct ggml_cgraph * graph;
    ggml_backend_t backend;
};

static enum ggml_status by_backend(const struct way * w) {
    ggml_backend_t fresh = w->backend ? w->backend : ggml_backend_cpu_init();
    if (!fresh) return GGML_STATUS_ALLOC_FAILED;
    ggml_backend_cpu_set_n_threads(fresh, 2);
    const enum ggml_status status = ggml_backend_graph_compute(fresh, w->graph);
    if (!w->backend) ggml_backend_free(fresh);
    return status;
}

// The plan is made before, its memory is the caller's: what remains is the pool.
static enum ggml_status by_plan(const struct way * w) {
    struct ggml_cplan plan = ggml_graph_plan(w->graph, 2, NULL);
    if (plan.n_threads == 0) return GGML_STATUS_FAILED;
    plan.work_data = plan.work_size ? malloc(plan.work_size) : NULL;
    const enum ggml_status status = ggml_graph_compute(w->graph, &plan);
    free(plan.work_data);
    return status;
}

static enum ggml_status by_prepared_plan(const struct way * w) {
    ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(w->backend, w->graph);
    if (!plan) return GGML_STATUS_ALLOC_FAILED;
    const enum ggml_status status = ggml_backend_graph_plan_compute(w->backend, plan);
    ggml_backend_graph_plan_free(w->backend, plan);
    return status;
}

struct scene {
    const struct cpu_test * t;
    struct every_memory before, right;
    const char * name;
};

// Fails the first allocation, then the second, ... The number of those that there are.
static int check_way(const struct scene * s, const struct way * w,
                     enum ggml_status (*run)(const struct way *)) {
    const int64_t live = sweep_live();
    for (int n = 1;; n++) {
        tn_error_clear();
        every_restore(s->t, &s->before);
        tn_mem_fail_nth(n);
        const enum ggml_status status = run(w);
        const bool struck = tn_mem_fail_nth(0);
        if (!w->backend && sweep_live() != live) fail_msg("%s: blocks stay", s->name);
        if (struck) {
            if (status != GGML_STATUS_ALLOC_FAILED)
                fail_msg("%s: status %d where allocation %d fails", s->name, status, n);
            assert_contains(ggml_ext_last_error(), "out of memory");
            every_restore(s->t, &s->before);
        }
        if (struck ? run(w) != GGML_STATUS_SUCCESS : status != GGML_STATUS_SUCCESS)
            fail_msg("%s: %s", s->name, ggml_ext_last_error());
        struct every_memory now = every_save(s->t);
        if (memcmp(now.bytes, s->right.bytes, now.size) != 0) fail_msg("%s: another result", s->name);
        free(now.bytes);
        if (!struck) return n - 1;
    }
}

static void check_node(struct cpu_test * t, struct ggml_tensor * node, void * n_failed) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = ggml_graph_overhead() });
    struct way fresh = { ggml_new_graph(ctx), NULL }, same = { fresh.graph, t->backend };
    ggml_build_forward_expand(fresh.graph, node);
    struct scene s = { .t = t, .before = every_save(t), .name = ggml_op_desc(node) };
    assert_int_equal(cpu_compute(node, 2), GGML_STATUS_SUCCESS);
    s.right = every_save(t);
    *(int *) n_failed += check_way(&s, &fresh, by_backend);
    *(int *) n_failed += check_way(&s, &fresh, by_plan);
    *(int *) n_failed += check_way(&s, &same, by_backend);
    *(int *) n_failed += check_way(&s, &same, by_prepared_plan);
    free(s.before.bytes);
    free(s.right.bytes);
    ggml_free(ctx);
}

static void memory_that_cannot_be_had_is_a_status(void ** state) {
    (void) state;
    int n_failed = 0;
    every_node(check_node, &n_failed);
    printf("%d allocations failed\n", n_failed);
    assert_true(n_failed > 4 * EVERY_COUNT(every_ops));
}

// `what` loses its data.
static void check_missing(struct cpu_test * t, struct ggml_tensor * node, struct ggml_tensor * what) {
    void * data = what->data;
    ggml_set_name(what, "the missing one");
    struct every_memory before = every_save(t);
    what->data = NULL;
    if (cpu_compute(node, 2) != GGML_STATUS_FAILED) fail_msg("%s: data is not missed", ggml_op_desc(node));
    assert_contains(ggml_ext_last_error(), "'the missing one' has no data");
    what->data = data;
    struct every_memory after = every_save(t);
    assert_memory_equal(before.bytes, after.bytes, before.size);
    free(before.bytes);
    free(after.bytes);
    ggml_set_name(what, "");
}

static void check_all_missing(struct cpu_test * t, struct ggml_tensor * node, void * n_checked) {
    check_missing(t, node, node);
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (!node->src[i] || ggml_is_empty(node->src[i])) continue;
        check_missing(t, node, node->src[i]);
        ++*(int *) n_checked;
    }
}

static void data_that_is_missing_is_a_status(void ** state) {
    (void) state;
    int n_checked = 0;
    every_node(check_all_missing, &n_checked);
    assert_true(n_checked > EVERY_COUNT(every_ops));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_cannot_be_had_is_a_status),
        cmocka_unit_test(data_that_is_missing_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
