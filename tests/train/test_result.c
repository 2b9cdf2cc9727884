// SPDX-License-Identifier: MIT
// Results against statistics that are computed here, from batches that are made by hand.
#include "harness.h"

#include <math.h>

#include "base/error.h"
#include "ggml-alloc.h"
#include "ggml-ext.h"
#include "train/opt_int.h"

enum { BATCH = 5, N = 7 };

// A context that has nothing but values.
struct fixture {
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_opt_context opt;
    ggml_opt_result_t result;
};

static int setup(void ** state) {
    static struct fixture f;
    f = (struct fixture){ 0 };
    f.ctx = ggml_init((struct ggml_init_params){ 8 * ggml_tensor_overhead(), NULL, true });
    f.opt.model.loss = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 1);
    f.opt.model.pred = ggml_new_tensor_1d(f.ctx, GGML_TYPE_I32, BATCH);
    f.opt.model.ncorrect = ggml_new_tensor_1d(f.ctx, GGML_TYPE_I64, 1);
    f.buffer = ggml_backend_alloc_ctx_tensors_from_buft(f.ctx, ggml_backend_cpu_buffer_type());
    f.result = ggml_opt_result_init();
    *state = &f;
    return f.buffer && f.result ? 0 : -1;
}

static int teardown(void ** state) {
    struct fixture * f = *state;
    ggml_opt_result_free(f->result);
    ggml_backend_buffer_free(f->buffer);
    ggml_free(f->ctx);
    return 0;
}

static void add(struct fixture * f, const struct tn_result_kind * kind, float loss, int64_t n_correct) {
    *(float *) f->opt.model.loss->data = loss;
    *(int64_t *) f->opt.model.ncorrect->data = n_correct;
    assert_true(tn_result_reserve(f->result, kind));
    tn_result_add(f->result, &f->opt);
}

static void close_to(double a, double b) {
    if (!(fabs(a - b) <= 1e-6 * (1.0 + fabs(b)))) fail_msg("%.9g is not %.9g", a, b);
}

static const float losses[N] = { 1.5f, -2.0f, 0.25f, 8.0f, 3.0f, 0.0f, 1.0f };

static void empty(void ** state) {
    struct fixture * f = *state;
    double loss = 5.0, unc = 5.0, accuracy = 5.0, accuracy_unc = 5.0;
    int64_t n = 5;
    int32_t pred = 17;
    ggml_opt_result_ndata(f->result, &n);
    ggml_opt_result_loss(f->result, &loss, &unc);
    ggml_opt_result_accuracy(f->result, &accuracy, &accuracy_unc);
    ggml_opt_result_pred(f->result, &pred);
    assert_int_equal(n, 0);
    assert_true(loss == 0.0 && isnan(unc) && isnan(accuracy) && isnan(accuracy_unc) && pred == 17);
}

static void mean_of_losses(void ** state) {
    struct fixture * f = *state;
    const struct tn_result_kind kind = { BATCH, 4, true, false };
    double mean = 0.0, squares = 0.0, loss, unc;
    for (int i = 0; i < N; i++) {
        add(f, &kind, losses[i], 0);
        const double l = 4.0 * (double) losses[i]; // what was divided by the period
        mean += l / N;
        squares += l * l / N;
        ggml_opt_result_loss(f->result, &loss, &unc);
        assert_true(isnan(unc) == (i == 0));
    }
    close_to(loss, mean);
    close_to(unc, sqrt((squares - mean * mean) / (N - 1)));
    double accuracy, accuracy_unc;
    ggml_opt_result_accuracy(f->result, &accuracy, &accuracy_unc);
    assert_true(isnan(accuracy) && isnan(accuracy_unc));
    ggml_opt_result_loss(f->result, NULL, NULL);
    ggml_opt_result_accuracy(f->result, NULL, NULL);
    ggml_opt_result_ndata(f->result, NULL);
}

static void sum_of_losses(void ** state) {
    struct fixture * f = *state;
    const struct tn_result_kind kind = { BATCH, 4, false, false };
    double mean = 0.0, squares = 0.0, loss, unc;
    for (int i = 0; i < N; i++) {
        add(f, &kind, losses[i], 0);
        mean += (double) losses[i] / N;
        squares += (double) losses[i] * (double) losses[i] / N;
    }
    ggml_opt_result_loss(f->result, &loss, &unc);
    close_to(loss, mean * N);
    close_to(unc, sqrt((squares - mean * mean) * N / (N - 1)));
}

static void predictions(void ** state) {
    struct fixture * f = *state;
    const struct tn_result_kind kind = { BATCH, 1, true, true };
    int64_t n;
    int32_t pred[N * BATCH];
    double accuracy, unc;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < BATCH; k++)
            ((int32_t *) f->opt.model.pred->data)[k] = 100 * i + k;
        add(f, &kind, losses[i], i % (BATCH + 1)); // 0 1 2 3 4 5 0
    }
    ggml_opt_result_ndata(f->result, &n);
    assert_int_equal(n, N * BATCH);
    ggml_opt_result_pred(f->result, pred);
    for (int i = 0; i < N * BATCH; i++)
        assert_int_equal(pred[i], 100 * (i / BATCH) + i % BATCH);
    ggml_opt_result_accuracy(f->result, &accuracy, &unc);
    close_to(accuracy, 15.0 / 35.0);
    close_to(unc, sqrt(15.0 / 35.0 * 20.0 / 35.0 / 34.0));
    ggml_opt_result_reset(f->result);
    ggml_opt_result_ndata(f->result, &n);
    assert_int_equal(n, 0);
    add(f, &(struct tn_result_kind){ 1, 1, true, true }, 1.0f, 1); // one datapoint, and another kind
    ggml_opt_result_accuracy(f->result, &accuracy, &unc);
    assert_true(accuracy == 1.0 && isnan(unc));
}

// Losses that differ in their last bits only.
static void close_losses(void ** state) {
    struct fixture * f = *state;
    const struct tn_result_kind kind = { BATCH, 1, true, false };
    double unc;
    for (int i = 0; i < 100; i++)
        add(f, &kind, i % 2 ? 4096.0f : 4096.0f + 0x1p-11f, 0);
    ggml_opt_result_loss(f->result, NULL, &unc);
    close_to(unc * 1e6, 1e6 * 0x1p-12 / sqrt(99.0));
}

static void kinds_do_not_mix(void ** state) {
    struct fixture * f = *state;
    const struct tn_result_kind kind = { BATCH, 2, true, true };
    const struct tn_result_kind others[] = {
        { BATCH + 1, 2, true, true },
        { BATCH, 3, true, true },
        { BATCH, 2, false, true },
        { BATCH, 2, true, false },
    };
    add(f, &kind, 1.0f, 1);
    for (int i = 0; i < 4; i++) {
        assert_false(tn_result_reserve(f->result, &others[i]));
        assert_contains(tn_error_text(), "the result holds batches of 5 datapoints and period 2");
    }
    assert_true(tn_result_reserve(f->result, &kind));
}

static void no_result(void ** state) {
    (void) state;
    int64_t n = 3;
    double loss = 3.0;
    int32_t pred = 3;
    tn_error_clear();
    ggml_opt_result_ndata(NULL, &n);
    assert_contains(ggml_ext_last_error(), "ggml_opt_result_ndata: the result is NULL");
    ggml_opt_result_loss(NULL, &loss, &loss);
    ggml_opt_result_accuracy(NULL, &loss, &loss);
    ggml_opt_result_pred(NULL, &pred);
    assert_true(n == 3 && loss == 3.0 && pred == 3);
    ggml_opt_result_reset(NULL);
    ggml_opt_result_free(NULL);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH(empty),        WITH(mean_of_losses),   WITH(sum_of_losses), WITH(predictions),
        WITH(close_losses), WITH(kinds_do_not_mix), WITH(no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
