// SPDX-License-Identifier: MIT
//
// Training: data sets, losses, optimisers, and loops over epochs. Everything runs through a scheduler.
//
// From the outside in:
//
//     ggml_opt_fit     trains a model on a data set in one call
//     ggml_opt_epoch   one pass over a data set, part training, part validation
//     ggml_opt_alloc, ggml_opt_eval   one batch
//
// A "datapoint" is one input with its label, a "batch" what one evaluation of the graph takes: inputs->ne[1]
// datapoints (the second dimension counts datapoints, in inputs, outputs and labels). Gradients of
// `opt_period` batches are added up before an optimiser step; together these are a "logical batch".
//
// Errors: a refused call does nothing, returns NULL or false where it can, and leaves its reason in
// ggml_ext_last_error(). After a failed allocation or computation the result is left as it was.
// Ownership: contexts, data sets and results belong to the caller, who frees them; freeing NULL does nothing.
// Tensors that are returned are lent, and the scheduler is borrowed.
// Threads: each object is used by one thread at a time.
#pragma once

#include "ggml.h"
#include "ggml-backend.h"

// clang-format off: declarations are aligned by hand

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggml_opt_dataset * ggml_opt_dataset_t;
typedef struct ggml_opt_context * ggml_opt_context_t;
typedef struct ggml_opt_result  * ggml_opt_result_t;

// -----------------------------------------------------------------------------------------------------------
// Losses
// -----------------------------------------------------------------------------------------------------------

// o: the outputs, with N elements; l: labels of the same shape; P: opt_period.
enum ggml_opt_loss_type {
    GGML_OPT_LOSS_TYPE_MEAN               = 0, // sum(o) / (P * N); no labels
    GGML_OPT_LOSS_TYPE_SUM                = 1, // sum(o), not divided by P; no labels
    GGML_OPT_LOSS_TYPE_CROSS_ENTROPY      = 2, // -sum(l * log(softmax(o))) / rows / P; l: probabilities
    GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR = 3, // sum((o - l)^2) / (P * N)
};

// -----------------------------------------------------------------------------------------------------------
// Data sets
// -----------------------------------------------------------------------------------------------------------
//
// Two tensors in host memory: data [ne_datapoint, ndata] and labels [ne_label, ndata]. Datapoints are
// shuffled in shards of `ndata_shard` neighbours; a remainder that fills no shard is never used.

// A new data set with undefined contents, which the caller fills in.
// ne_label = 0: without labels. NULL for sizes below 1 or without memory.
GGML_API ggml_opt_dataset_t ggml_opt_dataset_init(enum ggml_type type_data, enum ggml_type type_label,
                                                  int64_t ne_datapoint, int64_t ne_label, int64_t ndata,
                                                  int64_t ndata_shard);
GGML_API void               ggml_opt_dataset_free(ggml_opt_dataset_t dataset);

GGML_API int64_t              ggml_opt_dataset_ndata (ggml_opt_dataset_t dataset);
GGML_API struct ggml_tensor * ggml_opt_dataset_data  (ggml_opt_dataset_t dataset);
GGML_API struct ggml_tensor * ggml_opt_dataset_labels(ggml_opt_dataset_t dataset); // NULL: without labels

// Puts the shards of the first `idata` datapoints (a multiple of the shard; negative: all) into a new order,
// drawn from the generator of `opt_ctx`, which always starts the same, so runs repeat.
GGML_API void ggml_opt_dataset_shuffle(ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset, int64_t idata);

// Copies batch `ibatch`, in the present order of shards, into tensors or into host memory. The
// size of `data_batch` (bytes) decides how many shards a batch has, which must come out whole;
// labels are given exactly if there are any.
GGML_API void ggml_opt_dataset_get_batch     (ggml_opt_dataset_t dataset, struct ggml_tensor * data_batch,
                                              struct ggml_tensor * labels_batch, int64_t ibatch);
GGML_API void ggml_opt_dataset_get_batch_host(ggml_opt_dataset_t dataset, void * data_batch,
                                              size_t nb_data_batch, void * labels_batch, int64_t ibatch);

// -----------------------------------------------------------------------------------------------------------
// Optimisers
// -----------------------------------------------------------------------------------------------------------

enum ggml_opt_optimizer_type {
    GGML_OPT_OPTIMIZER_TYPE_ADAMW = 0, // Adam, decoupled weight decay (Loshchilov, Hutter, arXiv:1711.05101)
    GGML_OPT_OPTIMIZER_TYPE_SGD   = 1, // plain gradient steps with decoupled weight decay
    GGML_OPT_OPTIMIZER_TYPE_COUNT
};

// "adamw", "sgd", and "undefined" for anything else.
GGML_API const char * ggml_opt_optimizer_name(enum ggml_opt_optimizer_type optimizer);

struct ggml_opt_optimizer_params {
    struct {
        float alpha; // learning rate, above 0
        float beta1; // decay of the first moment, 0 to below 1
        float beta2; // decay of the second
        float eps;   // added to the root of the second moment, at least 0
        float wd;    // weight decay, 0 to 1; 0 is none
    } adamw;
    struct {
        float alpha; // learning rate, above 0
        float wd;    // weight decay
    } sgd;
};

// Asked once before every optimiser step, so that rates can follow a schedule.
typedef struct ggml_opt_optimizer_params (*ggml_opt_get_optimizer_params)(void * userdata);

// default:  adamw 1e-3, 0.9, 0.999, 1e-8, 0 and sgd 1e-3, 0; `userdata` is not looked at.
// constant: what `userdata`, a struct ggml_opt_optimizer_params *, points at.
GGML_API struct ggml_opt_optimizer_params ggml_opt_get_default_optimizer_params (void * userdata);
GGML_API struct ggml_opt_optimizer_params ggml_opt_get_constant_optimizer_params(void * userdata);

// -----------------------------------------------------------------------------------------------------------
// Contexts
// -----------------------------------------------------------------------------------------------------------

// How much of the graph is built. Given to a context, it is the most that the context can do.
enum ggml_opt_build_type {
    GGML_OPT_BUILD_TYPE_FORWARD = 10, // outputs and loss
    GGML_OPT_BUILD_TYPE_GRAD    = 20, // and gradients
    GGML_OPT_BUILD_TYPE_OPT     = 30, // and the optimiser step
};

struct ggml_opt_params {
    ggml_backend_sched_t          backend_sched;
    // Static graph: the context with the model's tensors, its inputs and its outputs. It is built once.
    // Dynamic graph: all three NULL; each batch brings its own, see ggml_opt_prepare_alloc().
    struct ggml_context         * ctx_compute;
    struct ggml_tensor          * inputs;
    struct ggml_tensor          * outputs;
    enum ggml_opt_loss_type       loss_type;
    enum ggml_opt_build_type      build_type;
    int32_t                       opt_period;      // batches for one optimiser step, at least 1
    ggml_opt_get_optimizer_params get_opt_pars;
    void                        * get_opt_pars_ud; // its argument
    enum ggml_opt_optimizer_type  optimizer;
};

// Build type OPT, period 1, default parameters of AdamW, a dynamic graph. Change what is to be different.
GGML_API struct ggml_opt_params ggml_opt_default_params(ggml_backend_sched_t backend_sched,
                                                        enum ggml_opt_loss_type loss_type);

// A new context. For a static graph, inputs and parameters (ggml_set_param) already have memory;
// intermediate results get theirs in a private copy of the graph, so read what the functions below return,
// not `outputs`. NULL when something does not fit.
GGML_API ggml_opt_context_t ggml_opt_init(struct ggml_opt_params params);
GGML_API void               ggml_opt_free(ggml_opt_context_t opt_ctx);

// Sets accumulated gradients to 0; with `optimizer` also the moments, and the count of steps starts again.
GGML_API void ggml_opt_reset(ggml_opt_context_t opt_ctx, bool optimizer);

GGML_API bool ggml_opt_static_graphs(ggml_opt_context_t opt_ctx);

// Tensors of the present graph. With dynamic graphs they are valid until the next ggml_opt_alloc().
//
// labels:    of the shape of the outputs; set it before an evaluation. NULL for losses without labels.
// loss:      one F32 value.
// pred:      I32, for each row of the outputs the index of the largest value; cross
//            entropy only, otherwise NULL.
// ncorrect:  one I64 value, the rows whose prediction is that of the labels; cross
//            entropy only, otherwise NULL.
// grad_acc:  where the gradient of `node` is added up; NULL if it has none, as in a static graph with a step
//            for every batch.
GGML_API struct ggml_tensor * ggml_opt_inputs  (ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_outputs (ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_labels  (ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_loss    (ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_pred    (ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_ncorrect(ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_grad_acc(ggml_opt_context_t opt_ctx, struct ggml_tensor * node);

GGML_API enum ggml_opt_optimizer_type ggml_opt_context_optimizer_type(ggml_opt_context_t opt_ctx);

// -----------------------------------------------------------------------------------------------------------
// Results
// -----------------------------------------------------------------------------------------------------------
//
// Collected over evaluations of one context. `unc` is the standard error, for the sum of losses the standard
// deviation of one; NaN with fewer than two evaluations (accuracy: datapoints). Every pointer may be NULL.

GGML_API ggml_opt_result_t ggml_opt_result_init (void);
GGML_API void              ggml_opt_result_free (ggml_opt_result_t result);
GGML_API void              ggml_opt_result_reset(ggml_opt_result_t result);

// ndata:    number of datapoints.
// loss:     the mean over batches, or the sum for the loss of that name.
// pred:     all predictions in order; room for ndata values. Nothing is written where the loss has none.
// accuracy: share of correct predictions, 0 to 1; NaN where the loss has none.
GGML_API void ggml_opt_result_ndata   (ggml_opt_result_t result, int64_t * ndata);
GGML_API void ggml_opt_result_loss    (ggml_opt_result_t result, double * loss, double * unc);
GGML_API void ggml_opt_result_pred    (ggml_opt_result_t result, int32_t * pred);
GGML_API void ggml_opt_result_accuracy(ggml_opt_result_t result, double * accuracy, double * unc);

// -----------------------------------------------------------------------------------------------------------
// One batch
// -----------------------------------------------------------------------------------------------------------
//
//     ggml_opt_prepare_alloc(opt, ctx, graph, inputs, outputs);   // dynamic graphs only
//     ggml_opt_alloc(opt, true);
//     // set the inputs and ggml_opt_labels(opt)
//     ggml_opt_eval(opt, result);

// The graph for the next batch. `gf` holds the outputs and has room for gradients; the n-th parameter must be
// the same in every graph, since gradients and moments stay in the context.
GGML_API void ggml_opt_prepare_alloc(ggml_opt_context_t opt_ctx, struct ggml_context * ctx_compute,
                                     struct ggml_cgraph * gf, struct ggml_tensor * inputs,
                                     struct ggml_tensor * outputs);

// Builds and allocates, exactly once before each evaluation. backward = false: loss only. true: gradients as
// well, and in every opt_period-th evaluation the optimiser step. Evaluations without gradients count for the
// period too: keep their number a multiple of it. Gradients start at 0 in every period.
GGML_API void ggml_opt_alloc(ggml_opt_context_t opt_ctx, bool backward);

// Computes, and adds the outcome to `result` (may be NULL). A result takes batches of one size, period and
// kind of loss. A refusal takes the allocation back; a computation that fails on the way spoils the gradients,
// so that the period starts again.
GGML_API void ggml_opt_eval(ggml_opt_context_t opt_ctx, ggml_opt_result_t result);

// -----------------------------------------------------------------------------------------------------------
// Loops
// -----------------------------------------------------------------------------------------------------------

// Called after each batch. ibatch counts from 1 to ibatch_max within the training or the validation part,
// which began at t_start_us (ggml_time_us).
typedef void (*ggml_opt_epoch_callback)(bool train, ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset,
                                        ggml_opt_result_t result, int64_t ibatch, int64_t ibatch_max,
                                        int64_t t_start_us);

// A callback that keeps one line on stderr up to date: bar, datapoints, loss, accuracy, time and estimate.
GGML_API void ggml_opt_epoch_callback_progress_bar(bool train, ggml_opt_context_t opt_ctx,
                                                   ggml_opt_dataset_t dataset, ggml_opt_result_t result,
                                                   int64_t ibatch, int64_t ibatch_max, int64_t t_start_us);

// One pass over `dataset`, with a static graph: training on the first `idata_split` datapoints
// (negative: on all), evaluation on the rest. Both numbers are multiples of the batch. Results, which
// are added to, and callbacks may be NULL.
GGML_API void ggml_opt_epoch(ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset,
                             ggml_opt_result_t result_train, ggml_opt_result_t result_eval,
                             int64_t idata_split, ggml_opt_epoch_callback callback_train,
                             ggml_opt_epoch_callback callback_eval);

// Trains a model: `nepoch` passes, shuffled before each.
//
// ctx_compute, inputs, outputs: the static graph. A failure ends the training with its reason; the parameters
//                 are what they were then.
// get_opt_pars:   gets a pointer to the number of the epoch, an int64_t that counts from 1.
// nbatch_logical: datapoints for one optimiser step; a multiple of the batch, and a divisor of the data set.
// val_split:      share of the data set kept for validation, 0 to below 1, in whole
//                 logical batches from the end.
// silent:         no progress on stderr.
GGML_API void ggml_opt_fit(ggml_backend_sched_t backend_sched, struct ggml_context * ctx_compute,
                           struct ggml_tensor * inputs, struct ggml_tensor * outputs,
                           ggml_opt_dataset_t dataset, enum ggml_opt_loss_type loss_type,
                           enum ggml_opt_optimizer_type optimizer, ggml_opt_get_optimizer_params get_opt_pars,
                           int64_t nepoch, int64_t nbatch_logical, float val_split, bool silent);

#ifdef __cplusplus
}
#endif
