// SPDX-License-Identifier: MIT
// What comes out of evaluations: losses, predictions, and how sure of them one may be.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "backend/iface.h"
#include "base/array.h"
#include "base/error.h"
#include "base/mem.h"
#include "train/opt_int.h"

struct ggml_opt_result {
    struct tn_result_kind kind; // of the first batch
    int64_t n_data;
    int64_t n_correct;
    TN_ARRAY(float) losses; // one a batch
    TN_ARRAY(int32_t) preds;
};

ggml_opt_result_t ggml_opt_result_init(void) {
    struct ggml_opt_result * result = tn_mem_calloc(1, sizeof(*result), TN_MEM_OBJECT);
    if (!result) tn_iface_refuse(__func__, "%s", tn_error_text());
    return result;
}

void ggml_opt_result_free(ggml_opt_result_t result) {
    if (!result) return;
    TN_ARRAY_FREE(&result->losses);
    TN_ARRAY_FREE(&result->preds);
    tn_mem_free(result);
}

void ggml_opt_result_reset(ggml_opt_result_t result) {
    if (!result) return;
    result->n_data = 0;
    result->n_correct = 0;
    result->losses.count = 0;
    result->preds.count = 0;
}

// ---- collecting -----------------------------------------------------------------------------------------

static bool same_kind(const struct tn_result_kind * a, const struct tn_result_kind * b) {
    return a->batch == b->batch && a->period == b->period && a->per_datapoint == b->per_datapoint &&
           a->predicts == b->predicts;
}

bool tn_result_reserve(struct ggml_opt_result * result, const struct tn_result_kind * kind) {
    const struct tn_result_kind * old = &result->kind;
    if (result->losses.count > 0 && !same_kind(old, kind))
        return tn_refuse("the result holds batches of %" PRId64 " datapoints and period %" PRId64
                         ", with this kind of loss it takes no batch of %" PRId64 " and period %" PRId64,
                         old->batch, old->period, kind->batch, kind->period);
    result->kind = *kind;
    const size_t n_pred = kind->predicts ? (size_t) kind->batch : 0;
    return TN_ARRAY_RESERVE(&result->losses, 1, TN_MEM_OBJECT) &&
           TN_ARRAY_RESERVE(&result->preds, n_pred, TN_MEM_OBJECT);
}

void tn_result_add(struct ggml_opt_result * result, const struct ggml_opt_context * opt) {
    const struct tn_graphs_model * m = &opt->model;
    float loss = NAN;
    ggml_backend_tensor_get(m->loss, &loss, 0, sizeof(loss));
    result->losses.items[result->losses.count++] = loss;
    result->n_data += result->kind.batch;
    if (!result->kind.predicts) return;
    const size_t n = (size_t) result->kind.batch;
    int64_t n_correct = 0;
    ggml_backend_tensor_get(m->pred, result->preds.items + result->preds.count, 0, n * sizeof(int32_t));
    ggml_backend_tensor_get(m->ncorrect, &n_correct, 0, sizeof(n_correct));
    result->preds.count += n;
    result->n_correct += n_correct;
}

// ---- asking ---------------------------------------------------------------------------------------------

static bool is_given(const struct ggml_opt_result * result, const char * function) {
    return result || tn_iface_refuse(function, "the result is NULL");
}

void ggml_opt_result_ndata(ggml_opt_result_t result, int64_t * ndata) {
    if (is_given(result, __func__) && ndata) *ndata = result->n_data;
}

// Mean and variance of the losses, in two passes: their differences may be far smaller than they are.
struct moments {
    double mean, var;
};

static struct moments moments_of(const struct ggml_opt_result * result) {
    const double n = (double) result->losses.count;
    const double factor = result->kind.per_datapoint ? (double) result->kind.period : 1.0;
    struct moments m = { 0.0, 0.0 };
    for (size_t i = 0; i < result->losses.count; i++)
        m.mean += (double) result->losses.items[i] * factor / n;
    for (size_t i = 0; i < result->losses.count; i++) {
        const double d = (double) result->losses.items[i] * factor - m.mean;
        m.var += d * d / n;
    }
    return m;
}

void ggml_opt_result_loss(ggml_opt_result_t result, double * loss, double * unc) {
    if (!is_given(result, __func__)) return;
    const double n = (double) result->losses.count;
    const struct moments m = moments_of(result);
    const bool mean = result->kind.per_datapoint;
    if (loss) *loss = mean ? m.mean : m.mean * n;
    if (unc) *unc = n < 2.0 ? NAN : sqrt((mean ? m.var : m.var * n) / (n - 1.0));
}

void ggml_opt_result_pred(ggml_opt_result_t result, int32_t * pred) {
    if (!is_given(result, __func__) || !pred || result->preds.count == 0) return;
    memcpy(pred, result->preds.items, result->preds.count * sizeof(*pred));
}

void ggml_opt_result_accuracy(ggml_opt_result_t result, double * accuracy, double * unc) {
    if (!is_given(result, __func__)) return;
    const double n = (double) result->n_data;
    const double a = result->kind.predicts && n > 0.0 ? (double) result->n_correct / n : NAN;
    if (accuracy) *accuracy = a;
    if (unc) *unc = n < 2.0 ? NAN : sqrt(a * (1.0 - a) / (n - 1.0));
}
