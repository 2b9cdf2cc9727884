// SPDX-License-Identifier: MIT
// What stays between batches: for each parameter its accumulator and its moments, in memory that the back end
// of the parameter uses too, since a step changes all of them where they lie.
#include <string.h>

#include "backend/iface.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/shape.h"
#include "train/opt_int.h"

static bool is_param(const struct ggml_tensor * t) {
    return t->flags & GGML_TENSOR_FLAG_PARAM;
}

static int count_params(const struct ggml_cgraph * g) {
    int n = 0;
    for (int i = 0; i < ggml_graph_n_nodes((struct ggml_cgraph *) g); i++)
        n += is_param(g->nodes[i]);
    return n;
}

// ---- homes ----------------------------------------------------------------------------------------------

// Of the back end that can use the tensor's memory; -1 with a text if none can. Memory in no buffer is the
// host's.
static int home_of(ggml_backend_sched_t sched, const struct ggml_tensor * t) {
    const int n = ggml_backend_sched_get_n_backends(sched);
    const ggml_backend_buffer_t buffer = tn_iface_buffer_of(t);
    if (!buffer) return n - 1;
    for (int i = 0; i < n; i++) {
        ggml_backend_t backend = ggml_backend_sched_get_backend(sched, i);
        if (ggml_backend_supports_buft(backend, ggml_backend_buffer_get_type(buffer))) return i;
    }
    tn_error_set("no back end of the scheduler can use the %s memory of '%s'",
                 ggml_backend_buffer_name(buffer), t->name);
    return -1;
}

static struct ggml_context * open_home(struct tn_state * state, int home, int n_params) {
    struct tn_state_home * h = &state->homes[home];
    if (h->ctx) return h->ctx;
    const size_t n = (size_t) n_params * (1 + TN_OPTIMIZER_MOMENTS) + 2;
    h->ctx = ggml_init((struct ggml_init_params){ n * ggml_tensor_overhead(), NULL, true });
    return h->ctx;
}

static bool allocate_homes(struct tn_state * state, ggml_backend_sched_t sched) {
    for (int i = 0; i < TN_STATE_HOMES; i++) {
        struct tn_state_home * h = &state->homes[i];
        if (!h->ctx || !ggml_get_first_tensor(h->ctx)) continue;
        ggml_backend_t backend = ggml_backend_sched_get_backend(sched, i);
        ggml_backend_buffer_type_t buft = ggml_backend_sched_get_buffer_type(sched, backend);
        h->buffer = ggml_backend_alloc_ctx_tensors_from_buft(h->ctx, buft);
        if (!h->buffer) return false;
        ggml_backend_buffer_clear(h->buffer, 0);
    }
    return true;
}

// ---- making ---------------------------------------------------------------------------------------------

static struct ggml_tensor * new_like(struct ggml_context * ctx, const struct ggml_tensor * param,
                                     const char * what) {
    struct ggml_tensor * t = ggml_new_tensor(ctx, GGML_TYPE_F32, GGML_MAX_DIMS, param->ne);
    return ggml_format_name(t, "%s of %s", what, param->name);
}

static bool add_param(struct ggml_opt_context * opt, struct tn_state_param * p,
                      const struct ggml_tensor * t) {
    if (!t->data && ggml_nbytes(t) > 0) return tn_refuse("the parameter '%s' has no memory", t->name);
    const int home = home_of(opt->params.backend_sched, t);
    struct ggml_context * ctx = home < 0 ? NULL : open_home(&opt->state, home, opt->state.n_params);
    if (!ctx) return false;
    *p = (struct tn_state_param){ .param = t, .data = t->data };
    if (opt->adds_up) p->acc = new_like(ctx, t, "grad acc");
    for (int i = 0; opt->state.step && i < opt->optimizer->n_moments; i++)
        p->moments[i] = new_like(ctx, t, i ? "second moment" : "first moment");
    return true;
}

// The gradient of the loss lies where the first back end computes, the parameters of a step in the host's
// memory.
static bool add_constants(struct ggml_opt_context * opt) {
    struct tn_state * state = &opt->state;
    const int last = ggml_backend_sched_get_n_backends(opt->params.backend_sched) - 1;
    struct ggml_context * first_home = open_home(state, 0, state->n_params);
    struct ggml_context * last_home = open_home(state, last, state->n_params);
    if (!first_home || !last_home) return false;
    state->one = ggml_set_name(ggml_new_tensor_1d(first_home, GGML_TYPE_F32, 1), "grad of the loss");
    if (opt->params.build_type < GGML_OPT_BUILD_TYPE_OPT) return true;
    state->step = ggml_new_tensor_1d(last_home, GGML_TYPE_F32, opt->optimizer->n_params);
    ggml_set_name(state->step, opt->optimizer->name);
    ggml_set_input(state->step);
    return true;
}

static bool fill(struct ggml_opt_context * opt, const struct ggml_cgraph * g) {
    struct tn_state * state = &opt->state;
    const float one = 1.0f;
    state->n_params = count_params(g);
    state->params = tn_mem_calloc((size_t) state->n_params, sizeof(*state->params), TN_MEM_OBJECT);
    if (!state->params || !add_constants(opt)) return false;
    int p = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        if (is_param(g->nodes[i]) && !add_param(opt, &state->params[p++], g->nodes[i])) return false;
    }
    if (!allocate_homes(state, opt->params.backend_sched)) return false;
    ggml_backend_tensor_set(state->one, &one, 0, sizeof(one));
    return true;
}

// ---- finding again --------------------------------------------------------------------------------------

static bool is_same(const struct tn_state_param * p, const struct ggml_tensor * t, int index) {
    if (p->data == t->data && (!p->acc || tn_shape_same(p->acc, t))) return true;
    return tn_refuse("parameter %d is '%s', which it was not in the graph before", index, t->name);
}

static bool find(struct tn_state * state, const struct ggml_cgraph * g) {
    const int n = count_params(g);
    if (n != state->n_params)
        return tn_refuse("the graph has %d parameters, the one before had %d", n, state->n_params);
    int p = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        if (!is_param(g->nodes[i])) continue;
        if (!is_same(&state->params[p], g->nodes[i], p)) return false;
        state->params[p++].param = g->nodes[i];
    }
    return true;
}

bool tn_state_prepare(struct ggml_opt_context * opt, const struct ggml_cgraph * g) {
    if (opt->state.params) return find(&opt->state, g);
    if (fill(opt, g)) return true;
    tn_state_free(&opt->state);
    return false;
}

// ---- changing -------------------------------------------------------------------------------------------

void tn_state_zero_gradients(struct tn_state * state) {
    for (int i = 0; i < state->n_params; i++) {
        if (state->params[i].acc) ggml_set_zero(state->params[i].acc);
    }
}

void tn_state_zero_moments(struct tn_state * state) {
    for (int i = 0; i < state->n_params * TN_OPTIMIZER_MOMENTS; i++) {
        struct ggml_tensor * m = state->params[i / TN_OPTIMIZER_MOMENTS].moments[i % TN_OPTIMIZER_MOMENTS];
        if (m) ggml_set_zero(m);
    }
}

void tn_state_free(struct tn_state * state) {
    for (int i = TN_STATE_HOMES - 1; i >= 0; i--) {
        ggml_backend_buffer_free(state->homes[i].buffer);
        ggml_free(state->homes[i].ctx);
    }
    tn_mem_free(state->params);
    *state = (struct tn_state){ 0 };
}
