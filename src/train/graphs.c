// SPDX-License-Identifier: MIT
// From a model's outputs to its loss, and from there to gradients and optimiser steps: plain builders of
// operators.
#include "base/compiler.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/graph.h"
#include "core/shape.h"
#include "train/opt_int.h"

// After additions: what was refused has left its text.
static bool is_whole(const struct ggml_cgraph * g) {
    return g->order != TN_GRAPH_INVALID;
}

// ---- kinds of loss --------------------------------------------------------------------------------------

static struct ggml_tensor * scaled(struct tn_graphs_model * m, struct ggml_tensor * x, double divisor) {
    return ggml_scale(m->ctx_results, x, (float) (1.0 / divisor));
}

static double elements(const struct tn_graphs_model * m) {
    return (double) ggml_nelements(m->outputs);
}

static struct ggml_tensor * mean(struct tn_graphs_model * m, int32_t period) {
    return scaled(m, ggml_sum(m->ctx, m->outputs), period * elements(m));
}

static struct ggml_tensor * sum(struct tn_graphs_model * m, int32_t period) {
    (void) period;
    return ggml_sum(m->ctx_results, m->outputs);
}

static struct ggml_tensor * cross_entropy(struct tn_graphs_model * m, int32_t period) {
    return scaled(m, ggml_cross_entropy_loss(m->ctx, m->outputs, m->labels), period);
}

static struct ggml_tensor * mean_squared_error(struct tn_graphs_model * m, int32_t period) {
    struct ggml_tensor * error = ggml_sub(m->ctx, m->outputs, m->labels);
    return scaled(m, ggml_sum(m->ctx, ggml_sqr(m->ctx, error)), period * elements(m));
}

static const struct tn_graphs_loss losses[] = {
    [GGML_OPT_LOSS_TYPE_MEAN] = { false, true, false, mean },
    [GGML_OPT_LOSS_TYPE_SUM] = { false, false, false, sum },
    [GGML_OPT_LOSS_TYPE_CROSS_ENTROPY] = { true, true, true, cross_entropy },
    [GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR] = { true, true, false, mean_squared_error },
};

const struct tn_graphs_loss * tn_graphs_loss_get(enum ggml_opt_loss_type type) {
    return (unsigned) type < TN_COUNT(losses) ? &losses[type] : NULL;
}

// ---- forward --------------------------------------------------------------------------------------------

static bool check_outputs(const struct ggml_tensor * outputs) {
    char text[TN_SHAPE_TENSOR_TEXT];
    tn_shape_tensor_text(text, outputs);
    if (outputs->type != GGML_TYPE_F32) return tn_refuse("the outputs %s must be f32", text);
    return !tn_shape_empty(outputs) || tn_refuse("the outputs %s are empty", text);
}

static bool check_flags(const struct ggml_cgraph * g) {
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i]->flags & GGML_TENSOR_FLAG_LOSS)
            return tn_refuse("'%s' is marked as a loss: the loss is added to the outputs", g->nodes[i]->name);
    }
    return true;
}

static void mark(struct tn_graphs_model * m) {
    if (m->inputs->op == GGML_OP_NONE) ggml_set_input(m->inputs);
    ggml_set_output(m->outputs);
}

static void add_result(struct ggml_cgraph * g, struct ggml_tensor * t, const char * name) {
    ggml_set_name(t, name);
    ggml_set_output(t);
    ggml_build_forward_expand(g, t);
}

static void add_predictions(struct tn_graphs_model * m, struct ggml_cgraph * g) {
    m->pred = ggml_argmax(m->ctx_results, m->outputs);
    m->ncorrect = ggml_count_equal(m->ctx_results, m->pred, ggml_argmax(m->ctx, m->labels));
    add_result(g, m->pred, "pred");
    add_result(g, m->ncorrect, "ncorrect");
}

bool tn_graphs_add_loss(const struct ggml_opt_params * params, struct tn_graphs_model * m,
                        struct ggml_cgraph * g) {
    const struct tn_graphs_loss * kind = tn_graphs_loss_get(params->loss_type);
    mark(m);
    ggml_build_forward_expand(g, m->outputs);
    if (!is_whole(g) || !check_outputs(m->outputs) || !check_flags(g)) return false;
    m->labels = m->pred = m->ncorrect = NULL;
    if (kind->has_labels) {
        m->labels = ggml_set_name(ggml_dup_tensor(m->ctx_results, m->outputs), "labels");
        ggml_set_input(m->labels);
    }
    m->loss = kind->build(m, params->opt_period);
    ggml_set_loss(m->loss);
    add_result(g, m->loss, "loss");
    if (kind->predicts) add_predictions(m, g);
    return is_whole(g);
}

// ---- backward -------------------------------------------------------------------------------------------

static void choose_accumulators(const struct ggml_cgraph * g, const struct tn_state * state,
                                struct ggml_tensor ** accs) {
    int p = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const int32_t flags = g->nodes[i]->flags;
        if (flags & GGML_TENSOR_FLAG_LOSS) accs[i] = state->one;
        if (flags & GGML_TENSOR_FLAG_PARAM) accs[i] = state->params[p++].acc;
    }
}

bool tn_graphs_add_gradients(struct ggml_context * ctx, struct ggml_cgraph * g, struct tn_state * state) {
    struct ggml_tensor ** accs = tn_mem_calloc((size_t) g->n_nodes, sizeof(*accs), TN_MEM_GRAPH);
    if (!accs) return false;
    choose_accumulators(g, state, accs);
    ggml_build_backward_expand(ctx, g, accs);
    tn_mem_free(accs);
    return is_whole(g);
}

// A parameter on which the loss does not depend has no gradient, or an accumulator to which nothing is added.
bool tn_graphs_add_steps(struct ggml_context * ctx, struct ggml_cgraph * g, const struct tn_state * state,
                         const struct tn_optimizer * optimizer) {
    int p = 0;
    const int n_nodes = g->n_nodes;
    for (int i = 0; i < n_nodes; i++) {
        struct ggml_tensor * param = g->nodes[i];
        if (!(param->flags & GGML_TENSOR_FLAG_PARAM)) continue;
        const struct tn_state_param * s = &state->params[p++];
        struct ggml_tensor * grad = ggml_graph_get_grad(g, param);
        if (!grad || grad == s->acc) continue;
        const struct tn_optimizer_step step = { param, grad, s->moments, state->step };
        struct ggml_tensor * result = optimizer->step(ctx, &step);
        ggml_format_name(result, "step of %s", param->name);
        ggml_build_forward_expand(g, result);
    }
    return is_whole(g);
}
