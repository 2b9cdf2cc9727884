// SPDX-License-Identifier: MIT
// The back end object: its settings, its pool, its scratch memory, and the table of its functions.
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/graph.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/pool.h"
#include "ggml-cpu.h"

struct cpu_backend {
    int n_threads;
    struct ggml_threadpool * pool; // borrowed, NULL: `own`
    struct ggml_threadpool * own;  // made for the first graph that has use for it
    ggml_abort_callback abort_callback;
    void * abort_data;
    bool use_ref;
    uint8_t * work; // owned, grows
    size_t work_size;
};

// A prepared graph.
struct prepared {
    struct ggml_cgraph graph;
    struct ggml_cplan plan;
    struct ggml_threadpool * own; // owns, NULL if the plan's pool is borrowed
};

static ggml_guid guid = { 0x74, 0x65, 0x6e, 0x6f, 0x6e, 0x2d, 0x63, 0x70,
                          0x75, 0x2d, 0x62, 0x61, 0x63, 0x6b, 0x9e, 0x31 };

static const char * cpu_name(ggml_backend_t backend) {
    (void) backend;
    return "CPU";
}

static void cpu_free(ggml_backend_t backend) {
    struct cpu_backend * c = backend->context;
    ggml_threadpool_free(c->own);
    tn_mem_free(c->work);
    tn_mem_free(c);
    tn_mem_free(backend);
}

// *own becomes a pool of at least n_threads: who goes back to fewer threads may want more again.
static bool own_pool(struct ggml_threadpool ** own, int n_threads) {
    if (*own && tn_pool_threads(*own) >= n_threads) return true;
    ggml_threadpool_free(*own);
    struct ggml_threadpool_params params = ggml_threadpool_params_default(n_threads);
    *own = ggml_threadpool_new(&params);
    return *own != NULL;
}

// Plan without work_data. GGML_STATUS_SUCCESS, or why not.
static enum ggml_status make_plan(struct cpu_backend * c, const struct ggml_cgraph * g,
                                  struct ggml_threadpool ** own, struct ggml_cplan * plan) {
    *plan = ggml_graph_plan(g, c->n_threads, c->pool);
    if (plan->n_threads == 0) return GGML_STATUS_FAILED;
    if (!c->pool && plan->n_threads > 1) {
        if (!own_pool(own, plan->n_threads)) return GGML_STATUS_ALLOC_FAILED;
        plan->threadpool = *own;
    }
    plan->abort_callback = c->abort_callback;
    plan->abort_callback_data = c->abort_data;
    plan->use_ref = c->use_ref;
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status cpu_graph_compute(ggml_backend_t backend, struct ggml_cgraph * g) {
    struct cpu_backend * c = backend->context;
    struct ggml_cplan plan;
    TN_TRY(make_plan(c, g, &c->own, &plan));
    if (plan.work_size > c->work_size) {
        tn_mem_free(c->work);
        c->work = tn_mem_alloc(plan.work_size, TN_MEM_WORK);
        c->work_size = c->work ? plan.work_size : 0;
        if (!c->work) return GGML_STATUS_ALLOC_FAILED;
    }
    plan.work_data = c->work;
    return ggml_graph_compute(g, &plan);
}

static void cpu_plan_free(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    struct prepared * p = plan;
    (void) backend;
    ggml_threadpool_free(p->own);
    tn_mem_free(p->plan.work_data);
    tn_mem_free(p);
}

static ggml_backend_graph_plan_t cpu_plan_create(ggml_backend_t backend, const struct ggml_cgraph * g) {
    struct prepared * p = tn_mem_calloc(1, sizeof(*p), TN_MEM_GRAPH);
    if (!p) return NULL;
    p->graph = *g;
    if (make_plan(backend->context, g, &p->own, &p->plan) == GGML_STATUS_SUCCESS) {
        p->plan.work_data = p->plan.work_size > 0 ? tn_mem_alloc(p->plan.work_size, TN_MEM_WORK) : NULL;
        if (p->plan.work_data || p->plan.work_size == 0) return p;
    }
    cpu_plan_free(backend, p);
    return NULL;
}

static enum ggml_status cpu_plan_compute(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    struct prepared * p = plan;
    (void) backend;
    return ggml_graph_compute(&p->graph, &p->plan);
}

static const struct ggml_backend_i cpu_iface = {
    .get_name = cpu_name,
    .free = cpu_free,
    .graph_plan_create = cpu_plan_create,
    .graph_plan_free = cpu_plan_free,
    .graph_plan_compute = cpu_plan_compute,
    .graph_compute = cpu_graph_compute,
};

ggml_backend_t ggml_backend_cpu_init(void) {
    struct cpu_backend * c = tn_mem_calloc(1, sizeof(*c), TN_MEM_OBJECT);
    ggml_backend_t backend = tn_mem_calloc(1, sizeof(*backend), TN_MEM_OBJECT);
    if (!c || !backend) {
        tn_mem_free(c);
        tn_mem_free(backend);
        return NULL;
    }
    c->n_threads = GGML_DEFAULT_N_THREADS;
    *backend = (struct ggml_backend){ &guid, cpu_iface, tn_device_get(), c };
    return backend;
}

bool ggml_backend_is_cpu(ggml_backend_t backend) {
    return backend && ggml_guid_matches(backend->guid, &guid);
}

static struct cpu_backend * settings_of(ggml_backend_t backend, const char * function) {
    if (ggml_backend_is_cpu(backend)) return backend->context;
    tn_error_set("%s: back end %s is not a CPU back end", function, ggml_backend_name(backend));
    TN_LOG_ERROR("%s\n", tn_error_text());
    return NULL;
}

void ggml_backend_cpu_set_n_threads(ggml_backend_t backend, int n_threads) {
    struct cpu_backend * c = settings_of(backend, __func__);
    if (!c) return;
    if (n_threads < 1 || n_threads > GGML_MAX_N_THREADS) {
        tn_error_set("%s: %d threads, 1 to %d can be", __func__, n_threads, GGML_MAX_N_THREADS);
        TN_LOG_ERROR("%s\n", tn_error_text());
        return;
    }
    c->n_threads = n_threads;
}

void ggml_backend_cpu_set_threadpool(ggml_backend_t backend, ggml_threadpool_t pool) {
    struct cpu_backend * c = settings_of(backend, __func__);
    if (!c) return;
    if (c->pool && c->pool != pool) ggml_threadpool_pause(c->pool);
    c->pool = pool;
}

void ggml_backend_cpu_set_abort_callback(ggml_backend_t backend, ggml_abort_callback callback, void * data) {
    struct cpu_backend * c = settings_of(backend, __func__);
    if (!c) return;
    c->abort_callback = callback;
    c->abort_data = data;
}

void ggml_backend_cpu_set_use_ref(ggml_backend_t backend, bool use_ref) {
    struct cpu_backend * c = settings_of(backend, __func__);
    if (c) c->use_ref = use_ref;
}

void ggml_cpu_init(void) {
    tn_kernels_init();
}
