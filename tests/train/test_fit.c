// SPDX-License-Identifier: MIT
// Loops: a line is found, epochs count and split as they should, what does not fit is refused before anything
// is done, and the progress bar says what is true.
#include "train/linear.h"

#include <unistd.h>

enum { BATCH = 4, N = 48 };

// y = slope * x + offset, with a little noise.
struct line {
    struct learner l;
    struct ggml_tensor *slope, *offset, *inputs, *outputs;
    ggml_opt_dataset_t ds;
};

static struct line line_new(int64_t n, int64_t shard) {
    struct line m = { .l = learner_new(1, 7) };
    struct ggml_context * c = m.l.ctx_compute;
    m.slope = learner_param(&m.l, "slope", 1, 1, 1, 1);
    m.offset = learner_param(&m.l, "offset", 1, 1, 1, 1);
    m.inputs = ggml_new_tensor_2d(m.l.ctx, GGML_TYPE_F32, 1, BATCH);
    m.outputs = ggml_add(c, ggml_mul(c, m.inputs, m.slope), m.offset);
    learner_start(&m.l);
    m.ds = ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, 1, 1, n, shard);
    for (int64_t i = 0; i < n; i++) {
        const float x = (float) (2 * i) / (float) n - 1.0f;
        ggml_get_data_f32(ggml_opt_dataset_data(m.ds))[i] = x;
        ggml_get_data_f32(ggml_opt_dataset_labels(m.ds))[i] = 2.5f * x - 0.75f + (i % 2 ? 0.01f : -0.01f);
    }
    return m;
}

static void line_free(struct line * m) {
    ggml_opt_dataset_free(m->ds);
    learner_free(&m->l);
}

static ggml_opt_context_t line_opt(struct line * m, enum ggml_opt_loss_type loss, int32_t period) {
    struct ggml_opt_params p = learner_params(&m->l, m->inputs, m->outputs, loss);
    p.opt_period = period;
    return learner_opt(&p);
}

// ---- a line is found ------------------------------------------------------------------------------------

// What each step came with: the number of its epoch, and if asked for the inputs of its (last) batch.
struct plan {
    int64_t epochs[256];
    const struct ggml_tensor * inputs;
    float seen[256][BATCH];
    int n_steps;
};

static struct plan plan;

static struct ggml_opt_optimizer_params planned(void * userdata) {
    struct ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(NULL);
    const int64_t epoch = *(const int64_t *) userdata;
    if (plan.inputs)
        ggml_backend_tensor_get(plan.inputs, plan.seen[plan.n_steps % 256], 0, sizeof(plan.seen[0]));
    plan.epochs[plan.n_steps++ % 256] = epoch;
    p.adamw.alpha = epoch > 30 ? 0.01f : 0.1f;
    p.sgd.alpha = 0.2f;
    return p;
}

static void find_line(enum ggml_opt_optimizer_type optimizer, int64_t logical) {
    struct line m = line_new(N, 1);
    plan = (struct plan){ 0 };
    tn_error_clear();
    ggml_opt_fit(m.l.sched, m.l.ctx_compute, m.inputs, m.outputs, m.ds, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR,
                 optimizer, planned, 60, logical, 0.25f, true);
    assert_string_equal(ggml_ext_last_error(), "");
    const float slope = learner_f32(m.slope, 0), offset = learner_f32(m.offset, 0);
    if (!(fabsf(slope - 2.5f) < 0.02f && fabsf(offset + 0.75f) < 0.02f))
        fail_msg("found %g x + %g", (double) slope, (double) offset);
    assert_int_equal(plan.n_steps, 60 * (N * 3 / 4 / logical));
    line_free(&m);
}

static void lines_are_found(void ** state) {
    (void) state;
    find_line(GGML_OPT_OPTIMIZER_TYPE_ADAMW, BATCH);
    find_line(GGML_OPT_OPTIMIZER_TYPE_ADAMW, 3 * BATCH);
    find_line(GGML_OPT_OPTIMIZER_TYPE_SGD, BATCH);
    find_line(GGML_OPT_OPTIMIZER_TYPE_SGD, 3 * BATCH);
}

// get_opt_pars is told the epoch, from 1.
static void epochs_are_counted(void ** state) {
    (void) state;
    struct line m = line_new(N, 2);
    plan = (struct plan){ 0 };
    ggml_opt_fit(m.l.sched, m.l.ctx_compute, m.inputs, m.outputs, m.ds, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR,
                 GGML_OPT_OPTIMIZER_TYPE_SGD, planned, 5, 2 * BATCH, 0.0f, true);
    assert_int_equal(plan.n_steps, 5 * N / (2 * BATCH));
    for (int i = 0; i < plan.n_steps; i++)
        assert_int_equal(plan.epochs[i], 1 + i / (N / (2 * BATCH)));
    plan = (struct plan){ 0 }; // no epoch, no step
    ggml_opt_fit(m.l.sched, m.l.ctx_compute, m.inputs, m.outputs, m.ds, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR,
                 GGML_OPT_OPTIMIZER_TYPE_SGD, planned, 0, N, 0.0f, true);
    assert_int_equal(plan.n_steps, 0);
    line_free(&m);
}

// Trains on all but `val` of the set and notes what was seen.
static void fit_and_look(struct line * m, int64_t n_epochs, int64_t logical, float val) {
    plan = (struct plan){ .inputs = m->inputs };
    ggml_opt_fit(m->l.sched, m->l.ctx_compute, m->inputs, m->outputs, m->ds,
                 GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR, GGML_OPT_OPTIMIZER_TYPE_SGD, planned, n_epochs,
                 logical, val, true);
    plan.inputs = NULL;
}

static bool seen_in_epoch(int64_t epoch, float x) {
    for (int i = 0; i < plan.n_steps; i++) {
        for (int k = 0; k < BATCH; k++) {
            if (plan.epochs[i] == epoch && plan.seen[i][k] == x) return true;
        }
    }
    return false;
}

// The set is shuffled once, what is trained on before each epoch; what is kept for validation stays the same.
static void shuffled_fits(void ** state) {
    (void) state;
    enum { STEPS = N * 3 / 4 / BATCH };
    struct line m = line_new(N, 1);
    const float * x = ggml_get_data_f32(ggml_opt_dataset_data(m.ds));
    fit_and_look(&m, 3, BATCH, 0.25f);
    assert_int_equal(plan.n_steps, 3 * STEPS);
    int n_seen = 0, n_late = 0;
    for (int i = 0; i < N; i++) {
        const bool seen = seen_in_epoch(1, x[i]);
        assert_true(seen_in_epoch(2, x[i]) == seen && seen_in_epoch(3, x[i]) == seen);
        n_seen += seen;
        n_late += seen && i >= N * 3 / 4;
    }
    assert_int_equal(n_seen, N * 3 / 4);
    assert_true(n_late > 0); // not simply the first three quarters
    assert_memory_not_equal(plan.seen[0], plan.seen[STEPS], STEPS * sizeof(plan.seen[0]));
    assert_memory_not_equal(plan.seen[STEPS], plan.seen[2 * STEPS], STEPS * sizeof(plan.seen[0]));
    line_free(&m);
}

// One step for all there is: any order will do, and the given one is kept.
static void whole_fits_are_not_shuffled(void ** state) {
    (void) state;
    struct line m = line_new(N, 1);
    fit_and_look(&m, 2, N, 0.0f);
    assert_int_equal(plan.n_steps, 2);
    const float * x = ggml_get_data_f32(ggml_opt_dataset_data(m.ds));
    for (int i = 0; i < 2; i++)
        assert_memory_equal(plan.seen[i], x + N - BATCH, sizeof(plan.seen[i]));
    line_free(&m);
}

// The loss falls, epoch after epoch, until the noise is left.
static void loss_falls(void ** state) {
    (void) state;
    struct line m = line_new(N, 1);
    struct ggml_opt_optimizer_params rates = ggml_opt_get_default_optimizer_params(NULL);
    rates.sgd.alpha = 0.05f;
    struct ggml_opt_params p =
        learner_params(&m.l, m.inputs, m.outputs, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR);
    p.optimizer = GGML_OPT_OPTIMIZER_TYPE_SGD;
    p.get_opt_pars = ggml_opt_get_constant_optimizer_params;
    p.get_opt_pars_ud = &rates;
    ggml_opt_context_t opt = learner_opt(&p);
    ggml_opt_result_t result = ggml_opt_result_init();
    double before = INFINITY, loss;
    for (int i = 0; i < 10; i++) {
        ggml_opt_result_reset(result);
        ggml_opt_epoch(opt, m.ds, result, NULL, -1, NULL, NULL);
        ggml_opt_result_loss(result, &loss, NULL);
        assert_true(loss < before);
        before = loss;
    }
    assert_true(before < 0.05);
    ggml_opt_result_free(result);
    ggml_opt_free(opt);
    line_free(&m);
}

// ---- epochs ---------------------------------------------------------------------------------------------

struct calls {
    int n[2];
    int64_t first_start[2];
    int64_t batch_sum[2];
    ggml_opt_context_t opt;
    ggml_opt_dataset_t ds;
    ggml_opt_result_t results[2];
    int64_t n_max[2];
};

static struct calls calls;

static void counting_epoch_callback(bool train, ggml_opt_context_t opt, ggml_opt_dataset_t ds,
                                    ggml_opt_result_t result, int64_t ibatch, int64_t ibatch_max,
                                    int64_t t_start_us) {
    const int part = train ? 0 : 1;
    assert_ptr_equal(opt, calls.opt);
    assert_ptr_equal(ds, calls.ds);
    assert_ptr_equal(result, calls.results[part]);
    assert_int_equal(ibatch, ++calls.n[part]);
    assert_int_equal(ibatch_max, calls.n_max[part]);
    if (ibatch == 1) calls.first_start[part] = t_start_us;
    assert_true(t_start_us == calls.first_start[part] && t_start_us <= ggml_time_us());
    if (!train) assert_int_equal(calls.n[0], calls.n_max[0]); // training is over
    // Its batch is the one that comes next in the set.
    const int64_t at = (train ? 0 : calls.n_max[0]) + ibatch - 1;
    const float * data = ggml_get_data_f32(ggml_opt_dataset_data(ds));
    assert_true(learner_f32(ggml_opt_inputs(opt), 0) == data[at * BATCH]);
    int64_t n = 0;
    if (result) ggml_opt_result_ndata(result, &n);
    if (result) assert_int_equal(n, ibatch * BATCH);
}

static void run_epoch(struct line * m, int64_t split, bool results) {
    calls = (struct calls){ .opt = line_opt(m, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR, 1), .ds = m->ds };
    calls.n_max[0] = (split < 0 ? N : split) / BATCH;
    calls.n_max[1] = N / BATCH - calls.n_max[0];
    for (int i = 0; results && i < 2; i++)
        calls.results[i] = ggml_opt_result_init();
    tn_error_clear();
    ggml_opt_epoch(calls.opt, m->ds, calls.results[0], calls.results[1], split, counting_epoch_callback,
                   counting_epoch_callback);
    assert_string_equal(ggml_ext_last_error(), "");
    assert_int_equal(calls.n[0], calls.n_max[0]);
    assert_int_equal(calls.n[1], calls.n_max[1]);
    ggml_opt_result_free(calls.results[0]);
    ggml_opt_result_free(calls.results[1]);
    ggml_opt_free(calls.opt);
}

static void callbacks(void ** state) {
    (void) state;
    struct line m = line_new(N, 1);
    const int64_t splits[] = { -1, 0, BATCH, N / 2, N };
    for (int i = 0; i < 5; i++) {
        run_epoch(&m, splits[i], true);
        run_epoch(&m, splits[i], false);
    }
    line_free(&m);
}

// Results of an epoch without training against the same in double.
static void results_of_an_epoch(void ** state) {
    (void) state;
    struct linear m = linear_new(BATCH, test_seed());
    struct linear_data d = linear_data_new(&m.l.rng, N);
    struct linear_oracle o = { 0 };
    ggml_opt_dataset_t ds =
        ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, LINEAR_IN, LINEAR_OUT, N, BATCH);
    memcpy(ggml_opt_dataset_data(ds)->data, d.x, N * sizeof(d.x[0]));
    memcpy(ggml_opt_dataset_labels(ds)->data, d.labels, N * sizeof(d.labels[0]));
    ggml_opt_context_t opt = linear_opt(&m, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY, 3);
    ggml_opt_result_t result = ggml_opt_result_init();
    double loss, loss_unc, accuracy, accuracy_unc, mean = 0.0, squares = 0.0, n_correct = 0.0;
    int32_t pred[N];
    ggml_opt_epoch(opt, ds, NULL, result, 0, NULL, NULL);
    ggml_opt_result_loss(result, &loss, &loss_unc);
    ggml_opt_result_accuracy(result, &accuracy, &accuracy_unc);
    ggml_opt_result_pred(result, pred);
    oracle_load(&o, &m);
    for (int64_t i = 0; i < N; i += BATCH) {
        oracle_batch(&o, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY, &d, i, BATCH);
        mean += o.loss * BATCH / N;
        squares += o.loss * o.loss * BATCH / N;
        n_correct += (double) o.n_correct;
        for (int k = 0; k < BATCH; k++)
            assert_int_equal(pred[i + k], o.pred[k]);
    }
    const double a = n_correct / N;
    linear_close(loss, mean, 1.0);
    linear_close(loss_unc, sqrt((squares - mean * mean) / (N / BATCH - 1)), 1.0);
    linear_close(accuracy, a, 0.0);
    linear_close(accuracy_unc, sqrt(a * (1.0 - a) / (N - 1)), 1.0);
    linear_compare(m.w, m.b, o.w, o.b, 1.0); // nothing was learnt
    ggml_opt_result_free(result);
    ggml_opt_free(opt);
    ggml_opt_dataset_free(ds);
    linear_free(&m);
}

// ---- refusals -------------------------------------------------------------------------------------------

static void unwanted_epoch_callback(bool train, ggml_opt_context_t opt, ggml_opt_dataset_t ds,
                                    ggml_opt_result_t result, int64_t ibatch, int64_t ibatch_max,
                                    int64_t t_start_us) {
    (void) train, (void) opt, (void) ds, (void) result, (void) ibatch, (void) ibatch_max, (void) t_start_us;
    fail_msg("a batch was run");
}

static void bad_epochs(void ** state) {
    (void) state;
    struct line m = line_new(N, 1), odd = line_new(N + 1, 1), sharded = line_new(N, 5);
    ggml_opt_context_t opt = line_opt(&m, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR, 1);
    ggml_opt_context_t sum = line_opt(&m, GGML_OPT_LOSS_TYPE_SUM, 1);
    struct ggml_opt_params p = ggml_opt_default_params(m.l.sched, GGML_OPT_LOSS_TYPE_SUM);
    ggml_opt_context_t dynamic = learner_opt(&p);
    ggml_opt_dataset_t wide = ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, 2, 1, N, 1);
    ggml_opt_dataset_t bare = ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, 1, 0, N, 1);
    ggml_opt_dataset_t ints = ggml_opt_dataset_init(GGML_TYPE_I32, GGML_TYPE_F32, 1, 1, N, 1);
#define EPOCH(opt, ds, split)                                                                                \
    ggml_opt_epoch(opt, ds, NULL, NULL, split, unwanted_epoch_callback, unwanted_epoch_callback)
    REFUSED(EPOCH(NULL, m.ds, -1), "the context is NULL");
    REFUSED(EPOCH(opt, NULL, -1), "the data set is NULL");
    REFUSED(EPOCH(dynamic, m.ds, -1), "the graph of the context is dynamic");
    REFUSED(EPOCH(opt, odd.ds, -1), "49 datapoints are no multiple of a batch of 4");
    REFUSED(EPOCH(opt, sharded.ds, -1), "48 datapoints are no multiple of a shard of 5");
    REFUSED(EPOCH(opt, m.ds, 3), "training on 3 of 48 datapoints in batches of 4");
    REFUSED(EPOCH(opt, m.ds, N + BATCH), "training on 52 of 48");
    REFUSED(EPOCH(opt, wide, -1), "do not hold 4 datapoints of 8 bytes");
    REFUSED(EPOCH(opt, bare, -1), "has no labels");
    REFUSED(EPOCH(opt, ints, -1), "must be i32");
    REFUSED(EPOCH(sum, m.ds, -1), "no room for labels");
    run_epoch(&m, -1, true); // the scheduler and the set are as good as before
    tn_error_clear();
    ggml_opt_epoch(opt, m.ds, NULL, NULL, -1, NULL, NULL); // and so is the context
    assert_string_equal(ggml_ext_last_error(), "");
    ggml_opt_dataset_free(ints);
    ggml_opt_dataset_free(bare);
    ggml_opt_dataset_free(wide);
    ggml_opt_free(dynamic);
    ggml_opt_free(sum);
    ggml_opt_free(opt);
    line_free(&sharded);
    line_free(&odd);
    line_free(&m);
}

static void bad_fits(void ** state) {
    (void) state;
    struct line m = line_new(N, 1);
    const float slope = learner_f32(m.slope, 0);
#define FIT(in, ds, n_epochs, logical, split)                                                                \
    ggml_opt_fit(m.l.sched, m.l.ctx_compute, in, m.outputs, ds, GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR,       \
                 GGML_OPT_OPTIMIZER_TYPE_SGD, planned, n_epochs, logical, split, true)
    REFUSED(FIT(NULL, m.ds, 1, BATCH, 0.0f), "the inputs are NULL");
    REFUSED(FIT(m.inputs, NULL, 1, BATCH, 0.0f), "the data set is NULL");
    REFUSED(FIT(m.inputs, m.ds, -1, BATCH, 0.0f), "-1 epochs");
    REFUSED(FIT(m.inputs, m.ds, 1, 6, 0.0f), "logical batches of 6 datapoints");
    REFUSED(FIT(m.inputs, m.ds, 1, 0, 0.0f), "logical batches of 0 datapoints");
    REFUSED(FIT(m.inputs, m.ds, 1, 20, 0.0f), "no divisor of the data set of 48");
    REFUSED(FIT(m.inputs, m.ds, 1, BATCH, 1.0f), "val_split is 1");
    REFUSED(FIT(m.inputs, m.ds, 1, BATCH, -0.1f), "val_split is -0.1");
    REFUSED(FIT(m.inputs, m.ds, 1, BATCH, NAN), "val_split is nan");
    REFUSED(ggml_opt_fit(NULL, m.l.ctx_compute, m.inputs, m.outputs, m.ds, GGML_OPT_LOSS_TYPE_SUM,
                         GGML_OPT_OPTIMIZER_TYPE_SGD, planned, 1, BATCH, 0.0f, true),
            "the scheduler is NULL");
    assert_true(learner_f32(m.slope, 0) == slope);
    line_free(&m);
}

// ---- what people see ------------------------------------------------------------------------------------

// What `show` writes to stderr.
static const char * shown(void (*show)(void *), void * arg) {
    static char text[1 << 16];
    FILE * file = tmpfile();
    fflush(stderr);
    const int old = dup(STDERR_FILENO);
    assert_true(file && old >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    show(arg);
    fflush(stderr);
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    close(old);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int count_of(const char * text, char c) {
    int n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

static void show_fit(void * arg) {
    struct line * m = arg;
    ggml_opt_fit(m->l.sched, m->l.ctx_compute, m->inputs, m->outputs, m->ds,
                 GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR, GGML_OPT_OPTIMIZER_TYPE_SGD, planned, 2, BATCH, 0.25f,
                 false);
}

static void progress_of_a_fit(void ** state) {
    (void) state;
    struct line m = line_new(N, 1);
    const char * text = shown(show_fit, &m);
    assert_contains(text, "epoch 1 of 2\n");
    assert_contains(text, "epoch 2 of 2\n");
    assert_contains(text, "train: [========]");
    assert_contains(text, "] 36/36  loss ");
    assert_contains(text, "val:   [========]");
    assert_contains(text, "] 12/12  loss ");
    assert_contains(text, "trained in 00:0");
    assert_null(strstr(text, "accuracy"));
    assert_int_equal(count_of(text, '\r'), 2 * (N / BATCH - 2));
    assert_int_equal(count_of(text, '\n'), 2 + 4 + 1);
    line_free(&m);
}

static void show_nothing(void * arg) {
    ggml_opt_epoch_callback_progress_bar(true, NULL, NULL, NULL, 1, 4, ggml_time_us());
    ggml_opt_epoch_callback_progress_bar(false, NULL, NULL, arg, 4, 4, ggml_time_us() - 7384000000);
}

static void progress_without_results(void ** state) {
    (void) state;
    const char * text = shown(show_nothing, NULL);
    assert_contains(text, "train: [==>     ]");
    assert_contains(text, "02:03:04, left 00:00:00\n");
    REFUSED(ggml_opt_epoch_callback_progress_bar(true, NULL, NULL, NULL, 0, 4, 0), "batch 0 of 4");
    REFUSED(ggml_opt_epoch_callback_progress_bar(true, NULL, NULL, NULL, 5, 4, 0), "batch 5 of 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found),
        cmocka_unit_test(epochs_are_counted),
        cmocka_unit_test(shuffled_fits),
        cmocka_unit_test(whole_fits_are_not_shuffled),
        cmocka_unit_test(loss_falls),
        cmocka_unit_test(callbacks),
        cmocka_unit_test(bad_epochs),
        cmocka_unit_test(results_of_an_epoch),
        cmocka_unit_test(bad_fits),
        cmocka_unit_test(progress_of_a_fit),
        cmocka_unit_test(progress_without_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
