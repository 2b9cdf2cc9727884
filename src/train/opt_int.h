// SPDX-License-Identifier: MIT
// What the files of this folder share: a training context and its parts.
//
//     dataset.c    rows of data and labels           optimizer.c  what a step needs, by optimiser
//     graphs.c     loss, backward graph, steps       state.c      accumulators and moments, by parameter
//     copy.c       private copies of static graphs   result.c     what comes out
//     opt.c        the context: one batch            fit.c        loops; progress.c shows them
#ifndef TN_TRAIN_OPT_INT_H
#define TN_TRAIN_OPT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "ggml-opt.h"
#include "train/shuffle_int.h"

// ---- data sets ------------------------------------------------------------------------------------------

struct ggml_opt_dataset {
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor * data;
    struct ggml_tensor * labels; // NULL: without
    int64_t n_data;
    int64_t shard; // datapoints that stay together
    int64_t n_shards;
    size_t data_size; // bytes of a shard
    size_t labels_size;
    int64_t * order; // of shards
};

// ggml_opt_dataset_get_batch and _shuffle with an answer; false with a text.
bool tn_dataset_get_batch(const struct ggml_opt_dataset * ds, struct ggml_tensor * data,
                          struct ggml_tensor * labels, int64_t ibatch);
bool tn_dataset_shuffle(struct ggml_opt_dataset * ds, struct tn_shuffle * shuffle, int64_t n_data);

// ---- optimisers -----------------------------------------------------------------------------------------

enum { TN_OPTIMIZER_MOMENTS = 2, TN_OPTIMIZER_PARAMS = 8 };

// A step on one parameter.
struct tn_optimizer_step {
    struct ggml_tensor * param;
    struct ggml_tensor * grad;
    struct ggml_tensor * const * moments;
    struct ggml_tensor * params; // n_params values of f32
};

struct tn_optimizer {
    const char * name;
    int n_moments; // tensors of the parameter's shape that are kept between steps
    int n_params;
    // The values of step number iter, which counts from 1. false with a text: one is out of range.
    bool (*write)(const struct ggml_opt_optimizer_params * from, int64_t iter, float * params);
    struct ggml_tensor * (*step)(struct ggml_context * ctx, const struct tn_optimizer_step * s);
};

// NULL for a number that is none.
const struct tn_optimizer * tn_optimizer_get(enum ggml_opt_optimizer_type type);

// ---- what stays between batches -------------------------------------------------------------------------

struct tn_state_param {
    const struct ggml_tensor * param; // of the present graph
    const void * data;                // by which it is known again
    struct ggml_tensor * acc;         // NULL: gradients are not added up
    struct ggml_tensor * moments[TN_OPTIMIZER_MOMENTS];
};

enum { TN_STATE_HOMES = 16 }; // back ends of a scheduler

// Memory that one back end of the scheduler can use.
struct tn_state_home {
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
};

struct tn_state {
    struct tn_state_home homes[TN_STATE_HOMES];
    struct tn_state_param * params; // in the order of the graph; NULL before the first backward graph
    int n_params;
    struct ggml_tensor * one;  // gradient of the loss
    struct ggml_tensor * step; // parameters of the optimiser step; NULL: none is ever done
};

// ---- graphs ---------------------------------------------------------------------------------------------

enum tn_graphs_level { TN_GRAPHS_FORWARD, TN_GRAPHS_GRAD, TN_GRAPHS_OPT, TN_GRAPHS_LEVELS };

// The model as it was given, and what is built upon it.
struct tn_graphs_model {
    struct ggml_context * ctx;         // for intermediate results and graphs
    struct ggml_context * ctx_results; // for labels, loss, pred and ncorrect
    struct ggml_tensor * inputs;
    struct ggml_tensor * outputs;
    struct ggml_tensor * labels;
    struct ggml_tensor * loss;
    struct ggml_tensor * pred;
    struct ggml_tensor * ncorrect;
};

// What a kind of loss is, beside its formula.
struct tn_graphs_loss {
    bool has_labels;
    bool per_datapoint; // divided by the period, so that a period's sum is the mean over its batches
    bool predicts;      // rows of outputs are classes
    struct ggml_tensor * (*build)(struct tn_graphs_model * m, int32_t period);
};

// NULL for a number that is none.
const struct tn_graphs_loss * tn_graphs_loss_get(enum ggml_opt_loss_type type);

// Adds loss, predictions and labels of m->outputs to the graph. false with a text.
bool tn_graphs_add_loss(const struct ggml_opt_params * params, struct tn_graphs_model * m,
                        struct ggml_cgraph * g);

// Adds gradients, and one optimiser step for each parameter that has one. The graph has room for gradients.
bool tn_graphs_add_gradients(struct ggml_context * ctx, struct ggml_cgraph * g, struct tn_state * state);
bool tn_graphs_add_steps(struct ggml_context * ctx, struct ggml_cgraph * g, const struct tn_state * state,
                         const struct tn_optimizer * optimizer);

// ---- contexts -------------------------------------------------------------------------------------------

// A static graph is kept as it was built, apart from the tensors of the caller, who may go on to use them; a
// scheduler changes what it allocates, so that it gets a copy of that each time.
struct tn_copy {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
};

// Tensors without operator that have memory are shared, everything else is copied; results with memory keep
// it. false with a text. An earlier copy is freed in any case.
bool tn_copy_make(struct tn_copy * copy, struct ggml_cgraph * g);
void tn_copy_free(struct tn_copy * copy);

enum { TN_OPT_RESULTS = 4 }; // labels, loss, pred, ncorrect

struct ggml_opt_context {
    struct ggml_opt_params params;
    const struct tn_graphs_loss * loss;
    const struct tn_optimizer * optimizer;
    bool is_static;
    bool adds_up; // gradients have accumulators
    struct tn_shuffle shuffle;
    struct tn_graphs_model model;
    struct tn_state state;

    // Static graphs: memory of the model's results, the graphs as they are kept, the one that is allocated.
    ggml_backend_buffer_t results[TN_OPT_RESULTS];
    struct tn_copy kept[TN_GRAPHS_LEVELS];
    struct tn_copy allocated;

    // Dynamic graphs: the caller's, until it is evaluated.
    struct ggml_cgraph * given;

    struct ggml_cgraph * graph; // that an evaluation computes
    enum tn_graphs_level level; // its
    bool ready;                 // allocated and not evaluated yet
    bool zero_due;              // accumulators hold what is over
    int32_t batch;              // of the period, from 0
    int64_t iter;               // of the next optimiser step, from 1
};

// For an optimiser step or gradients in the present graph: makes accumulators and moments, or finds those of
// before. false with a text.
bool tn_state_prepare(struct ggml_opt_context * opt, const struct ggml_cgraph * g);
void tn_state_zero_gradients(struct tn_state * state);
void tn_state_zero_moments(struct tn_state * state);
void tn_state_free(struct tn_state * state);

// ggml_opt_alloc and ggml_opt_eval with an answer; false with a text.
bool tn_opt_alloc(struct ggml_opt_context * opt, bool backward);
bool tn_opt_eval(struct ggml_opt_context * opt, struct ggml_opt_result * result);

// Takes an allocation back that is not evaluated.
void tn_opt_cancel(struct ggml_opt_context * opt);

// ---- results --------------------------------------------------------------------------------------------

// What all batches of a result have in common.
struct tn_result_kind {
    int64_t batch;
    int64_t period;
    bool per_datapoint;
    bool predicts;
};

// Makes room for one more batch. false with a text: another kind than before, or no memory.
bool tn_result_reserve(struct ggml_opt_result * result, const struct tn_result_kind * kind);

// Adds the values of a batch for which there is room.
void tn_result_add(struct ggml_opt_result * result, const struct ggml_opt_context * opt);

#endif
