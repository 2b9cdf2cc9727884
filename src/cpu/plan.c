// SPDX-License-Identifier: MIT
// ggml_graph_plan: threads and scratch memory of a graph. All nodes use the same memory in turn.
#include "cpu/plan.h"

#include "base/bits.h"
#include "base/error.h"
#include "core/graph.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/op.h"
#include "cpu/pool.h"

enum { ALIGN = 64 }; // a cache line: threads do not share one

// Both sizes rounded up; false: more than an address space.
static bool scratch_of(const struct ggml_tensor * node, struct tn_cpu_scratch * out) {
    const struct tn_cpu_op * op = tn_cpu_op_get(node->op);
    *out = op && op->scratch ? op->scratch(node) : (struct tn_cpu_scratch){ 0, 0 };
    return tn_size_align(out->shared, ALIGN, &out->shared) &&
           tn_size_align(out->per_thread, ALIGN, &out->per_thread);
}

static bool total_of(const struct tn_cpu_scratch * s, int n_threads, size_t * out) {
    size_t threads, sum;
    if (!tn_size_mul(s->per_thread, (size_t) n_threads, &threads) || !tn_size_add(s->shared, threads, &sum))
        return false;
    if (sum == 0) {
        *out = 0;
        return true;
    }
    return tn_size_add(sum, ALIGN - 1, out); // work_data may lie anywhere
}

static bool grow(const struct ggml_tensor * node, int n_threads, size_t * work_size) {
    struct tn_cpu_scratch s;
    size_t size;
    if (!scratch_of(node, &s) || !total_of(&s, n_threads, &size)) {
        return tn_refuse("the scratch memory of %s '%s' exceeds the address space", ggml_op_desc(node),
                         node->name);
    }
    *work_size = tn_max_size(*work_size, size);
    return true;
}

static int threads_for(int wanted, const struct ggml_threadpool * pool) {
    if (wanted <= 0) wanted = pool ? tn_pool_threads(pool) : GGML_DEFAULT_N_THREADS;
    return (int) tn_min_i64(wanted, pool ? tn_pool_threads(pool) : GGML_MAX_N_THREADS);
}

static bool plan_nodes(const struct ggml_cgraph * g, struct ggml_cplan * plan) {
    for (int i = 0; i < g->n_nodes; i++) {
        const struct ggml_tensor * node = g->nodes[i];
        if (tn_op_is_view(node->op) || tn_shape_empty(node)) continue;
        if (!tn_cpu_op_supports(node) || !grow(node, plan->n_threads, &plan->work_size)) return false;
    }
    return true;
}

struct ggml_cplan ggml_graph_plan(const struct ggml_cgraph * g, int n_threads,
                                  struct ggml_threadpool * pool) {
    struct ggml_cplan plan = { .threadpool = pool };
    if (!g) {
        tn_error_set("ggml_graph_plan: the graph is NULL");
        return plan;
    }
    plan.n_threads = threads_for(n_threads, pool);
    if (tn_graph_usable(g) && plan_nodes(g, &plan)) return plan;
    tn_error_prefix("ggml_graph_plan");
    return (struct ggml_cplan){ .threadpool = pool };
}

bool tn_plan_place(struct tn_cpu_run * run, const struct ggml_tensor * node, const struct ggml_cplan * plan) {
    struct tn_cpu_scratch s;
    size_t size;
    if (!scratch_of(node, &s) || !total_of(&s, run->n_threads, &size) || size > plan->work_size) {
        return tn_refuse("the plan's %zu bytes of work_data are too few: it was made for another graph",
                         plan->work_size);
    }
    const size_t skip = -(uintptr_t) plan->work_data & (ALIGN - 1);
    run->shared = size > 0 ? (char *) plan->work_data + skip : NULL;
    run->per_thread = size > 0 ? run->shared + s.shared : NULL;
    run->per_thread_size = s.per_thread;
    return true;
}
