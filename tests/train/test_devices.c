// SPDX-License-Identifier: MIT
// Training on a device that is not the CPU, whose memory the program cannot touch and which executes when it
// is waited for, and on both together: the same losses and the same parameters, bit for bit, as on the CPU
// alone, and nothing out of order.
#include "train/linear.h"

#include "fake/fake.h"

enum { BATCH = 4, N = 24, LOGICAL = 2 * BATCH };

// Where things are and what the device cannot.
struct place {
    bool device; // else the CPU alone
    bool params_on_device;
    bool dynamic;
    bool parallel;        // several copies of inputs
    enum ggml_op refused; // NONE: it can do all
};

struct training {
    struct fake_world * world;
    struct fake_device * gpu;
    ggml_backend_t backends[2]; // device, CPU; or the CPU alone
    int n_backends;
    ggml_backend_sched_t sched;
    struct ggml_context *ctx, *inputs_ctx, *compute;
    ggml_backend_buffer_t params_buffer, inputs_buffer;
    struct ggml_tensor *w, *b, *inputs, *outputs;
    ggml_opt_context_t opt;
    ggml_opt_result_t result;
};

static void refuse(uint64_t ops[2], enum ggml_op op) {
    if (op != GGML_OP_NONE) ops[op / 64] &= ~(1ull << op % 64);
}

static void open_backends(struct training * t, const struct place * place) {
    if (place->device) {
        struct fake_options options = fake_options_default();
        refuse(options.ops, place->refused);
        t->world = fake_world_new(1);
        t->gpu = fake_device_new(t->world, options);
        t->backends[t->n_backends++] = fake_device_start(t->gpu);
    }
    t->backends[t->n_backends++] = ggml_backend_cpu_init();
    t->sched = ggml_backend_sched_new(t->backends, NULL, t->n_backends, 512, place->parallel, true);
    assert_non_null(t->sched);
}

static void set(struct ggml_tensor * t, struct test_rng * rng) {
    float values[LINEAR_IN * LINEAR_OUT];
    for (int64_t i = 0; i < ggml_nelements(t); i++)
        values[i] = test_rng_float(rng, -1.0f, 1.0f);
    ggml_backend_tensor_set(t, values, 0, ggml_nbytes(t));
}

static struct ggml_context * context(void) {
    const size_t size = 128 * ggml_tensor_overhead() + 2 * ggml_graph_overhead_custom(64, true);
    return ggml_init((struct ggml_init_params){ size, NULL, true });
}

static void open_model(struct training * t, const struct place * place, struct test_rng * rng) {
    t->ctx = context();
    t->inputs_ctx = context();
    t->compute = context();
    t->w = ggml_new_tensor_2d(t->ctx, GGML_TYPE_F32, LINEAR_IN, LINEAR_OUT);
    t->b = ggml_new_tensor_1d(t->ctx, GGML_TYPE_F32, LINEAR_OUT);
    ggml_set_param(ggml_set_name(t->w, "w"));
    ggml_set_param(ggml_set_name(t->b, "b"));
    t->inputs = ggml_new_tensor_2d(t->inputs_ctx, GGML_TYPE_F32, LINEAR_IN, BATCH);
    t->outputs = ggml_add(t->compute, ggml_mul_mat(t->compute, t->w, t->inputs), t->b);
    ggml_backend_t cpu = t->backends[t->n_backends - 1];
    t->params_buffer = ggml_backend_alloc_ctx_tensors(t->ctx, place->params_on_device ? t->backends[0] : cpu);
    t->inputs_buffer = ggml_backend_alloc_ctx_tensors(t->inputs_ctx, cpu);
    set(t->w, rng);
    set(t->b, rng);
}

static void open_training(struct training * t, const struct place * place, enum ggml_opt_optimizer_type o) {
    struct test_rng rng = { 1 };
    open_backends(t, place);
    open_model(t, place, &rng);
    struct ggml_opt_params p = ggml_opt_default_params(t->sched, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY);
    if (!place->dynamic) {
        p.ctx_compute = t->compute;
        p.inputs = t->inputs;
        p.outputs = t->outputs;
    }
    p.opt_period = LOGICAL / BATCH;
    p.optimizer = o;
    t->opt = learner_opt(&p);
    t->result = ggml_opt_result_init();
}

static void close_training(struct training * t) {
    ggml_opt_result_free(t->result);
    ggml_opt_free(t->opt);
    ggml_backend_sched_free(t->sched);
    ggml_backend_buffer_free(t->inputs_buffer);
    ggml_backend_buffer_free(t->params_buffer);
    ggml_free(t->compute);
    ggml_free(t->inputs_ctx);
    ggml_free(t->ctx);
    for (int i = t->n_backends - 1; i >= 0; i--)
        ggml_backend_free(t->backends[i]);
    if (t->world) assert_int_equal(fake_world_free(t->world), 0);
}

static void check_failures(const struct training * t) {
    assert_string_equal(ggml_ext_last_error(), "");
    if (t->world && fake_world_faults(t->world) > 0) fail_msg("%s", fake_world_fault(t->world));
}

static void one_batch(struct training * t, const struct place * place, const struct linear_data * d,
                      int64_t first) {
    struct ggml_context * ctx = NULL;
    if (place->dynamic) {
        ctx = context();
        struct ggml_cgraph * g = ggml_new_graph_custom(ctx, 64, true);
        struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, LINEAR_IN, BATCH);
        struct ggml_tensor * y = ggml_add(ctx, ggml_mul_mat(ctx, t->w, x), t->b);
        ggml_build_forward_expand(g, y);
        ggml_opt_prepare_alloc(t->opt, ctx, g, x, y);
    }
    ggml_opt_alloc(t->opt, true);
    ggml_backend_tensor_set(ggml_opt_inputs(t->opt), d->x[first], 0, BATCH * sizeof(d->x[0]));
    ggml_backend_tensor_set(ggml_opt_labels(t->opt), d->labels[first], 0, BATCH * sizeof(d->labels[0]));
    ggml_opt_eval(t->opt, t->result);
    check_failures(t);
    ggml_free(ctx);
}

// What a training ends with.
struct outcome {
    float w[LINEAR_OUT * LINEAR_IN], b[LINEAR_OUT];
    double loss, accuracy;
    int32_t pred[3 * N];
    int n_nodes; // computed by the device
};

static struct outcome train(const struct place * place, enum ggml_opt_optimizer_type optimizer) {
    struct training t = { 0 };
    struct outcome out = { 0 };
    struct test_rng rng = { 2 };
    const struct linear_data d = linear_data_new(&rng, N);
    tn_error_clear();
    open_training(&t, place, optimizer);
    for (int64_t i = 0; i < 3 * N; i += BATCH)
        one_batch(&t, place, &d, i % N);
    ggml_backend_tensor_get(t.w, out.w, 0, sizeof(out.w));
    ggml_backend_tensor_get(t.b, out.b, 0, sizeof(out.b));
    ggml_opt_result_loss(t.result, &out.loss, NULL);
    ggml_opt_result_accuracy(t.result, &out.accuracy, NULL);
    ggml_opt_result_pred(t.result, out.pred);
    if (t.gpu) out.n_nodes = t.gpu->counts.nodes;
    check_failures(&t);
    close_training(&t);
    return out;
}

static const struct place places[] = {
    { true, true, false, false, GGML_OP_NONE },
    { true, true, true, false, GGML_OP_NONE },
    { true, true, false, true, GGML_OP_NONE },
    { true, true, true, true, GGML_OP_NONE },
    { true, false, false, false, GGML_OP_NONE },
    { true, false, true, false, GGML_OP_NONE },
    { true, false, true, true, GGML_OP_NONE },
    { true, true, true, false, GGML_OP_COUNT_EQUAL },
    { true, true, false, false, GGML_OP_COUNT_EQUAL },
    { true, true, false, false, GGML_OP_CROSS_ENTROPY_LOSS },
    { true, true, false, false, GGML_OP_CROSS_ENTROPY_LOSS_BACK },
    { true, true, true, false, GGML_OP_REPEAT_BACK },
    { true, true, false, false, GGML_OP_OUT_PROD },
};

static void same_everywhere(enum ggml_opt_optimizer_type optimizer) {
    const struct outcome want = train(&(struct place){ 0 }, optimizer);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct outcome got = train(&places[i], optimizer);
        if (places[i].params_on_device) assert_true(got.n_nodes > 0);
        got.n_nodes = 0;
        if (memcmp(&got, &want, sizeof(got)) != 0) fail_msg("place %zu: other results", i);
    }
}

static void adamw(void ** state) {
    (void) state;
    same_everywhere(GGML_OPT_OPTIMIZER_TYPE_ADAMW);
}

static void sgd(void ** state) {
    (void) state;
    same_everywhere(GGML_OPT_OPTIMIZER_TYPE_SGD);
}

// ---- what a device cannot do, and what it fails to ------------------------------------------------------

static void no_step_where_parameters_lie(void ** state) {
    (void) state;
    const struct place place = { true, true, false, false, GGML_OP_OPT_STEP_SGD };
    struct training t = { 0 };
    open_training(&t, &place, GGML_OPT_OPTIMIZER_TYPE_SGD);
    for (int i = 0; i < LOGICAL / BATCH - 1; i++) { // gradients are no matter
        tn_error_clear();
        ggml_opt_alloc(t.opt, true);
        ggml_opt_eval(t.opt, NULL);
        check_failures(&t);
    }
    REFUSED(ggml_opt_alloc(t.opt, true), "'step of w'");
    close_training(&t);
}

static void a_launch_fails(void ** state) {
    (void) state;
    const struct place place = { true, true, false, false, GGML_OP_NONE };
    struct test_rng rng = { 2 };
    const struct linear_data d = linear_data_new(&rng, N);
    struct training t = { 0 };
    int64_t n;
    open_training(&t, &place, GGML_OPT_OPTIMIZER_TYPE_SGD);
    tn_error_clear();
    one_batch(&t, &place, &d, 0);
    ggml_opt_alloc(t.opt, true);
    t.gpu->orders.launch = 1;
    REFUSED(ggml_opt_eval(t.opt, t.result), "ggml_opt_eval: ");
    ggml_opt_result_ndata(t.result, &n);
    assert_int_equal(n, BATCH);
    tn_error_clear();
    for (int64_t i = 0; i < N; i += BATCH) // on it goes, from the start of a period
        one_batch(&t, &place, &d, i);
    ggml_opt_result_ndata(t.result, &n);
    assert_int_equal(n, BATCH + N);
    close_training(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw),
        cmocka_unit_test(sgd),
        cmocka_unit_test(no_step_where_parameters_lie),
        cmocka_unit_test(a_launch_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
