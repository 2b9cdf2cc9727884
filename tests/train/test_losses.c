// SPDX-License-Identifier: MIT
// Losses, predictions, gradients and steps of a linear model against plain loops in double: every kind of
// loss, gradients added up over batches or taken at once, static and dynamic graphs, both optimisers.
#include "train/linear.h"

static const enum ggml_opt_loss_type kinds[] = {
    GGML_OPT_LOSS_TYPE_MEAN,
    GGML_OPT_LOSS_TYPE_SUM,
    GGML_OPT_LOSS_TYPE_CROSS_ENTROPY,
    GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR,
};

static double period_of(enum ggml_opt_loss_type kind, int32_t period) {
    return kind == GGML_OPT_LOSS_TYPE_SUM ? 1.0 : (double) period;
}

static void check_predictions(ggml_opt_context_t opt, const struct linear_oracle * o, int64_t n) {
    int64_t n_correct;
    ggml_backend_tensor_get(ggml_opt_ncorrect(opt), &n_correct, 0, sizeof(n_correct));
    assert_int_equal(n_correct, o->n_correct);
    assert_int_equal(ggml_nelements(ggml_opt_pred(opt)), n);
    for (int64_t i = 0; i < n; i++) {
        int32_t pred;
        ggml_backend_tensor_get(ggml_opt_pred(opt), &pred, (size_t) i * sizeof(pred), sizeof(pred));
        assert_int_equal(pred, o->pred[i]);
    }
}

// Losses of single evaluations, forward only.
static void loss_of(enum ggml_opt_loss_type kind, int32_t period, uint64_t seed) {
    struct linear m = linear_new(5, seed);
    struct linear_data d = linear_data_new(&m.l.rng, 5);
    struct linear_oracle o = { 0 };
    ggml_opt_context_t opt = linear_opt(&m, kind, period);
    ggml_opt_result_t result = ggml_opt_result_init();
    double loss, accuracy;
    oracle_load(&o, &m);
    oracle_batch(&o, kind, &d, 0, 5);
    ggml_opt_alloc(opt, false);
    linear_set(&m, opt, &d, 0);
    ggml_opt_eval(opt, result);
    linear_close((double) learner_f32(ggml_opt_loss(opt), 0), o.loss / period_of(kind, period), 1.0);
    ggml_opt_result_loss(result, &loss, NULL);
    linear_close(loss, o.loss, 1.0);
    ggml_opt_result_accuracy(result, &accuracy, NULL);
    if (kind == GGML_OPT_LOSS_TYPE_CROSS_ENTROPY) {
        check_predictions(opt, &o, 5);
        linear_close(accuracy, (double) o.n_correct / 5.0, 0.0);
    } else {
        assert_null(ggml_opt_pred(opt));
        assert_null(ggml_opt_ncorrect(opt));
        assert_true(isnan(accuracy));
    }
    ggml_opt_result_free(result);
    ggml_opt_free(opt);
    linear_free(&m);
}

static void losses(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int i = 0; i < 4; i++) {
        loss_of(kinds[i], 1, seed + (uint64_t) i);
        loss_of(kinds[i], 7, seed + (uint64_t) i);
    }
}

// ---- gradients over a period, and the step behind them --------------------------------------------------

// What a training is, but for its numbers.
struct way {
    enum ggml_opt_loss_type kind;
    enum ggml_opt_optimizer_type optimizer;
    int32_t period;
    bool dynamic;
};

static const struct ggml_opt_optimizer_params rates = {
    .adamw = { .alpha = 0.02f, .beta1 = 0.8f, .beta2 = 0.95f, .eps = 1e-6f, .wd = 0.1f },
    .sgd = { .alpha = 0.05f, .wd = 0.2f },
};

struct moments {
    double w[2][LINEAR_OUT][LINEAR_IN], b[2][LINEAR_OUT];
};

// Rates are floats also here: 0.1f times a count differs from 0.1.
static double adamw_value(double x, double g, double * m, double * v, int iter) {
    const double alpha = (double) rates.adamw.alpha, beta1 = (double) rates.adamw.beta1;
    const double beta2 = (double) rates.adamw.beta2;
    *m = beta1 * *m + (1.0 - beta1) * g;
    *v = beta2 * *v + (1.0 - beta2) * g * g;
    const double mean = *m / (1.0 - pow(beta1, iter)), square = *v / (1.0 - pow(beta2, iter));
    return x * (1.0 - alpha * (double) rates.adamw.wd) -
           alpha * mean / (sqrt(square) + (double) rates.adamw.eps);
}

static double sgd_value(double x, double g) {
    return x * (1.0 - (double) rates.sgd.alpha * (double) rates.sgd.wd) - (double) rates.sgd.alpha * g;
}

static void oracle_step(struct linear_oracle * o, struct moments * s, const struct way * way, int iter) {
    const bool adamw = way->optimizer == GGML_OPT_OPTIMIZER_TYPE_ADAMW;
    const double f = 1.0 / period_of(way->kind, way->period);
    for (int i = 0; i < LINEAR_OUT; i++) {
        o->b[i] = adamw ? adamw_value(o->b[i], o->db[i] * f, &s->b[0][i], &s->b[1][i], iter)
                        : sgd_value(o->b[i], o->db[i] * f);
        for (int k = 0; k < LINEAR_IN; k++)
            o->w[i][k] = adamw
                             ? adamw_value(o->w[i][k], o->dw[i][k] * f, &s->w[0][i][k], &s->w[1][i][k], iter)
                             : sgd_value(o->w[i][k], o->dw[i][k] * f);
    }
}

// A graph of its own for each batch, in a context that is freed behind it.
static struct ggml_context * prepare_dynamic(struct linear * m, ggml_opt_context_t opt) {
    const size_t size = 256 * ggml_tensor_overhead() + 2 * ggml_graph_overhead_custom(128, true);
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ size, NULL, true });
    struct ggml_cgraph * g = ggml_new_graph_custom(ctx, 128, true);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, LINEAR_IN, m->batch);
    struct ggml_tensor * y = ggml_add(ctx, ggml_mul_mat(ctx, m->w, x), m->b);
    ggml_build_forward_expand(g, y);
    ggml_opt_prepare_alloc(opt, ctx, g, x, y);
    return ctx;
}

static void one_batch(struct linear * m, ggml_opt_context_t opt, const struct way * way,
                      const struct linear_data * d, int64_t first) {
    struct ggml_context * ctx = way->dynamic ? prepare_dynamic(m, opt) : NULL;
    linear_batch(m, opt, d, first, NULL);
    linear_close((double) learner_f32(ggml_opt_loss(opt), 0), 0.0, 1e9); // it can be read
    ggml_free(ctx);
}

static ggml_opt_context_t open_way(struct linear * m, const struct way * way) {
    struct ggml_opt_params p = learner_params(&m->l, m->inputs, m->outputs, way->kind);
    if (way->dynamic) {
        p.ctx_compute = NULL;
        p.inputs = p.outputs = NULL;
    }
    p.opt_period = way->period;
    p.optimizer = way->optimizer;
    p.get_opt_pars = ggml_opt_get_constant_optimizer_params;
    p.get_opt_pars_ud = (void *) &rates;
    return learner_opt(&p);
}

// Gradients of the period so far, where they are added up; without a period the static graph keeps none.
static void check_gradients(struct linear * m, ggml_opt_context_t opt, const struct way * way,
                            const struct linear_oracle * o) {
    const struct ggml_tensor *dw = ggml_opt_grad_acc(opt, m->w), *db = ggml_opt_grad_acc(opt, m->b);
    if (!way->dynamic && way->period == 1) {
        assert_null(dw);
        assert_null(db);
        return;
    }
    linear_compare(dw, db, o->dw, o->db, 1.0 / period_of(way->kind, way->period));
}

static void run_way(const struct way * way, uint64_t seed) {
    enum { BATCH = 3, PERIODS = 4 };
    struct linear m = linear_new(BATCH, seed);
    struct linear_data d = linear_data_new(&m.l.rng, BATCH * way->period * PERIODS);
    struct linear_oracle o = { 0 };
    struct moments moments = { 0 };
    ggml_opt_context_t opt = open_way(&m, way);
    oracle_load(&o, &m);
    for (int64_t step = 0; step < PERIODS; step++) {
        oracle_clear(&o);
        for (int64_t i = 0; i < way->period; i++) {
            const int64_t first = (step * way->period + i) * BATCH;
            one_batch(&m, opt, way, &d, first);
            oracle_batch(&o, way->kind, &d, first, BATCH);
            check_gradients(&m, opt, way, &o);
        }
        oracle_step(&o, &moments, way, (int) step + 1);
        linear_compare(m.w, m.b, o.w, o.b, 1.0);
    }
    ggml_opt_free(opt);
    linear_free(&m);
}

static void steps(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (unsigned i = 0; i < 32; i++) {
        const struct way way = {
            .kind = kinds[i % 4],
            .optimizer = i & 4 ? GGML_OPT_OPTIMIZER_TYPE_SGD : GGML_OPT_OPTIMIZER_TYPE_ADAMW,
            .period = i & 8 ? 4 : 1,
            .dynamic = i & 16,
        };
        run_way(&way, seed + i);
    }
}

// ---- the same gradients from four small batches and a large one -----------------------------------------

static void gradients_of(struct linear * m, ggml_opt_context_t opt, const struct linear_data * d,
                         int64_t n_batches, float * dw) {
    for (int64_t i = 0; i < n_batches; i++)
        linear_batch(m, opt, d, i * m->batch, NULL);
    ggml_backend_tensor_get(ggml_opt_grad_acc(opt, m->w), dw, 0, ggml_nbytes(m->w));
}

static void small_batches_are_a_large_one(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int i = 0; i < 4; i++) {
        struct linear small = linear_new(3, seed), large = linear_new(12, seed);
        struct linear_data d = linear_data_new(&small.l.rng, 12);
        struct ggml_opt_params p = learner_params(&large.l, large.inputs, large.outputs, kinds[i]);
        p.build_type = GGML_OPT_BUILD_TYPE_GRAD;
        ggml_opt_context_t opt_small = linear_opt(&small, kinds[i], 4), opt_large = learner_opt(&p);
        float a[LINEAR_OUT * LINEAR_IN], b[LINEAR_OUT * LINEAR_IN];
        for (int round = 0; round < 2; round++) { // a second period starts from 0
            gradients_of(&large, opt_large, &d, 1, b);
            gradients_of(&small, opt_small, &d, 4, a);
            for (int k = 0; k < LINEAR_OUT * LINEAR_IN; k++)
                linear_close((double) a[k], (double) b[k], 0.5);
            ggml_backend_tensor_copy(small.w, large.w); // the step is the small one's
            ggml_backend_tensor_copy(small.b, large.b);
        }
        ggml_opt_free(opt_large);
        ggml_opt_free(opt_small);
        linear_free(&large);
        linear_free(&small);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses),
        cmocka_unit_test(steps),
        cmocka_unit_test(small_batches_are_a_large_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
