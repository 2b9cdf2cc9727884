// SPDX-License-Identifier: MIT
// Loops: one pass over a data set, and a whole training.
#include <inttypes.h>
#include <stdio.h>

#include "backend/iface.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/context.h"
#include "core/shape.h"
#include "train/opt_int.h"
#include "train/progress_int.h"

// ---- one pass -------------------------------------------------------------------------------------------

struct part {
    bool train;
    int64_t first; // batch
    int64_t n;
    ggml_opt_result_t result;
    ggml_opt_epoch_callback callback;
};

static bool run_batch(struct ggml_opt_context * opt, struct ggml_opt_dataset * ds, const struct part * p,
                      int64_t ibatch) {
    if (!tn_opt_alloc(opt, p->train)) return false;
    if (tn_dataset_get_batch(ds, opt->model.inputs, opt->model.labels, p->first + ibatch))
        return tn_opt_eval(opt, p->result);
    tn_opt_cancel(opt);
    return false;
}

static bool run_part(struct ggml_opt_context * opt, struct ggml_opt_dataset * ds, const struct part * p) {
    const int64_t start = ggml_time_us();
    for (int64_t i = 0; i < p->n; i++) {
        if (!run_batch(opt, ds, p, i))
            return tn_refuse("%s batch %" PRId64 ": %s", p->train ? "training" : "validation", i + 1,
                             tn_error_text());
        if (p->callback) p->callback(p->train, opt, ds, p->result, i + 1, p->n, start);
    }
    return true;
}

// Does the data set consist of whole batches of these inputs?
static bool check_batches(const struct ggml_tensor * inputs, const struct ggml_opt_dataset * ds) {
    const int64_t n = inputs->ne[1];
    if (n < 1 || ds->n_data % n != 0)
        return tn_refuse("%" PRId64 " datapoints are no multiple of a batch of %" PRId64, ds->n_data, n);
    if (ds->n_shards * ds->shard != ds->n_data)
        return tn_refuse("%" PRId64 " datapoints are no multiple of a shard of %" PRId64, ds->n_data,
                         ds->shard);
    char text[TN_SHAPE_TENSOR_TEXT];
    return ggml_nbytes(inputs) == (size_t) n * ds->data->nb[1] ||
           tn_refuse("the inputs %s do not hold %" PRId64 " datapoints of %zu bytes",
                     tn_shape_tensor_text(text, inputs), n, ds->data->nb[1]);
}

static bool check_epoch(const struct ggml_opt_context * opt, const struct ggml_opt_dataset * ds,
                        int64_t split) {
    if (!opt || !ds) return tn_refuse("the %s is NULL", opt ? "data set" : "context");
    if (!opt->is_static) return tn_refuse("the graph of the context is dynamic");
    if (!check_batches(opt->model.inputs, ds)) return false;
    const int64_t n = opt->model.inputs->ne[1];
    return (split <= ds->n_data && (split < 0 || split % n == 0)) ||
           tn_refuse("training on %" PRId64 " of %" PRId64 " datapoints in batches of %" PRId64, split,
                     ds->n_data, n);
}

// train, eval: result and callback; batches are found here.
static bool run_epoch(struct ggml_opt_context * opt, struct ggml_opt_dataset * ds, int64_t split,
                      struct part * train, struct part * eval) {
    const int64_t batch = opt->model.inputs->ne[1];
    train->train = true;
    train->n = (split < 0 ? ds->n_data : split) / batch;
    eval->first = train->n;
    eval->n = ds->n_data / batch - train->n;
    return run_part(opt, ds, train) && run_part(opt, ds, eval);
}

void ggml_opt_epoch(ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset, ggml_opt_result_t result_train,
                    ggml_opt_result_t result_eval, int64_t idata_split,
                    ggml_opt_epoch_callback callback_train, ggml_opt_epoch_callback callback_eval) {
    struct part train = { .result = result_train, .callback = callback_train };
    struct part eval = { .result = result_eval, .callback = callback_eval };
    if (check_epoch(opt_ctx, dataset, idata_split) && run_epoch(opt_ctx, dataset, idata_split, &train, &eval))
        return;
    tn_iface_refuse(__func__, "%s", tn_error_text());
}

// ---- a whole training -----------------------------------------------------------------------------------

struct fit {
    struct ggml_opt_context * opt;
    struct ggml_opt_dataset * ds;
    struct part train, eval;
    int64_t n_epochs;
    int64_t logical; // datapoints for one step
    int64_t split;   // datapoints that are trained on
    bool silent;
};

// How many batches are a logical one; 0 with a text: the sizes do not fit.
static int32_t find_period(const struct ggml_tensor * inputs, const struct ggml_opt_dataset * ds,
                           int64_t logical) {
    if (!inputs || !ds) {
        tn_error_set("the %s NULL", inputs ? "data set is" : "inputs are");
    } else if (tn_tensor_is_poisoned(inputs)) {
        tn_error_set("%s", tn_context_poison_text(inputs));
    } else if (check_batches(inputs, ds)) {
        const int64_t n = inputs->ne[1];
        if (logical >= n && logical % n == 0 && ds->n_data % logical == 0 && logical / n <= INT32_MAX)
            return (int32_t) (logical / n);
        tn_error_set("logical batches of %" PRId64 " datapoints are no multiple of a batch of %" PRId64
                     ", or no divisor of the data set of %" PRId64,
                     logical, n, ds->n_data);
    }
    return 0;
}

static bool check_fit(float val_split, int64_t n_epochs) {
    if (!(val_split >= 0.0f && val_split < 1.0f))
        return tn_refuse("val_split is %g: it must be at least 0 and below 1", (double) val_split);
    return n_epochs >= 0 || tn_refuse("%" PRId64 " epochs", n_epochs);
}

static bool run_fit(struct fit * f, int64_t * epoch) {
    const bool some_shuffled = f->logical < f->split;
    if (f->logical < f->ds->n_data && !tn_dataset_shuffle(f->ds, &f->opt->shuffle, -1)) return false;
    for (*epoch = 1; *epoch <= f->n_epochs; ++*epoch) {
        if (some_shuffled && !tn_dataset_shuffle(f->ds, &f->opt->shuffle, f->split)) return false;
        ggml_opt_result_reset(f->train.result);
        ggml_opt_result_reset(f->eval.result);
        if (!f->silent) tn_progress_epoch(*epoch, f->n_epochs);
        if (!run_epoch(f->opt, f->ds, f->split, &f->train, &f->eval)) return false;
    }
    return true;
}

static bool open_results(struct fit * f) {
    f->train.result = ggml_opt_result_init();
    f->eval.result = f->train.result ? ggml_opt_result_init() : NULL;
    if (!f->silent) f->train.callback = f->eval.callback = ggml_opt_epoch_callback_progress_bar;
    return f->eval.result;
}

void ggml_opt_fit(ggml_backend_sched_t backend_sched, struct ggml_context * ctx_compute,
                  struct ggml_tensor * inputs, struct ggml_tensor * outputs, ggml_opt_dataset_t dataset,
                  enum ggml_opt_loss_type loss_type, enum ggml_opt_optimizer_type optimizer,
                  ggml_opt_get_optimizer_params get_opt_pars, int64_t nepoch, int64_t nbatch_logical,
                  float val_split, bool silent) {
    int64_t epoch = 1;
    const int64_t start = tn_clock_us();
    struct ggml_opt_params params = ggml_opt_default_params(backend_sched, loss_type);
    struct fit f = { .ds = dataset, .n_epochs = nepoch, .logical = nbatch_logical, .silent = silent };
    params.ctx_compute = ctx_compute;
    params.inputs = inputs;
    params.outputs = outputs;
    params.optimizer = optimizer;
    params.get_opt_pars = get_opt_pars;
    params.get_opt_pars_ud = &epoch;
    params.opt_period = find_period(inputs, dataset, nbatch_logical);
    bool done = params.opt_period > 0 && check_fit(val_split, nepoch);
    if (done) {
        const float n_logical = (float) (dataset->n_data / nbatch_logical);
        f.split = (int64_t) ((1.0f - val_split) * n_logical) * nbatch_logical;
        f.opt = ggml_opt_init(params);
        done = f.opt && open_results(&f) && run_fit(&f, &epoch);
    }
    if (!done) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
    } else if (!silent) {
        tn_progress_total(tn_clock_us() - start);
    }
    ggml_opt_result_free(f.eval.result);
    ggml_opt_result_free(f.train.result);
    ggml_opt_free(f.opt);
}
