// SPDX-License-Identifier: MIT
// Plans and the walk over a graph: results, statuses with their reasons, the abort callback, allocation
// failures.
#include "harness.h"

#include "base/mem.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml.h"
#include "ggml/src/ggml-impl.h"

static struct ggml_context * new_context(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20 });
    assert_non_null(ctx);
    return ctx;
}

static struct ggml_tensor * vector(struct ggml_context * ctx, int n, float first) {
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, n);
    for (int i = 0; i < n; i++)
        ((float *) t->data)[i] = first + (float) i;
    return t;
}

static struct ggml_cgraph * graph_of(struct ggml_context * ctx, struct ggml_tensor * result) {
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, result);
    return g;
}

static void a_graph_is_computed(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    struct ggml_tensor * a = vector(ctx, 5, 1.0f);
    struct ggml_tensor * y = ggml_scale(ctx, ggml_add(ctx, a, ggml_mul(ctx, a, a)), 0.5f);
    struct ggml_cgraph * g = graph_of(ctx, y);
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        memset(y->data, 0xff, ggml_nbytes(y));
        assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, n_threads), GGML_STATUS_SUCCESS);
        for (int i = 0; i < 5; i++) {
            const float v = 1.0f + (float) i;
            assert_true(((float *) y->data)[i] == 0.5f * (v + v * v));
        }
    }
    ggml_free(ctx);
}

static void a_plan_says_what_it_needs(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    struct ggml_tensor * m = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 8);
    memset(m->data, 0, ggml_nbytes(m));
    struct ggml_cgraph * g = graph_of(ctx, ggml_mul_mat(ctx, m, m));
    struct ggml_cplan plan = ggml_graph_plan(g, 2, NULL);
    assert_int_equal(plan.n_threads, 2);
    assert_true(plan.work_size > 0);
    assert_null(plan.work_data);
    assert_null(plan.abort_callback);
    assert_false(plan.use_ref);
    assert_int_equal(ggml_graph_plan(g, 0, NULL).n_threads, GGML_DEFAULT_N_THREADS);

    assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "work_data");
    plan.work_data = malloc(plan.work_size + 1);
    plan.work_data++; // any address will do
    assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_SUCCESS);
    plan.work_size /= 2;
    assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "too few");
    plan.n_threads = 0;
    assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_FAILED);
    free(plan.work_data - 1);

    struct ggml_threadpool_params params = ggml_threadpool_params_default(3);
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    assert_int_equal(ggml_graph_plan(g, 0, pool).n_threads, 3);
    assert_int_equal(ggml_graph_plan(g, 8, pool).n_threads, 3);
    ggml_threadpool_free(pool);
    ggml_free(ctx);
}

static void what_cannot_be_computed_is_a_status(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    assert_int_equal(ggml_graph_plan(NULL, 1, NULL).n_threads, 0);
    assert_int_equal(ggml_graph_compute(NULL, NULL), GGML_STATUS_FAILED);
    assert_int_equal(ggml_graph_compute_with_ctx(NULL, NULL, 1), GGML_STATUS_FAILED);

    struct ggml_tensor * bad = ggml_add(ctx, vector(ctx, 5, 0), vector(ctx, 3, 0));
    struct ggml_cgraph * poisoned = graph_of(ctx, ggml_sqr(ctx, bad));
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, poisoned, 1), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "ggml_add");

    struct ggml_tensor * a = vector(ctx, 5, 0);
    struct ggml_cgraph * g = graph_of(ctx, ggml_sqr(ctx, a));
    void * data = a->data;
    a->data = NULL;
    ggml_set_name(a, "forgotten");
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, 1), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "forgotten");
    assert_contains(ggml_ext_last_error(), "SQR");
    a->data = data;
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, 1), GGML_STATUS_SUCCESS);

    g->nodes[0]->src[0] = NULL;
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, 1), GGML_STATUS_FAILED);
    ggml_free(ctx);
}

static const char * far_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "far away";
}

static void memory_that_cannot_be_read_is_a_status(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    struct ggml_tensor * a = vector(ctx, 5, 0);
    struct ggml_cgraph * g = graph_of(ctx, ggml_sqr(ctx, ggml_view_1d(ctx, a, 3, 4)));
    struct ggml_backend_buffer_type type = { .iface = { .get_name = far_name } };
    struct ggml_backend_buffer buffer = { .buft = &type };
    a->buffer = &buffer;
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, 1), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "far away");
    a->buffer = NULL;
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, 1), GGML_STATUS_SUCCESS);

    g = graph_of(ctx, ggml_sqr(ctx, ggml_view_1d(ctx, a, 3, 2)));
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, 1), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "address");
    struct ggml_tensor * y = ggml_sqr(ctx, ggml_view_2d(ctx, a, 2, 2, 9, 0));
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, graph_of(ctx, y), 1), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "stride of 9 bytes");
    ggml_free(ctx);
}

struct counter {
    int calls;
    int stop_at;
};

static bool count_and_stop(void * data) {
    struct counter * c = data;
    return ++c->calls == c->stop_at;
}

static void the_abort_callback_is_asked_after_each_node(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    struct ggml_tensor * y = vector(ctx, 3, 1.0f);
    for (int i = 0; i < 4; i++)
        y = ggml_sqr(ctx, ggml_reshape_1d(ctx, y, 3)); // views are not asked about
    struct ggml_cgraph * g = graph_of(ctx, y);
    struct ggml_cplan plan = ggml_graph_plan(g, 2, NULL);
    struct counter c = { 0, 99 };
    plan.abort_callback = count_and_stop;
    plan.abort_callback_data = &c;
    assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_SUCCESS);
    assert_int_equal(c.calls, 4);
    for (int stop = 1; stop <= 4; stop++) {
        c = (struct counter){ 0, stop };
        assert_int_equal(ggml_graph_compute(g, &plan), GGML_STATUS_ABORTED);
        assert_int_equal(c.calls, stop);
    }
    ggml_free(ctx);
}

static void skipped_nodes_are_left_alone(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    struct ggml_tensor * y = ggml_sqr(ctx, vector(ctx, 3, 1.0f));
    struct ggml_tensor * empty = ggml_sqr(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 0));
    struct ggml_cgraph * g = graph_of(ctx, y);
    ggml_build_forward_expand(g, empty);
    memset(y->data, 0x11, ggml_nbytes(y));
    float before[3];
    memcpy(before, y->data, sizeof(before));
    y->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, g, 1), GGML_STATUS_SUCCESS);
    assert_memory_equal(before, y->data, sizeof(before));
    ggml_free(ctx);
}

static void a_failed_allocation_is_a_status_and_the_next_compute_works(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    struct ggml_tensor * m = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 16, 16);
    memset(m->data, 0, ggml_nbytes(m));
    struct ggml_cgraph * g = graph_of(ctx, ggml_mul_mat(ctx, m, m));
    int failures = 0;
    for (int n = 1; n < 20; n++) {
        ggml_backend_t backend = ggml_backend_cpu_init();
        assert_non_null(backend);
        tn_mem_fail_nth(n);
        const enum ggml_status status = ggml_backend_graph_compute(backend, g);
        const bool struck = tn_mem_fail_nth(0);
        assert_int_equal(status, struck ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_SUCCESS);
        failures += struck;
        assert_int_equal(ggml_backend_graph_compute(backend, g), GGML_STATUS_SUCCESS);
        ggml_backend_free(backend);
    }
    assert_int_equal(failures, 3); // pool, its workers, scratch
    ggml_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_computed),
        cmocka_unit_test(a_plan_says_what_it_needs),
        cmocka_unit_test(what_cannot_be_computed_is_a_status),
        cmocka_unit_test(memory_that_cannot_be_read_is_a_status),
        cmocka_unit_test(the_abort_callback_is_asked_after_each_node),
        cmocka_unit_test(skipped_nodes_are_left_alone),
        cmocka_unit_test(a_failed_allocation_is_a_status_and_the_next_compute_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
