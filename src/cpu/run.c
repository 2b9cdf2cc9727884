// SPDX-License-Identifier: MIT
// The walk over a graph. The calling thread goes from node to node; an operator hands its parts to the pool
// and returns when they are done, so that small nodes wake nobody. Errors and the abort callback belong to
// the caller.
#include "cpu/run.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "core/graph.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/crowd.h"
#include "cpu/kernels.h"
#include "cpu/op.h"
#include "cpu/placement.h"
#include "cpu/plan.h"
#include "cpu/pool.h"
#include "ggml-backend.h"

enum { GRAIN = 16384 }; // cost below which a part is not worth a thread

struct cut {
    const struct tn_cpu_run * run;
    struct tn_cpu_work work;
    int64_t n;
    int64_t step;
};

int64_t tn_cpu_run_step(int64_t n, int64_t cost) {
    const int64_t step = cost >= GRAIN ? 1 : tn_ceil_div(GRAIN, tn_max_i64(cost, 1));
    return tn_min_i64(step, tn_max_i64(n, 1));
}

static void run_part(const void * arg, int64_t chunk, int thread) {
    const struct cut * c = arg;
    char * scratch = c->run->per_thread;
    const struct tn_cpu_part part = {
        .begin = chunk * c->step,
        .end = tn_min_i64((chunk + 1) * c->step, c->n),
        .scratch = scratch ? scratch + (size_t) thread * c->run->per_thread_size : NULL,
    };
    const bool before = tn_kernels_plain(c->run->use_ref);
    c->work.run(c->work.arg, &part);
    tn_kernels_plain(before);
}

void tn_cpu_run_parts(struct tn_cpu_run * run, int64_t n, int64_t cost, struct tn_cpu_work work) {
    const struct cut c = { .run = run, .work = work, .n = n, .step = tn_cpu_run_step(n, cost) };
    tn_pool_run(run->pool, run->n_threads, tn_ceil_div(n, c.step), (struct tn_pool_work){ run_part, &c });
}

static bool is_skipped(const struct ggml_tensor * node) {
    return tn_op_is_view(node->op) || !(node->flags & GGML_TENSOR_FLAG_COMPUTE) || tn_shape_empty(node);
}

static bool in_host_memory(const struct ggml_tensor * t) {
    if (tn_shape_empty(t)) return true;
    if (!t->data) return tn_refuse("'%s' has no data: it was not allocated", t->name);
    if (ggml_blck_size(t->type) == 1 && (uintptr_t) t->data % ggml_type_size(t->type) != 0) {
        return tn_refuse("the address of '%s' is no multiple of an element of %s", t->name,
                         ggml_type_name(t->type));
    }
    const struct ggml_tensor * base = t->view_src ? t->view_src : t;
    if (base->buffer && !ggml_backend_buffer_is_host(base->buffer)) {
        return tn_refuse("'%s' is not in host memory but in a buffer of %s", t->name,
                         ggml_backend_buffer_name(base->buffer));
    }
    return true;
}

static bool has_memory(const struct ggml_tensor * node) {
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && !in_host_memory(node->src[i])) return false;
    }
    return in_host_memory(node);
}

static enum ggml_status run_node(struct tn_cpu_run * run, struct ggml_tensor * node,
                                 const struct ggml_cplan * plan) {
    if (!tn_cpu_op_supports(node)) return GGML_STATUS_FAILED;
    if (!has_memory(node)) return GGML_STATUS_FAILED;
    if (!tn_plan_place(run, node, plan)) return GGML_STATUS_FAILED;
    return tn_cpu_op_get(node->op)->run(run, node);
}

static enum ggml_status walk(struct tn_cpu_run * run, struct ggml_cgraph * g,
                             const struct ggml_cplan * plan) {
    for (int i = 0; i < g->n_nodes; i++) {
        struct ggml_tensor * node = g->nodes[i];
        if (is_skipped(node)) continue;
        const enum ggml_status status = run_node(run, node, plan);
        if (status != GGML_STATUS_SUCCESS) {
            tn_error_prefix("node %d (%s '%s')", i, ggml_op_desc(node), node->name);
            return status;
        }
        if (plan->abort_callback && plan->abort_callback(plan->abort_callback_data)) {
            TN_FAIL(GGML_STATUS_ABORTED, "the abort callback ended the graph after node %d '%s'", i,
                    node->name);
        }
    }
    return GGML_STATUS_SUCCESS;
}

static bool is_plan_sound(const struct ggml_cplan * plan) {
    if (plan->n_threads < 1 || plan->n_threads > GGML_MAX_N_THREADS) {
        return tn_refuse("ggml_graph_compute: the plan has %d threads, 1 to %d can be", plan->n_threads,
                         GGML_MAX_N_THREADS);
    }
    if (plan->work_size > 0 && !plan->work_data) {
        return tn_refuse("ggml_graph_compute: the plan needs %zu bytes of work_data, which is NULL",
                         plan->work_size);
    }
    return true;
}

enum ggml_status ggml_graph_compute(struct ggml_cgraph * g, struct ggml_cplan * plan) {
    if (!g || !plan) TN_FAIL(GGML_STATUS_FAILED, "ggml_graph_compute: the %s is NULL", g ? "plan" : "graph");
    if (!tn_graph_usable(g) || !is_plan_sound(plan)) return GGML_STATUS_FAILED;
    tn_kernels_init();
    struct ggml_threadpool * own = NULL;
    struct tn_cpu_run run = { .pool = plan->threadpool,
                              .n_threads = plan->n_threads,
                              .use_ref = plan->use_ref };
    if (!run.pool && plan->n_threads > 1) {
        struct ggml_threadpool_params params = ggml_threadpool_params_default(plan->n_threads);
        own = ggml_threadpool_new(&params);
        if (!own) return GGML_STATUS_ALLOC_FAILED;
        run.pool = own;
    }
    struct tn_placement before;
    tn_placement_enter(tn_pool_params(run.pool), &before);
    tn_crowd_enter();
    const bool was_plain = tn_kernels_plain(plan->use_ref);
    const enum ggml_status status = walk(&run, g, plan);
    tn_kernels_plain(was_plain);
    tn_crowd_leave();
    tn_placement_leave(&before);
    ggml_threadpool_free(own);
    return status;
}

enum ggml_status ggml_graph_compute_with_ctx(struct ggml_context * ctx, struct ggml_cgraph * g,
                                             int n_threads) {
    if (!ctx) TN_FAIL(GGML_STATUS_FAILED, "ggml_graph_compute_with_ctx: the context is NULL");
    struct ggml_cplan plan = ggml_graph_plan(g, n_threads, NULL);
    if (plan.n_threads == 0) return GGML_STATUS_FAILED;
    if (plan.work_size > 0) {
        plan.work_data = ggml_new_buffer(ctx, plan.work_size);
        if (!plan.work_data) return GGML_STATUS_ALLOC_FAILED;
    }
    return ggml_graph_compute(g, &plan);
}
