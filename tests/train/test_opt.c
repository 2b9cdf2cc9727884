// SPDX-License-Identifier: MIT
// Training contexts: what they start with and hand out, the order of calls, what is refused, and what
// failures leave behind.
#include "train/linear.h"

enum { BATCH = 4 };

static void defaults(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    const struct ggml_opt_params p = ggml_opt_default_params(m.l.sched, GGML_OPT_LOSS_TYPE_SUM);
    assert_ptr_equal(p.backend_sched, m.l.sched);
    assert_true(!p.ctx_compute && !p.inputs && !p.outputs && !p.get_opt_pars_ud);
    assert_int_equal(p.loss_type, GGML_OPT_LOSS_TYPE_SUM);
    assert_int_equal(p.build_type, GGML_OPT_BUILD_TYPE_OPT);
    assert_int_equal(p.opt_period, 1);
    assert_true(p.get_opt_pars == ggml_opt_get_default_optimizer_params);
    assert_int_equal(p.optimizer, GGML_OPT_OPTIMIZER_TYPE_ADAMW);
    linear_free(&m);
}

static void what_a_static_context_has(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    ggml_opt_context_t opt = linear_opt(&m, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY, 2);
    assert_true(ggml_opt_static_graphs(opt));
    assert_ptr_equal(ggml_opt_inputs(opt), m.inputs);
    assert_ptr_equal(ggml_opt_outputs(opt), m.outputs);
    assert_true(ggml_are_same_shape(ggml_opt_labels(opt), m.outputs));
    assert_int_equal(ggml_opt_loss(opt)->type, GGML_TYPE_F32);
    assert_int_equal(ggml_opt_pred(opt)->type, GGML_TYPE_I32);
    assert_int_equal(ggml_opt_pred(opt)->ne[0], BATCH);
    assert_int_equal(ggml_opt_ncorrect(opt)->type, GGML_TYPE_I64);
    assert_true(ggml_are_same_shape(ggml_opt_grad_acc(opt, m.w), m.w));
    assert_true(learner_f32(ggml_opt_grad_acc(opt, ggml_opt_loss(opt)), 0) == 1.0f);
    assert_null(ggml_opt_grad_acc(opt, m.inputs));
    assert_null(ggml_opt_grad_acc(opt, NULL));
    assert_int_equal(ggml_opt_context_optimizer_type(opt), GGML_OPT_OPTIMIZER_TYPE_ADAMW);
    ggml_opt_free(opt);
    linear_free(&m);
}

static void no_context(void ** state) {
    (void) state;
    assert_false(ggml_opt_static_graphs(NULL));
    assert_null(ggml_opt_inputs(NULL));
    assert_null(ggml_opt_outputs(NULL));
    assert_null(ggml_opt_labels(NULL));
    assert_null(ggml_opt_loss(NULL));
    assert_null(ggml_opt_pred(NULL));
    assert_null(ggml_opt_ncorrect(NULL));
    assert_null(ggml_opt_grad_acc(NULL, NULL));
    assert_int_equal(ggml_opt_context_optimizer_type(NULL), GGML_OPT_OPTIMIZER_TYPE_COUNT);
    REFUSED(ggml_opt_reset(NULL, true), "ggml_opt_reset: the context is NULL");
    REFUSED(ggml_opt_alloc(NULL, true), "ggml_opt_alloc: the context is NULL");
    REFUSED(ggml_opt_eval(NULL, NULL), "ggml_opt_eval: the context is NULL");
    REFUSED(ggml_opt_prepare_alloc(NULL, NULL, NULL, NULL, NULL), "the training context is NULL");
    ggml_opt_free(NULL);
}

// ---- parameters of a context ----------------------------------------------------------------------------

static void bad_parameters(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    const struct ggml_opt_params good =
        learner_params(&m.l, m.inputs, m.outputs, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR);
    struct ggml_tensor * homeless = ggml_new_tensor_2d(m.l.ctx_compute, GGML_TYPE_F32, LINEAR_IN, BATCH);
    struct ggml_tensor * poisoned = ggml_mul_mat(m.l.ctx_compute, m.w, m.w->src[0]);
    struct ggml_tensor * halves = ggml_cast(m.l.ctx_compute, m.outputs, GGML_TYPE_F16);
    struct ggml_tensor * empty = ggml_view_1d(m.l.ctx_compute, m.outputs, 0, 0);
#define BAD(change, words)                                                                                   \
    do {                                                                                                     \
        struct ggml_opt_params p = good;                                                                     \
        change;                                                                                              \
        REFUSED(assert_null(ggml_opt_init(p)), words);                                                       \
    } while (0)
    BAD(p.backend_sched = NULL, "the scheduler is NULL");
    BAD(p.loss_type = (enum ggml_opt_loss_type) 4, "there is no loss 4");
    BAD(p.build_type = (enum ggml_opt_build_type) 15, "there is no build type 15");
    BAD(p.opt_period = 0, "a period of 0 batches");
    BAD(p.opt_period = -5, "a period of -5 batches");
    BAD(p.optimizer = GGML_OPT_OPTIMIZER_TYPE_COUNT, "there is no optimizer 2");
    BAD(p.get_opt_pars = NULL, "get_opt_pars is NULL");
    BAD(p.ctx_compute = NULL, "the context of the static graph is NULL");
    BAD(p.inputs = NULL, "the inputs are NULL");
    BAD(p.outputs = NULL, "the outputs are NULL");
    BAD(p.inputs = homeless, "have no memory");
    BAD(p.outputs = poisoned, "ggml_mul_mat");
    BAD(p.outputs = halves, "must be f32");
    BAD(p.outputs = empty, "are empty");
    linear_free(&m);
}

static void bad_models(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct ggml_context * ctx = m.l.ctx_compute;
    struct ggml_opt_params p = learner_params(&m.l, m.inputs, m.inputs, GGML_OPT_LOSS_TYPE_SUM);
    REFUSED(assert_null(ggml_opt_init(p)), "the graph has no parameter");
    struct ggml_tensor * lost = ggml_sum(ctx, m.outputs);
    ggml_set_loss(lost);
    p.outputs = ggml_mul(ctx, m.outputs, lost);
    REFUSED(assert_null(ggml_opt_init(p)), "is marked as a loss");
    struct ggml_tensor * w = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, LINEAR_IN, 1);
    ggml_set_param(ggml_set_name(w, "nowhere"));
    p.outputs = ggml_mul_mat(ctx, w, m.inputs);
    REFUSED(assert_null(ggml_opt_init(p)), "the parameter 'nowhere' has no memory");
    p.outputs = ggml_argsort(ctx, m.outputs, GGML_SORT_ORDER_ASC);
    REFUSED(assert_null(ggml_opt_init(p)), "must be f32");
    p.outputs = ggml_cumsum(ctx, m.outputs);
    REFUSED(assert_null(ggml_opt_init(p)), "no gradient");
    p.loss_type = GGML_OPT_LOSS_TYPE_CROSS_ENTROPY; // predictions want a matrix
    p.outputs = ggml_reshape_3d(ctx, m.outputs, 2, 2, BATCH);
    REFUSED(assert_null(ggml_opt_init(p)), "argmax");
    linear_free(&m);
}

// ---- the order of calls ---------------------------------------------------------------------------------

static void order_of_calls(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, BATCH);
    ggml_opt_context_t opt = linear_opt(&m, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR, 1);
    struct ggml_cgraph * g = ggml_new_graph(m.l.ctx_compute);
    REFUSED(ggml_opt_eval(opt, NULL), "ggml_opt_alloc() comes first");
    REFUSED(ggml_opt_prepare_alloc(opt, m.l.ctx_compute, g, m.inputs, m.outputs), "has a static graph");
    ggml_opt_alloc(opt, true);
    REFUSED(ggml_opt_alloc(opt, true), "the batch before was not evaluated");
    linear_set(&m, opt, &d, 0);
    tn_error_clear();
    ggml_opt_eval(opt, NULL);
    assert_string_equal(ggml_ext_last_error(), "");
    REFUSED(ggml_opt_eval(opt, NULL), "ggml_opt_alloc() comes first");
    ggml_opt_free(opt);
    linear_free(&m);
}

static void order_of_dynamic_calls(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct ggml_context * ctx = m.l.ctx_compute;
    struct ggml_opt_params p = ggml_opt_default_params(m.l.sched, GGML_OPT_LOSS_TYPE_SUM);
    ggml_opt_context_t opt = learner_opt(&p);
    struct ggml_cgraph * g = ggml_new_graph_custom(ctx, 64, true);
    assert_false(ggml_opt_static_graphs(opt));
    assert_null(ggml_opt_outputs(opt));
    REFUSED(ggml_opt_alloc(opt, true), "ggml_opt_prepare_alloc() comes first");
    REFUSED(ggml_opt_prepare_alloc(opt, NULL, g, m.inputs, m.outputs), "the context of the graph is NULL");
    REFUSED(ggml_opt_prepare_alloc(opt, ctx, NULL, m.inputs, m.outputs), "the graph is NULL");
    REFUSED(ggml_opt_prepare_alloc(opt, ctx, g, NULL, m.outputs), "the inputs are NULL");
    REFUSED(ggml_opt_prepare_alloc(opt, ctx, g, m.inputs, NULL), "the outputs are NULL");
    ggml_opt_prepare_alloc(opt, ctx, g, m.inputs, m.outputs);
    ggml_opt_alloc(opt, true);
    REFUSED(ggml_opt_alloc(opt, true), "the batch before was not evaluated");
    ggml_opt_eval(opt, NULL);
    REFUSED(ggml_opt_alloc(opt, true), "ggml_opt_prepare_alloc() comes first"); // each batch has its graph
    ggml_opt_free(opt);
    linear_free(&m);
}

static void only_forward(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct ggml_opt_params p = learner_params(&m.l, m.inputs, m.outputs, GGML_OPT_LOSS_TYPE_SUM);
    p.build_type = GGML_OPT_BUILD_TYPE_FORWARD;
    p.get_opt_pars = NULL;
    ggml_opt_context_t opt = learner_opt(&p);
    assert_null(ggml_opt_grad_acc(opt, m.w));
    REFUSED(ggml_opt_alloc(opt, true), "made for forward evaluation only");
    ggml_opt_alloc(opt, false);
    ggml_opt_eval(opt, NULL);
    assert_true(isfinite(learner_f32(ggml_opt_loss(opt), 0)));
    ggml_opt_free(opt);
    linear_free(&m);
}

// ---- periods --------------------------------------------------------------------------------------------

// Forward evaluations count for the period; gradients start from 0 in each.
static void periods_with_evaluations(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, 3 * BATCH);
    struct linear_oracle o = { 0 };
    ggml_opt_context_t opt = linear_opt(&m, GGML_OPT_LOSS_TYPE_SUM, 3);
    linear_batch(&m, opt, &d, 0, NULL);
    linear_batch(&m, opt, &d, BATCH, NULL);
    linear_batch(&m, opt, &d, 2 * BATCH, NULL); // a step
    ggml_opt_alloc(opt, false);
    linear_set(&m, opt, &d, 0);
    ggml_opt_eval(opt, NULL);
    oracle_load(&o, &m);
    linear_batch(&m, opt, &d, BATCH, NULL);
    oracle_batch(&o, GGML_OPT_LOSS_TYPE_SUM, &d, BATCH, BATCH);
    linear_compare(ggml_opt_grad_acc(opt, m.w), ggml_opt_grad_acc(opt, m.b), o.dw, o.db, 1.0);
    linear_compare(m.w, m.b, o.w, o.b, 1.0); // no step yet
    linear_batch(&m, opt, &d, 2 * BATCH, NULL);
    assert_true(fabs((double) learner_f32(m.b, 0) - o.b[0]) > 5e-4); // now there was one
    ggml_opt_reset(opt, false);
    for (int i = 0; i < LINEAR_OUT; i++)
        assert_true(learner_f32(ggml_opt_grad_acc(opt, m.b), i) == 0.0f);
    ggml_opt_free(opt);
    linear_free(&m);
}

// After a reset with the optimiser a training goes as the first time.
static void resets(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, BATCH);
    ggml_opt_context_t opt = linear_opt(&m, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY, 2);
    float start[LINEAR_OUT * LINEAR_IN], end[2][LINEAR_OUT * LINEAR_IN];
    ggml_backend_tensor_get(m.w, start, 0, sizeof(start));
    for (int run = 0; run < 3; run++) {
        ggml_backend_tensor_set(m.w, start, 0, sizeof(start));
        ggml_backend_tensor_memset(m.b, 0, 0, ggml_nbytes(m.b));
        for (int i = 0; i < 10; i++)
            linear_batch(&m, opt, &d, 0, NULL);
        ggml_backend_tensor_get(m.w, end[run == 1], 0, sizeof(end[0]));
        if (run == 1) assert_memory_not_equal(end[0], end[1], sizeof(end[0])); // moments went on
        if (run == 2) assert_memory_not_equal(end[0], start, sizeof(start));
        ggml_opt_reset(opt, run == 1);
    }
    ggml_backend_tensor_set(m.w, start, 0, sizeof(start));
    ggml_backend_tensor_memset(m.b, 0, 0, ggml_nbytes(m.b));
    ggml_opt_reset(opt, true);
    for (int i = 0; i < 10; i++)
        linear_batch(&m, opt, &d, 0, NULL);
    ggml_backend_tensor_get(m.w, end[1], 0, sizeof(end[1]));
    assert_memory_equal(end[0], end[1], sizeof(end[0]));
    ggml_opt_free(opt);
    linear_free(&m);
}

// ---- optimiser parameters -------------------------------------------------------------------------------

struct rates {
    int n_calls;
    struct ggml_opt_optimizer_params params;
};

static struct ggml_opt_optimizer_params counted(void * userdata) {
    struct rates * r = userdata;
    r->n_calls++;
    return r->params;
}

static void asked_once_a_step(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, BATCH);
    struct rates r = { 0, ggml_opt_get_default_optimizer_params(NULL) };
    struct ggml_opt_params p = learner_params(&m.l, m.inputs, m.outputs, GGML_OPT_LOSS_TYPE_SUM);
    p.opt_period = 3;
    p.get_opt_pars = counted;
    p.get_opt_pars_ud = &r;
    ggml_opt_context_t opt = learner_opt(&p);
    for (int i = 1; i <= 9; i++) {
        linear_batch(&m, opt, &d, 0, NULL);
        assert_int_equal(r.n_calls, i / 3);
    }
    ggml_opt_free(opt);
    linear_free(&m);
}

static void bad_rates(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, BATCH);
    struct rates r = { 0, ggml_opt_get_default_optimizer_params(NULL) };
    struct ggml_opt_params p = learner_params(&m.l, m.inputs, m.outputs, GGML_OPT_LOSS_TYPE_SUM);
    struct linear_oracle o = { 0 };
    ggml_opt_result_t result = ggml_opt_result_init();
    int64_t n;
    p.get_opt_pars = counted;
    p.get_opt_pars_ud = &r;
    ggml_opt_context_t opt = learner_opt(&p);
    oracle_load(&o, &m);
    r.params.adamw.beta1 = 1.0f;
    ggml_opt_alloc(opt, true);
    linear_set(&m, opt, &d, 0);
    REFUSED(ggml_opt_eval(opt, result), "adamw.beta1 is 1");
    linear_compare(m.w, m.b, o.w, o.b, 1.0);
    ggml_opt_result_ndata(result, &n);
    assert_int_equal(n, 0);
    r.params.adamw.beta1 = 0.9f; // and on it goes
    linear_batch(&m, opt, &d, 0, result);
    ggml_opt_result_ndata(result, &n);
    assert_int_equal(n, BATCH);
    assert_true(fabs((double) learner_f32(m.b, 0) - o.b[0]) > 5e-4);
    ggml_opt_free(opt);
    ggml_opt_result_free(result);
    linear_free(&m);
}

// ---- failures on the way --------------------------------------------------------------------------------

static bool stop_now(void * data) {
    return *(const bool *) data;
}

// A period that is broken off starts again.
static void aborted(void ** state) {
    (void) state;
    bool stop = false;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, 3 * BATCH);
    struct linear_oracle o = { 0 };
    ggml_opt_result_t result = ggml_opt_result_init();
    int64_t n;
    ggml_backend_cpu_set_abort_callback(m.l.backend, stop_now, &stop);
    ggml_opt_context_t opt = linear_opt(&m, GGML_OPT_LOSS_TYPE_SUM, 2);
    linear_batch(&m, opt, &d, 0, result);
    ggml_opt_alloc(opt, true);
    linear_set(&m, opt, &d, 0);
    stop = true;
    REFUSED(ggml_opt_eval(opt, result), "ggml_opt_eval: ");
    stop = false;
    ggml_opt_result_ndata(result, &n);
    assert_int_equal(n, BATCH);
    oracle_load(&o, &m);
    for (int i = 1; i < 3; i++) {
        linear_batch(&m, opt, &d, i * BATCH, NULL);
        oracle_batch(&o, GGML_OPT_LOSS_TYPE_SUM, &d, i * BATCH, BATCH);
        linear_compare(ggml_opt_grad_acc(opt, m.w), ggml_opt_grad_acc(opt, m.b), o.dw, o.db, 1.0);
    }
    ggml_opt_free(opt);
    ggml_opt_result_free(result);
    linear_free(&m);
}

// The scheduler computes another graph in between.
static void borrowed_scheduler(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, BATCH);
    struct ggml_opt_params p = learner_params(&m.l, m.inputs, m.outputs, GGML_OPT_LOSS_TYPE_SUM);
    struct linear_oracle o = { 0 };
    p.build_type = GGML_OPT_BUILD_TYPE_GRAD;
    ggml_opt_context_t opt = learner_opt(&p);
    struct ggml_cgraph * g = ggml_new_graph(m.l.ctx_compute);
    ggml_build_forward_expand(g, m.outputs);
    oracle_load(&o, &m);
    oracle_batch(&o, GGML_OPT_LOSS_TYPE_SUM, &d, 0, BATCH);
    linear_batch(&m, opt, &d, 0, NULL);
    ggml_opt_alloc(opt, true);
    ggml_backend_sched_reset(m.l.sched);
    assert_true(ggml_backend_sched_alloc_graph(m.l.sched, g));
    assert_int_equal(ggml_backend_sched_graph_compute(m.l.sched, g), GGML_STATUS_SUCCESS);
    REFUSED(ggml_opt_eval(opt, NULL), "the scheduler was used otherwise");
    for (int i = 0; i < 2; i++) {
        linear_batch(&m, opt, &d, 0, NULL);
        linear_compare(ggml_opt_grad_acc(opt, m.w), ggml_opt_grad_acc(opt, m.b), o.dw, o.db, 1.0);
    }
    ggml_opt_free(opt);
    linear_free(&m);
}

// A parameter of which the loss knows nothing stays, also where others decay.
static void unused_parameter(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, BATCH);
    struct rates r = { 0, ggml_opt_get_default_optimizer_params(NULL) };
    r.params.adamw.wd = 0.5f;
    for (int period = 1; period <= 2; period++) {
        struct ggml_context * ctx = m.l.ctx_compute;
        struct ggml_tensor * order = ggml_argsort(ctx, m.b, GGML_SORT_ORDER_ASC);
        struct ggml_tensor * rows = ggml_get_rows(ctx, ggml_mul_mat(ctx, m.w, m.inputs), order);
        struct ggml_opt_params p = learner_params(&m.l, m.inputs, rows, GGML_OPT_LOSS_TYPE_SUM);
        p.opt_period = period;
        p.get_opt_pars = counted;
        p.get_opt_pars_ud = &r;
        ggml_opt_context_t opt = learner_opt(&p);
        const float old[2] = { learner_f32(m.w, 0), learner_f32(m.b, 0) };
        for (int i = 0; i < period; i++)
            linear_batch(&m, opt, &d, 0, NULL);
        assert_true(learner_f32(m.w, 0) != old[0]);
        assert_true(learner_f32(m.b, 0) == old[1]);
        ggml_opt_free(opt);
    }
    linear_free(&m);
}

// ---- dynamic graphs -------------------------------------------------------------------------------------

struct dynamic {
    struct ggml_context * ctx;
    struct ggml_tensor *x, *y;
};

static struct dynamic dynamic_graph(struct linear * m, ggml_opt_context_t opt, int64_t batch, bool biased) {
    const size_t size = 128 * ggml_tensor_overhead() + 2 * ggml_graph_overhead_custom(64, true);
    struct dynamic g = { .ctx = ggml_init((struct ggml_init_params){ size, NULL, true }) };
    struct ggml_cgraph * graph = ggml_new_graph_custom(g.ctx, 64, true);
    g.x = ggml_new_tensor_2d(g.ctx, GGML_TYPE_F32, LINEAR_IN, batch);
    g.y = ggml_mul_mat(g.ctx, m->w, g.x);
    if (biased) g.y = ggml_add(g.ctx, g.y, m->b);
    ggml_build_forward_expand(graph, g.y);
    ggml_opt_prepare_alloc(opt, g.ctx, graph, g.x, g.y);
    return g;
}

// Batches of different sizes; forward evaluations without gradients; another parameter is noticed.
static void dynamic_graphs(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct linear_data d = linear_data_new(&m.l.rng, 16);
    struct ggml_opt_params p = ggml_opt_default_params(m.l.sched, GGML_OPT_LOSS_TYPE_SUM);
    p.opt_period = 3;
    ggml_opt_context_t opt = learner_opt(&p);
    struct linear_oracle o = { 0 };
    oracle_load(&o, &m);
    for (int64_t n = 3; n <= 5; n++) {
        struct dynamic g = dynamic_graph(&m, opt, n, true);
        ggml_opt_alloc(opt, n != 4);
        ggml_backend_tensor_set(g.x, d.x, 0, (size_t) n * sizeof(d.x[0]));
        tn_error_clear();
        ggml_opt_eval(opt, NULL);
        assert_string_equal(ggml_ext_last_error(), "");
        assert_ptr_equal(ggml_opt_outputs(opt), g.y);
        if (n != 4) oracle_batch(&o, GGML_OPT_LOSS_TYPE_SUM, &d, 0, n);
        linear_compare(ggml_opt_grad_acc(opt, m.w), ggml_opt_grad_acc(opt, m.b), o.dw, o.db, 1.0);
        ggml_free(g.ctx);
    }
    struct dynamic bare = dynamic_graph(&m, opt, 2, false);
    REFUSED(ggml_opt_alloc(opt, true), "the graph has 1 parameters, the one before had 2");
    ggml_free(bare.ctx);
    struct ggml_tensor * w = m.w;
    m.w = ggml_dup_tensor(m.l.ctx_compute, w);
    ggml_set_param(ggml_set_name(m.w, "other"));
    m.w->data = malloc(ggml_nbytes(w));
    struct dynamic other = dynamic_graph(&m, opt, 2, true);
    REFUSED(ggml_opt_alloc(opt, true), "parameter 0 is 'other'");
    ggml_free(other.ctx);
    free(m.w->data);
    ggml_opt_free(opt);
    linear_free(&m);
}

// A context without room for what is added.
static void dynamic_without_room(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, 1);
    struct ggml_opt_params p = ggml_opt_default_params(m.l.sched, GGML_OPT_LOSS_TYPE_SUM);
    ggml_opt_context_t opt = learner_opt(&p);
    const size_t size = 2 * ggml_tensor_overhead() + 2 * ggml_graph_overhead_custom(64, true);
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ size, NULL, true });
    struct ggml_cgraph * g = ggml_new_graph_custom(ctx, 64, true);
    ggml_build_forward_expand(g, m.outputs);
    ggml_opt_prepare_alloc(opt, ctx, g, m.inputs, m.outputs);
    REFUSED(ggml_opt_alloc(opt, true), "the context is full");
    REFUSED(ggml_opt_eval(opt, NULL), "ggml_opt_alloc() comes first");
    ggml_opt_free(opt);
    ggml_free(ctx);
    linear_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(what_a_static_context_has),
        cmocka_unit_test(no_context),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(bad_models),
        cmocka_unit_test(order_of_calls),
        cmocka_unit_test(order_of_dynamic_calls),
        cmocka_unit_test(only_forward),
        cmocka_unit_test(periods_with_evaluations),
        cmocka_unit_test(resets),
        cmocka_unit_test(asked_once_a_step),
        cmocka_unit_test(bad_rates),
        cmocka_unit_test(aborted),
        cmocka_unit_test(borrowed_scheduler),
        cmocka_unit_test(unused_parameter),
        cmocka_unit_test(dynamic_graphs),
        cmocka_unit_test(dynamic_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
