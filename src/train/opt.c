// SPDX-License-Identifier: MIT
// A training context: how one batch is allocated and evaluated.
//
// Gradients of `opt_period` batches are one period. Within it the level of the graph says what a batch does:
//
//     batch of the period    0      1     ...   P-1          backward = false, any batch
//     level                 GRAD   GRAD   ...   OPT          FORWARD
//
// Accumulators are set to 0 before the first gradients of a period, not behind the step, so that a caller can
// read them. A computation that fails in between leaves them undefined: the period then starts again.
#include <inttypes.h>

#include "backend/iface.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/graph.h"
#include "train/opt_int.h"

struct ggml_opt_params ggml_opt_default_params(ggml_backend_sched_t backend_sched,
                                               enum ggml_opt_loss_type loss_type) {
    return (struct ggml_opt_params){
        .backend_sched = backend_sched,
        .loss_type = loss_type,
        .build_type = GGML_OPT_BUILD_TYPE_OPT,
        .opt_period = 1,
        .get_opt_pars = ggml_opt_get_default_optimizer_params,
        .optimizer = GGML_OPT_OPTIMIZER_TYPE_ADAMW,
    };
}

// ---- life -----------------------------------------------------------------------------------------------

static bool check_model(const struct ggml_tensor * inputs, const struct ggml_tensor * outputs) {
    if (!inputs || !outputs) return tn_refuse("the %s are NULL", inputs ? "outputs" : "inputs");
    if (tn_tensor_is_poisoned(inputs)) return tn_refuse("%s", tn_context_poison_text(inputs));
    return !tn_tensor_is_poisoned(outputs) || tn_refuse("%s", tn_context_poison_text(outputs));
}

static bool check_static(const struct ggml_opt_params * p) {
    if (!p->ctx_compute && !p->inputs && !p->outputs) return true;
    if (!p->ctx_compute) return tn_refuse("the context of the static graph is NULL");
    if (!check_model(p->inputs, p->outputs)) return false;
    return p->inputs->data || tn_refuse("the inputs '%s' have no memory", p->inputs->name);
}

static bool check_params(const struct ggml_opt_params * p) {
    if (!p->backend_sched) return tn_refuse("the scheduler is NULL");
    if (!tn_graphs_loss_get(p->loss_type)) return tn_refuse("there is no loss %d", (int) p->loss_type);
    if (p->build_type != GGML_OPT_BUILD_TYPE_FORWARD && p->build_type != GGML_OPT_BUILD_TYPE_GRAD &&
        p->build_type != GGML_OPT_BUILD_TYPE_OPT)
        return tn_refuse("there is no build type %d", (int) p->build_type);
    if (p->opt_period < 1) return tn_refuse("a period of %" PRId32 " batches", p->opt_period);
    if (!tn_optimizer_get(p->optimizer)) return tn_refuse("there is no optimizer %d", (int) p->optimizer);
    if (p->build_type == GGML_OPT_BUILD_TYPE_OPT && !p->get_opt_pars)
        return tn_refuse("get_opt_pars is NULL");
    return check_static(p);
}

// Forward nodes with loss, gradients and steps; each makes two tensors at most that are no nodes.
enum { GRAPH_SIZE = 4 * GGML_DEFAULT_GRAPH_SIZE, TENSORS = 2 * GRAPH_SIZE };

static bool open_model(struct tn_graphs_model * m, const struct ggml_opt_params * p) {
    const size_t size = TENSORS * ggml_tensor_overhead() + ggml_graph_overhead_custom(GRAPH_SIZE, true);
    m->inputs = p->inputs;
    m->outputs = p->outputs;
    m->ctx = ggml_init((struct ggml_init_params){ size, NULL, true });
    if (!m->ctx) return false;
    m->ctx_results =
        ggml_init((struct ggml_init_params){ TN_OPT_RESULTS * ggml_tensor_overhead(), NULL, true });
    return m->ctx_results;
}

// In memory of the first back end that computes it; the last is the CPU.
static ggml_backend_buffer_t allocate_result(ggml_backend_sched_t sched, struct ggml_tensor * t) {
    int i = 0;
    const int last = ggml_backend_sched_get_n_backends(sched) - 1;
    while (i < last && !ggml_backend_supports_op(ggml_backend_sched_get_backend(sched, i), t))
        i++;
    ggml_backend_t backend = ggml_backend_sched_get_backend(sched, i);
    ggml_backend_buffer_type_t buft = ggml_backend_sched_get_buffer_type(sched, backend);
    ggml_backend_buffer_t buffer =
        ggml_backend_buft_alloc_buffer(buft, ggml_backend_buft_get_alloc_size(buft, t));
    if (!buffer) return NULL;
    struct ggml_tallocr talloc = ggml_tallocr_new(buffer);
    if (ggml_tallocr_alloc(&talloc, t) == GGML_STATUS_SUCCESS) return buffer;
    ggml_backend_buffer_free(buffer);
    return NULL;
}

static bool allocate_results(struct ggml_opt_context * opt) {
    struct ggml_context * ctx = opt->model.ctx_results;
    int i = 0;
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        opt->results[i] = allocate_result(opt->params.backend_sched, t);
        if (!opt->results[i++]) return false;
    }
    return true;
}

// One graph grows from level to level; what each level is, is kept.
static bool build_static(struct ggml_opt_context * opt) {
    struct tn_graphs_model * m = &opt->model;
    const enum ggml_opt_build_type build = opt->params.build_type;
    if (!open_model(m, &opt->params)) return false;
    struct ggml_cgraph * g = ggml_new_graph_custom(m->ctx, GRAPH_SIZE, true);
    if (!tn_graphs_add_loss(&opt->params, m, g) || !allocate_results(opt)) return false;
    if (!tn_copy_make(&opt->kept[TN_GRAPHS_FORWARD], g)) return false;
    if (build == GGML_OPT_BUILD_TYPE_FORWARD) return true;
    if (!tn_state_prepare(opt, g) || !tn_graphs_add_gradients(m->ctx, g, &opt->state)) return false;
    if (!tn_copy_make(&opt->kept[TN_GRAPHS_GRAD], g)) return false;
    if (build == GGML_OPT_BUILD_TYPE_GRAD) return true;
    return tn_graphs_add_steps(m->ctx, g, &opt->state, opt->optimizer) &&
           tn_copy_make(&opt->kept[TN_GRAPHS_OPT], g);
}

ggml_opt_context_t ggml_opt_init(struct ggml_opt_params params) {
    struct ggml_opt_context * opt = NULL;
    if (!check_params(&params)) goto fail;
    opt = tn_mem_calloc(1, sizeof(*opt), TN_MEM_OBJECT);
    if (!opt) goto fail;
    opt->params = params;
    opt->loss = tn_graphs_loss_get(params.loss_type);
    opt->optimizer = tn_optimizer_get(params.optimizer);
    opt->is_static = params.ctx_compute;
    opt->adds_up = !opt->is_static || params.build_type != GGML_OPT_BUILD_TYPE_OPT || params.opt_period > 1;
    opt->zero_due = true;
    opt->iter = 1;
    tn_shuffle_init(&opt->shuffle);
    if (!opt->is_static || build_static(opt)) return opt;
fail:
    tn_iface_refuse(__func__, "%s", tn_error_text());
    ggml_opt_free(opt);
    return NULL;
}

void ggml_opt_free(ggml_opt_context_t opt_ctx) {
    if (!opt_ctx) return;
    tn_copy_free(&opt_ctx->allocated);
    for (int i = TN_GRAPHS_LEVELS - 1; i >= 0; i--)
        tn_copy_free(&opt_ctx->kept[i]);
    tn_state_free(&opt_ctx->state);
    for (int i = TN_OPT_RESULTS - 1; i >= 0; i--)
        ggml_backend_buffer_free(opt_ctx->results[i]);
    if (opt_ctx->is_static) {
        ggml_free(opt_ctx->model.ctx_results);
        ggml_free(opt_ctx->model.ctx);
    }
    tn_mem_free(opt_ctx);
}

void ggml_opt_reset(ggml_opt_context_t opt_ctx, bool optimizer) {
    if (!opt_ctx) {
        tn_iface_refuse(__func__, "the context is NULL");
        return;
    }
    tn_state_zero_gradients(&opt_ctx->state);
    if (!optimizer) return;
    tn_state_zero_moments(&opt_ctx->state);
    opt_ctx->iter = 1;
}

// ---- the graph of a batch -------------------------------------------------------------------------------

void ggml_opt_prepare_alloc(ggml_opt_context_t opt_ctx, struct ggml_context * ctx_compute,
                            struct ggml_cgraph * gf, struct ggml_tensor * inputs,
                            struct ggml_tensor * outputs) {
    if (!opt_ctx || !ctx_compute) {
        tn_iface_refuse(__func__, "the %s is NULL", opt_ctx ? "context of the graph" : "training context");
        return;
    }
    if (opt_ctx->is_static) {
        tn_iface_refuse(__func__, "the training context has a static graph");
        return;
    }
    if (!tn_graph_usable(gf) || !check_model(inputs, outputs)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
        return;
    }
    opt_ctx->model = (struct tn_graphs_model){
        .ctx = ctx_compute, .ctx_results = ctx_compute, .inputs = inputs, .outputs = outputs
    };
    opt_ctx->given = gf;
    opt_ctx->graph = NULL;
    opt_ctx->ready = false;
}

static bool choose_level(const struct ggml_opt_context * opt, bool backward, enum tn_graphs_level * level) {
    const enum ggml_opt_build_type build = opt->params.build_type;
    if (opt->ready) return tn_refuse("the batch before was not evaluated");
    *level = TN_GRAPHS_FORWARD;
    if (!backward) return true;
    if (build == GGML_OPT_BUILD_TYPE_FORWARD)
        return tn_refuse("the context was made for forward evaluation only");
    const bool step = build == GGML_OPT_BUILD_TYPE_OPT && opt->batch + 1 == opt->params.opt_period;
    *level = step ? TN_GRAPHS_OPT : TN_GRAPHS_GRAD;
    return true;
}

// A scheduler forgets a graph when it is reset, by whomever.
static bool is_allocated(const struct ggml_opt_context * opt) {
    const struct ggml_cgraph * g = opt->graph;
    return g && ggml_backend_sched_get_tensor_backend(opt->params.backend_sched, g->nodes[g->n_nodes - 1]);
}

static bool allocate(struct ggml_opt_context * opt, struct ggml_cgraph * g, enum tn_graphs_level level) {
    opt->graph = NULL;
    ggml_backend_sched_reset(opt->params.backend_sched);
    if (!ggml_backend_sched_alloc_graph(opt->params.backend_sched, g)) return false;
    opt->graph = g;
    opt->level = level;
    return true;
}

static bool allocate_static(struct ggml_opt_context * opt, enum tn_graphs_level level) {
    if (is_allocated(opt) && opt->level == level) return true;
    opt->graph = NULL;
    return tn_copy_make(&opt->allocated, opt->kept[level].graph) &&
           allocate(opt, opt->allocated.graph, level);
}

static bool allocate_dynamic(struct ggml_opt_context * opt, enum tn_graphs_level level) {
    struct tn_graphs_model * m = &opt->model;
    struct ggml_cgraph * given = opt->given;
    if (!given) return tn_refuse("ggml_opt_prepare_alloc() comes first");
    opt->given = NULL; // can be built upon once
    struct ggml_cgraph * g = ggml_graph_dup(m->ctx, given, level > TN_GRAPHS_FORWARD);
    if (!tn_graph_usable(g) || !tn_graphs_add_loss(&opt->params, m, g)) return false;
    if (level >= TN_GRAPHS_GRAD &&
        !(tn_state_prepare(opt, g) && tn_graphs_add_gradients(m->ctx, g, &opt->state)))
        return false;
    if (level >= TN_GRAPHS_OPT && !tn_graphs_add_steps(m->ctx, g, &opt->state, opt->optimizer)) return false;
    return allocate(opt, g, level);
}

bool tn_opt_alloc(struct ggml_opt_context * opt, bool backward) {
    enum tn_graphs_level level;
    if (!choose_level(opt, backward, &level)) return false;
    if (!(opt->is_static ? allocate_static(opt, level) : allocate_dynamic(opt, level))) return false;
    if (level > TN_GRAPHS_FORWARD && opt->zero_due) {
        tn_state_zero_gradients(&opt->state);
        opt->zero_due = false;
    }
    opt->ready = true;
    return true;
}

void ggml_opt_alloc(ggml_opt_context_t opt_ctx, bool backward) {
    if (!opt_ctx) {
        tn_iface_refuse(__func__, "the context is NULL");
    } else if (!tn_opt_alloc(opt_ctx, backward)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
    }
}

void tn_opt_cancel(struct ggml_opt_context * opt) {
    opt->ready = false;
}

// ---- evaluation -----------------------------------------------------------------------------------------

static bool reserve_result(const struct ggml_opt_context * opt, struct ggml_opt_result * result) {
    const struct tn_result_kind kind = { .batch = opt->model.outputs->ne[1],
                                         .period = opt->params.opt_period,
                                         .per_datapoint = opt->loss->per_datapoint,
                                         .predicts = opt->loss->predicts };
    return !result || tn_result_reserve(result, &kind);
}

static bool prepare_step(struct ggml_opt_context * opt) {
    float values[TN_OPTIMIZER_PARAMS];
    if (opt->level != TN_GRAPHS_OPT) return true;
    const struct ggml_opt_optimizer_params p = opt->params.get_opt_pars(opt->params.get_opt_pars_ud);
    if (!opt->optimizer->write(&p, opt->iter, values)) return false;
    ggml_backend_tensor_set(opt->state.step, values, 0, (size_t) opt->optimizer->n_params * sizeof(float));
    return true;
}

static bool compute(struct ggml_opt_context * opt) {
    const enum ggml_status status = ggml_backend_sched_graph_compute(opt->params.backend_sched, opt->graph);
    if (status == GGML_STATUS_SUCCESS) return true;
    tn_error_prefix("%s", ggml_status_to_string(status));
    if (opt->level > TN_GRAPHS_FORWARD) {
        opt->batch = 0;
        opt->zero_due = true;
    }
    return false;
}

static void count(struct ggml_opt_context * opt) {
    opt->iter += opt->level == TN_GRAPHS_OPT;
    opt->batch = (opt->batch + 1) % opt->params.opt_period;
    if (opt->batch == 0) opt->zero_due = true;
}

bool tn_opt_eval(struct ggml_opt_context * opt, struct ggml_opt_result * result) {
    if (!opt->ready) return tn_refuse("ggml_opt_alloc() comes first");
    opt->ready = false;
    if (!is_allocated(opt)) return tn_refuse("the scheduler was used otherwise since ggml_opt_alloc()");
    const bool done = reserve_result(opt, result) && prepare_step(opt) && compute(opt);
    if (done) {
        count(opt);
        if (result) tn_result_add(result, opt);
    }
    if (!opt->is_static) opt->graph = NULL; // the caller's to free
    return done;
}

void ggml_opt_eval(ggml_opt_context_t opt_ctx, ggml_opt_result_t result) {
    if (!opt_ctx) {
        tn_iface_refuse(__func__, "the context is NULL");
    } else if (!tn_opt_eval(opt_ctx, result)) {
        tn_iface_refuse(__func__, "%s", tn_error_text());
    }
}

// ---- what the context has -------------------------------------------------------------------------------

bool ggml_opt_static_graphs(ggml_opt_context_t opt_ctx) {
    return opt_ctx && opt_ctx->is_static;
}

struct ggml_tensor * ggml_opt_inputs(ggml_opt_context_t opt_ctx) {
    return opt_ctx ? opt_ctx->model.inputs : NULL;
}

struct ggml_tensor * ggml_opt_outputs(ggml_opt_context_t opt_ctx) {
    return opt_ctx ? opt_ctx->model.outputs : NULL;
}

struct ggml_tensor * ggml_opt_labels(ggml_opt_context_t opt_ctx) {
    return opt_ctx ? opt_ctx->model.labels : NULL;
}

struct ggml_tensor * ggml_opt_loss(ggml_opt_context_t opt_ctx) {
    return opt_ctx ? opt_ctx->model.loss : NULL;
}

struct ggml_tensor * ggml_opt_pred(ggml_opt_context_t opt_ctx) {
    return opt_ctx ? opt_ctx->model.pred : NULL;
}

struct ggml_tensor * ggml_opt_ncorrect(ggml_opt_context_t opt_ctx) {
    return opt_ctx ? opt_ctx->model.ncorrect : NULL;
}

struct ggml_tensor * ggml_opt_grad_acc(ggml_opt_context_t opt_ctx, struct ggml_tensor * node) {
    if (!opt_ctx || !node) return NULL;
    if (node == opt_ctx->model.loss) return opt_ctx->state.one;
    for (int i = 0; i < opt_ctx->state.n_params; i++) {
        if (opt_ctx->state.params[i].param == node) return opt_ctx->state.params[i].acc;
    }
    return NULL;
}

enum ggml_opt_optimizer_type ggml_opt_context_optimizer_type(ggml_opt_context_t opt_ctx) {
    return opt_ctx ? opt_ctx->params.optimizer : GGML_OPT_OPTIMIZER_TYPE_COUNT;
}
