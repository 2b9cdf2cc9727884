// SPDX-License-Identifier: MIT
// A scheduler over fake devices and the processor, and small graphs for it.
#ifndef TN_TESTS_SCHED_STAGE_H
#define TN_TESTS_SCHED_STAGE_H

#include "harness.h"

#include "fake/fake.h"
#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml/src/ggml-impl.h"

enum { N = 64, STAGE_DEVICES = 4, STAGE_GRAPH = 2048 };

struct stage {
    struct fake_world * world;
    struct fake_device * devices[STAGE_DEVICES];
    ggml_backend_t backends[STAGE_DEVICES + 1]; // the last of them is the processor
    ggml_backend_t cpu;
    int n; // devices
    ggml_backend_sched_t sched;
};

// Called for the i-th device before it is made.
typedef void (*stage_setup)(int i, struct fake_options * options);

static inline struct stage stage_begin(int n, bool parallel, stage_setup setup) {
    struct stage s = { .world = fake_world_new(3), .n = n };
    for (int i = 0; i < n; i++) {
        struct fake_options options = fake_options_default();
        if (setup) setup(i, &options);
        s.devices[i] = fake_device_new(s.world, options);
        s.backends[i] = fake_device_start(s.devices[i]);
        assert_non_null(s.backends[i]);
    }
    s.cpu = s.backends[n] = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(s.cpu, 1);
    s.sched = ggml_backend_sched_new(s.backends, NULL, n + 1, STAGE_GRAPH, parallel, true);
    assert_non_null(s.sched);
    return s;
}

static inline void stage_check(struct stage * s) {
    if (fake_world_faults(s->world) > 0) fail_msg("%s", fake_world_fault(s->world));
}

// Nothing may have been out of order, and nothing left.
static inline void stage_end(struct stage * s) {
    stage_check(s);
    ggml_backend_sched_free(s->sched);
    for (int i = 0; i <= s->n; i++)
        ggml_backend_free(s->backends[i]);
    assert_int_equal(fake_world_free(s->world), 0);
}

static inline struct ggml_context * stage_context(void) {
    const size_t size =
        2 * STAGE_GRAPH * ggml_tensor_overhead() + 8 * ggml_graph_overhead_custom(STAGE_GRAPH, false);
    return ggml_init((struct ggml_init_params){ size, NULL, true });
}

static inline struct ggml_cgraph * stage_graph(struct ggml_context * ctx) {
    return ggml_new_graph_custom(ctx, STAGE_GRAPH, false);
}

static inline struct ggml_tensor * stage_row(struct ggml_context * ctx, const char * name) {
    return ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, N), name);
}

static inline struct ggml_tensor * stage_input(struct ggml_context * ctx, const char * name) {
    struct ggml_tensor * t = stage_row(ctx, name);
    ggml_set_input(t);
    return t;
}

// Memory of its own for a leaf. The caller frees it.
static inline ggml_backend_buffer_t stage_own(struct stage * s, int backend, struct ggml_tensor * t,
                                              enum ggml_backend_buffer_usage usage) {
    ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(s->backends[backend], ggml_nbytes(t));
    assert_non_null(buffer);
    assert_int_equal(ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer)),
                     GGML_STATUS_SUCCESS);
    ggml_backend_buffer_set_usage(buffer, usage);
    return buffer;
}

static inline void stage_place(struct stage * s, struct ggml_tensor * t, int backend) {
    ggml_backend_sched_set_tensor_backend(s->sched, t, s->backends[backend]);
}

static inline int stage_where(struct stage * s, struct ggml_tensor * t) {
    ggml_backend_t backend = ggml_backend_sched_get_tensor_backend(s->sched, t);
    for (int i = 0; i <= s->n; i++) {
        if (s->backends[i] == backend) return i;
    }
    return -1;
}

// value, value + step, ...
static inline void stage_fill(struct ggml_tensor * t, float value, float step) {
    float values[N];
    for (int i = 0; i < N; i++)
        values[i] = value + step * (float) i;
    ggml_backend_tensor_set(t, values, 0, sizeof(values));
}

static inline void stage_expect(const struct ggml_tensor * t, float value, float step) {
    float values[N];
    ggml_backend_tensor_get(t, values, 0, sizeof(values));
    for (int i = 0; i < N; i++) {
        if (values[i] != value + step * (float) i) {
            fail_msg("%s[%d] is %g, not %g", t->name, i, (double) values[i],
                     (double) (value + step * (float) i));
        }
    }
}

static inline void stage_alloc(struct stage * s, struct ggml_cgraph * graph) {
    if (!ggml_backend_sched_alloc_graph(s->sched, graph)) fail_msg("%s", ggml_ext_last_error());
}

static inline void stage_compute(struct stage * s, struct ggml_cgraph * graph) {
    const enum ggml_status status = ggml_backend_sched_graph_compute(s->sched, graph);
    if (status != GGML_STATUS_SUCCESS) fail_msg("%s", ggml_ext_last_error());
}

// ---- a graph that can be spread --------------------------------------------------------------------------

// double = x + x; sum = double + y; out = sum + x
struct chain {
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor *x, *y, *twice, *sum, *out;
};

static inline struct chain chain_build(void) {
    struct chain c = { .ctx = stage_context() };
    c.graph = stage_graph(c.ctx);
    c.x = stage_input(c.ctx, "x");
    c.y = stage_input(c.ctx, "y");
    c.twice = ggml_set_name(ggml_add(c.ctx, c.x, c.x), "twice");
    c.sum = ggml_set_name(ggml_add(c.ctx, c.twice, c.y), "sum");
    c.out = ggml_set_name(ggml_add(c.ctx, c.sum, c.x), "out");
    ggml_set_output(c.out);
    ggml_build_forward_expand(c.graph, c.out);
    return c;
}

static inline void chain_place(struct stage * s, const struct chain * c, int twice, int sum, int out) {
    stage_place(s, c->twice, twice);
    stage_place(s, c->sum, sum);
    stage_place(s, c->out, out);
}

static inline void chain_set(const struct chain * c, float value) {
    stage_fill(c->x, value, 1);
    stage_fill(c->y, 100, -2);
}

static inline void chain_expect(const struct chain * c, float value) {
    stage_expect(c->out, 3 * value + 100, 1);
}

static inline void chain_run(struct stage * s, const struct chain * c, float value) {
    chain_set(c, value);
    stage_compute(s, c->graph);
    chain_expect(c, value);
}

#endif
