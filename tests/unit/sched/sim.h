// SPDX-License-Identifier: MIT
// Devices for tests of the scheduler. Their memory is nobody else's, what they compute is computed by the CPU
// back end, and when they do it is nobody's business: work is queued and begins at random, or when somebody
// waits for it. So an order that nothing enforces is not kept, and a program that relies on it gets wrong
// numbers. All of it is in one thread and follows from a seed.
#ifndef TN_TESTS_SIM_H
#define TN_TESTS_SIM_H

#include "harness.h"

#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml/src/ggml-impl.h"

enum { SIM_DEVICES = 5, SIM_WORK = 200000 };

enum sim_kind { SIM_COMPUTE, SIM_COPY, SIM_SET, SIM_WAIT };

struct sim_work {
    enum sim_kind kind;
    struct ggml_cgraph graph; // owns its list of nodes
    const struct ggml_tensor * src;
    struct ggml_tensor * dst;
    const void * data;
    size_t offset, size;
    struct sim * other; // SIM_WAIT, SIM_COPY: has to come as far as `until` before
    int64_t until;
};

struct sim {
    char name[16];
    // what it is like
    bool eager; // runs everything at once
    bool events, async_copies;
    bool host;   // memory that others can use too
    bool shares; // uses the memory of device 0
    bool wants;  // offload
    bool refuses[GGML_OP_COUNT];
    size_t max_size;
    void (*optimise)(struct ggml_cgraph *, struct ggml_backend_graph_optimize_params *);
    // what fails: the n-th from now; 0: none
    int fail_alloc, fail_compute;
    bool no_base;
    // what happened
    int n_compute, n_copies, n_blocking, n_sets, n_syncs, n_waits, n_records, n_asked, n_optimised;
    size_t allocated, live, peak_live; // bytes
    // its work
    struct sim_work * work;
    int64_t queued, done;
    // its objects
    struct ggml_backend_device device;
    struct ggml_backend_buffer_type type;
    struct ggml_backend backend;
};

struct sims {
    struct sim devices[SIM_DEVICES];
    int n;
    ggml_backend_t cpu;
    struct test_rng rng;
};

static struct sims sims;

#include "unit/sched/sim_memory.h"

static inline void sim_run_to(struct sim * d, int64_t until);

static inline struct ggml_tensor sim_bare(const struct ggml_tensor * t) {
    struct ggml_tensor bare = *t;
    bare.buffer = NULL;
    bare.view_src = NULL;
    return bare;
}

// By the processor, for which memory of devices is none: it gets tensors that tell of no buffer.
static inline void sim_compute_node(const struct ggml_tensor * node) {
    struct ggml_tensor bare = sim_bare(node), sources[GGML_MAX_SRC], *list = &bare;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (!node->src[i]) continue;
        sources[i] = sim_bare(node->src[i]);
        bare.src[i] = node->src[i] == node ? &bare : &sources[i];
    }
    struct ggml_cgraph graph = { .n_nodes = 1, .nodes = &list };
    assert_int_equal(ggml_backend_graph_compute(sims.cpu, &graph), GGML_STATUS_SUCCESS);
}

static inline void sim_do(struct sim_work * w) {
    switch (w->kind) {
    case SIM_COMPUTE:
        for (int i = 0; i < w->graph.n_nodes; i++)
            sim_compute_node(w->graph.nodes[i]);
        free(w->graph.nodes);
        break;
    case SIM_COPY:
        if (w->other) sim_run_to(w->other, w->until);
        memcpy(w->dst->data, w->src->data, ggml_nbytes(w->src));
        break;
    case SIM_SET: memcpy((char *) w->dst->data + w->offset, w->data, w->size); break;
    case SIM_WAIT: sim_run_to(w->other, w->until); break;
    }
}

static inline void sim_run_to(struct sim * d, int64_t until) {
    while (d->done < until)
        sim_do(&d->work[d->done++]);
}

// Somebody does a little of what there is.
static inline void sim_stir(void) {
    for (int i = 0; i < sims.n; i++) {
        struct sim * d = &sims.devices[i];
        if (d->eager) {
            sim_run_to(d, d->queued);
        } else if (test_rng_below(&sims.rng, 3) == 0) {
            sim_run_to(d, d->done + test_rng_below(&sims.rng, d->queued - d->done + 1));
        }
    }
}

static inline struct sim_work * sim_queue(struct sim * d, enum sim_kind kind) {
    assert_true(d->queued < SIM_WORK);
    struct sim_work * w = &d->work[d->queued++];
    *w = (struct sim_work){ .kind = kind };
    return w;
}

// ---- the back end ----------------------------------------------------------------------------------------

static inline struct sim * sim_of(ggml_backend_t backend) {
    return backend->context;
}
static inline const char * sim_backend_name(ggml_backend_t backend) {
    return sim_of(backend)->name;
}
static inline void sim_backend_free(ggml_backend_t backend) {
    (void) backend;
}

static inline void sim_synchronize(ggml_backend_t backend) {
    struct sim * d = sim_of(backend);
    d->n_syncs++;
    sim_run_to(d, d->queued);
}

static inline enum ggml_status sim_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    struct sim * d = sim_of(backend);
    d->n_compute++;
    if (d->fail_compute > 0 && --d->fail_compute == 0) return GGML_STATUS_FAILED;
    struct sim_work * w = sim_queue(d, SIM_COMPUTE);
    w->graph = *graph;
    w->graph.nodes = malloc(((size_t) graph->n_nodes + 1) * sizeof(graph->nodes[0]));
    memcpy(w->graph.nodes, graph->nodes, (size_t) graph->n_nodes * sizeof(graph->nodes[0]));
    sim_stir();
    return GGML_STATUS_SUCCESS;
}

static inline bool sim_is_sim(ggml_backend_t backend) {
    return backend->iface.graph_compute == sim_compute;
}

// After the source's work and before the destination's later work; on whose side is not said.
static inline bool sim_cpy_async(ggml_backend_t from, ggml_backend_t to, const struct ggml_tensor * src,
                                 struct ggml_tensor * dst) {
    struct sim * d = sim_of(to);
    if (!d->async_copies || !sim_is_sim(from)) return false;
    struct sim * s = sim_of(from);
    d->n_copies++;
    const bool here = test_rng_below(&sims.rng, 2);
    struct sim_work * w = sim_queue(here ? d : s, SIM_COPY);
    w->src = src;
    w->dst = dst;
    if (here) {
        w->other = s;
        w->until = s->queued;
    } else {
        struct sim_work * wait = sim_queue(d, SIM_WAIT);
        wait->other = s;
        wait->until = s->queued;
    }
    sim_stir();
    return true;
}

static inline void sim_set_async(ggml_backend_t backend, struct ggml_tensor * t, const void * data,
                                 size_t offset, size_t size) {
    struct sim * d = sim_of(backend);
    d->n_sets++;
    struct sim_work * w = sim_queue(d, SIM_SET);
    w->dst = t;
    w->data = data;
    w->offset = offset;
    w->size = size;
    sim_stir();
}

struct sim_mark {
    struct sim * of;
    int64_t at;
};

static inline void sim_event_record(ggml_backend_t backend, ggml_backend_event_t event) {
    sim_of(backend)->n_records++;
    *(struct sim_mark *) event->context = (struct sim_mark){ sim_of(backend), sim_of(backend)->queued };
}

static inline void sim_event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    const struct sim_mark * mark = event->context;
    sim_of(backend)->n_waits++;
    assert_non_null(mark->of);
    struct sim_work * w = sim_queue(sim_of(backend), SIM_WAIT);
    w->other = mark->of;
    w->until = mark->at;
}

static inline void sim_optimise(ggml_backend_t backend, struct ggml_cgraph * graph,
                                struct ggml_backend_graph_optimize_params * params) {
    sim_of(backend)->n_optimised++;
    if (sim_of(backend)->optimise) sim_of(backend)->optimise(graph, params);
}

// ---- the device ------------------------------------------------------------------------------------------

static inline struct sim * sim_of_device(ggml_backend_dev_t dev) {
    return dev->context;
}
static inline const char * sim_name(ggml_backend_dev_t dev) {
    return sim_of_device(dev)->name;
}
static inline void sim_memory(ggml_backend_dev_t dev, size_t * free_bytes, size_t * total) {
    (void) dev;
    *free_bytes = *total = 1 << 30;
}
static inline enum ggml_backend_dev_type sim_type(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}
static inline void sim_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    props->name = sim_name(dev);
    props->type = GGML_BACKEND_DEVICE_TYPE_GPU;
}
static inline ggml_backend_t sim_start(ggml_backend_dev_t dev, const char * params) {
    (void) params;
    return &sim_of_device(dev)->backend;
}
static inline ggml_backend_buffer_type_t sim_buffer_type(ggml_backend_dev_t dev) {
    return sim_of_device(dev)->shares ? &sims.devices[0].type : &sim_of_device(dev)->type;
}

static inline bool sim_supports(ggml_backend_dev_t dev, const struct ggml_tensor * node) {
    struct sim * d = sim_of_device(dev);
    d->n_asked++;
    if (d->refuses[node->op]) return false;
    return ggml_backend_supports_op(sims.cpu, node);
}

static inline bool sim_supports_type(ggml_backend_dev_t dev, ggml_backend_buffer_type_t type) {
    return type == sim_buffer_type(dev) || type == &sim_of_device(dev)->type;
}
static inline bool sim_offload(ggml_backend_dev_t dev, const struct ggml_tensor * node) {
    (void) node;
    return sim_of_device(dev)->wants;
}

static inline ggml_backend_event_t sim_event_new(ggml_backend_dev_t dev) {
    if (!sim_of_device(dev)->events) return NULL;
    ggml_backend_event_t event = malloc(sizeof(*event));
    *event = (struct ggml_backend_event){ dev, calloc(1, sizeof(struct sim_mark)) };
    return event;
}

static inline void sim_event_free(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    (void) dev;
    free(event->context);
    free(event);
}

static inline void sim_event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    (void) dev;
    const struct sim_mark * mark = event->context;
    sim_run_to(mark->of, mark->at);
}

// n devices, all with every ability, and the processor. They are the backends 0 .. n - 1 of `backends`, the
// processor is the last.
static inline void sim_begin(int n, uint64_t seed, ggml_backend_t * backends) {
    static uint8_t guid[16] = { 5, 1, 13 };
    sims.n = n;
    sims.rng.state = seed;
    sims.cpu = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(sims.cpu, 1);
    for (int i = 0; i < n; i++) {
        struct sim * d = &sims.devices[i];
        *d = (struct sim){ .events = true, .async_copies = true, .max_size = SIZE_MAX };
        snprintf(d->name, sizeof(d->name), "Sim%d", i);
        d->work = malloc(SIM_WORK * sizeof(*d->work));
        d->device = (struct ggml_backend_device){
            .iface = { .get_name = sim_name,
                       .get_description = sim_name,
                       .get_memory = sim_memory,
                       .get_type = sim_type,
                       .get_props = sim_props,
                       .init_backend = sim_start,
                       .get_buffer_type = sim_buffer_type,
                       .supports_op = sim_supports,
                       .supports_buft = sim_supports_type,
                       .offload_op = sim_offload,
                       .event_new = sim_event_new,
                       .event_free = sim_event_free,
                       .event_synchronize = sim_event_synchronize },
            .context = d,
        };
        d->type = (struct ggml_backend_buffer_type){
            .iface = { .get_name = sim_type_name,
                       .alloc_buffer = sim_alloc,
                       .get_alignment = sim_alignment,
                       .get_max_size = sim_max_size,
                       .is_host = sim_is_host },
            .device = &d->device,
            .context = d,
        };
        d->backend = (struct ggml_backend){
            .guid = &guid,
            .iface = { .get_name = sim_backend_name,
                       .free = sim_backend_free,
                       .synchronize = sim_synchronize,
                       .graph_compute = sim_compute,
                       .cpy_tensor_async = sim_cpy_async,
                       .set_tensor_async = sim_set_async,
                       .event_record = sim_event_record,
                       .event_wait = sim_event_wait,
                       .graph_optimize = sim_optimise },
            .device = &d->device,
            .context = d,
        };
        backends[i] = &d->backend;
    }
    backends[n] = sims.cpu;
}

// Everything has to be done, and everything freed.
static inline void sim_end(void) {
    for (int i = 0; i < sims.n; i++) {
        sim_run_to(&sims.devices[i], sims.devices[i].queued);
        assert_int_equal(sims.devices[i].live, 0);
        free(sims.devices[i].work);
    }
    ggml_backend_free(sims.cpu);
}

#endif
