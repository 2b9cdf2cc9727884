// SPDX-License-Identifier: MIT
// Training when memory runs out: data sets, results, contexts and batches of static and of dynamic graphs, a
// whole fit.
#include "oom/sweep.h"

#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "ggml-opt.h"

enum { BATCH = 2, N = 8, GRAPH = 64 };

struct model {
    ggml_backend_t backend;
    ggml_backend_sched_t sched;
    struct ggml_context * ctx;
    struct ggml_context * compute;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *w, *inputs, *outputs;
    ggml_opt_dataset_t ds;
    ggml_opt_result_t result;
};

static bool open_memory(struct model * m) {
    const size_t room = 64 * ggml_tensor_overhead() + 4 * ggml_graph_overhead_custom(GRAPH, true);
    m->backend = ggml_backend_cpu_init();
    if (!m->backend) return false;
    ggml_backend_cpu_set_n_threads(m->backend, 1);
    m->sched = ggml_backend_sched_new(&m->backend, NULL, 1, GRAPH, false, true);
    m->ctx = ggml_init((struct ggml_init_params){ 4 * ggml_tensor_overhead(), NULL, true });
    m->compute = ggml_init((struct ggml_init_params){ room, NULL, true });
    return m->sched && m->ctx && m->compute;
}

static bool open_model(struct model * m) {
    *m = (struct model){ 0 };
    if (!open_memory(m)) return false;
    m->w = ggml_new_tensor_2d(m->ctx, GGML_TYPE_F32, 3, 2);
    m->inputs = ggml_new_tensor_2d(m->ctx, GGML_TYPE_F32, 3, BATCH);
    m->outputs = ggml_mul_mat(m->compute, m->w, m->inputs);
    ggml_set_param(m->w);
    m->buffer = ggml_backend_alloc_ctx_tensors(m->ctx, m->backend);
    if (!m->buffer) return false;
    ggml_backend_buffer_clear(m->buffer, 0);
    m->ds = ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, 3, 2, N, 1);
    m->result = ggml_opt_result_init();
    if (!m->ds || !m->result) return false;
    ggml_set_zero(ggml_opt_dataset_data(m->ds));
    ggml_set_zero(ggml_opt_dataset_labels(m->ds));
    return true;
}

static void close_model(struct model * m) {
    ggml_opt_result_free(m->result);
    ggml_opt_dataset_free(m->ds);
    ggml_backend_buffer_free(m->buffer);
    ggml_free(m->compute);
    ggml_free(m->ctx);
    ggml_backend_sched_free(m->sched);
    ggml_backend_free(m->backend);
}

static int64_t n_seen(struct model * m) {
    int64_t n = -1;
    ggml_opt_result_ndata(m->result, &n);
    return n;
}

static bool run_static(struct model * m) {
    struct ggml_opt_params p = ggml_opt_default_params(m->sched, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY);
    p.ctx_compute = m->compute;
    p.inputs = m->inputs;
    p.outputs = m->outputs;
    p.opt_period = 2;
    ggml_opt_context_t opt = ggml_opt_init(p);
    if (!opt) return false;
    ggml_opt_epoch(opt, m->ds, m->result, m->result, N / 2, NULL, NULL);
    ggml_opt_free(opt);
    return n_seen(m) == N;
}

static bool static_graph(void) {
    struct model m;
    const bool done = open_model(&m) && run_static(&m);
    close_model(&m);
    return done;
}

static void run_batch(struct model * m, ggml_opt_context_t opt) {
    struct ggml_cgraph * g = ggml_new_graph_custom(m->compute, GRAPH, true);
    struct ggml_tensor * x = ggml_new_tensor_2d(m->compute, GGML_TYPE_F32, 3, BATCH);
    struct ggml_tensor * y = ggml_mul_mat(m->compute, m->w, x);
    ggml_build_forward_expand(g, y);
    ggml_opt_prepare_alloc(opt, m->compute, g, x, y);
    ggml_opt_alloc(opt, true);
    if (!x->data) return; // the text says why
    ggml_opt_dataset_get_batch(m->ds, x, ggml_opt_labels(opt), 0);
    ggml_opt_eval(opt, m->result);
}

static bool run_dynamic(struct model * m) {
    struct ggml_opt_params p = ggml_opt_default_params(m->sched, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR);
    ggml_opt_context_t opt = ggml_opt_init(p);
    if (!opt) return false;
    run_batch(m, opt);
    const bool first = n_seen(m) == BATCH;
    ggml_opt_free(opt);
    return first;
}

static bool dynamic_graph(void) {
    struct model m;
    const bool done = open_model(&m) && run_dynamic(&m);
    close_model(&m);
    return done;
}

static bool fitted;

static struct ggml_opt_optimizer_params last_epoch(void * userdata) {
    fitted |= *(const int64_t *) userdata == 2;
    return ggml_opt_get_default_optimizer_params(NULL);
}

static bool fit(void) {
    struct model m;
    fitted = false;
    if (open_model(&m))
        ggml_opt_fit(m.sched, m.compute, m.inputs, m.outputs, m.ds, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY,
                     GGML_OPT_OPTIMIZER_TYPE_SGD, last_epoch, 2, N, 0.0f, true);
    close_model(&m);
    return fitted;
}

static void static_graphs_without_memory(void ** state) {
    (void) state;
    assert_true(sweep(static_graph) >= 30);
}

static void dynamic_graphs_without_memory(void ** state) {
    (void) state;
    assert_true(sweep(dynamic_graph) >= 20);
}

static void fits_without_memory(void ** state) {
    (void) state;
    assert_true(sweep(fit) >= 30);
}

// What failed once works the next time, in the same context.
static void batch_after_a_failure(void ** state) {
    (void) state;
    struct model m;
    assert_true(open_model(&m));
    struct ggml_opt_params p = ggml_opt_default_params(m.sched, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR);
    ggml_opt_context_t opt = ggml_opt_init(p);
    for (int n = 1; n < 1000; n++) {
        ggml_reset(m.compute);
        ggml_opt_result_reset(m.result);
        tn_mem_fail_nth(n);
        run_batch(&m, opt);
        const bool struck = tn_mem_fail_nth(0);
        if (!struck) assert_int_equal(n_seen(&m), BATCH);
        ggml_reset(m.compute);
        ggml_opt_result_reset(m.result);
        run_batch(&m, opt);
        assert_int_equal(n_seen(&m), BATCH);
        if (!struck) break;
    }
    ggml_opt_free(opt);
    close_model(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_graphs_without_memory),
        cmocka_unit_test(dynamic_graphs_without_memory),
        cmocka_unit_test(fits_without_memory),
        cmocka_unit_test(batch_after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
