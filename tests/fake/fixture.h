// SPDX-License-Identifier: MIT
// Two fake devices of any kind with a back end each, rows of floats in their memory, and graphs of one node.
#ifndef TN_TESTS_FAKE_FIXTURE_H
#define TN_TESTS_FAKE_FIXTURE_H

#include "harness.h"

#include "fake/fake.h"
#include "ggml-cpu.h"

enum { N = 16 };

struct fixture {
    struct fake_world * world;
    struct fake_device *a, *b;
    ggml_backend_t on_a, on_b;
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffers[8];
    int n_buffers;
};

static inline struct fixture start(struct fake_options a, struct fake_options b) {
    struct fixture f = { .world = fake_world_new(1) };
    f.a = fake_device_new(f.world, a);
    f.b = fake_device_new(f.world, b);
    f.on_a = fake_device_start(f.a);
    f.on_b = fake_device_start(f.b);
    assert_non_null(f.on_a);
    assert_non_null(f.on_b);
    f.ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20, .no_alloc = true });
    return f;
}

static inline void finish(struct fixture * f) {
    ggml_backend_free(f->on_a);
    ggml_backend_free(f->on_b);
    for (int i = 0; i < f->n_buffers; i++)
        ggml_backend_buffer_free(f->buffers[i]);
    ggml_free(f->ctx);
    assert_int_equal(fake_world_free(f->world), 0);
}

static inline void assert_no_faults(struct fixture * f) {
    if (fake_world_faults(f->world) > 0) fail_msg("%s", fake_world_fault(f->world));
}

// A row of N floats in memory of the type.
static inline struct ggml_tensor * row_in(struct fixture * f, ggml_backend_buffer_type_t type,
                                         const char * name) {
    struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, N), name);
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, ggml_nbytes(t));
    assert_non_null(buffer);
    f->buffers[f->n_buffers++] = buffer;
    assert_int_equal(ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer)),
                     GGML_STATUS_SUCCESS);
    return t;
}

static inline struct ggml_tensor * row(struct fixture * f, struct fake_device * d, const char * name) {
    return row_in(f, &d->type, name);
}

// The graph of t = neg(x), or of the copy that a builder makes, with t's memory.
static inline struct ggml_cgraph * negate(struct fixture * f, struct ggml_tensor * x,
                                         struct ggml_tensor * t) {
    struct ggml_tensor * node = ggml_neg(f->ctx, x);
    node->data = t->data;
    node->buffer = t->buffer;
    memcpy(node->nb, t->nb, sizeof(t->nb));
    ggml_set_name(node, t->name);
    struct ggml_cgraph * graph = ggml_new_graph_custom(f->ctx, 4, false);
    ggml_build_forward_expand(graph, node);
    return graph;
}

static inline void set(struct ggml_tensor * t, float v) {
    float values[N];
    for (int i = 0; i < N; i++)
        values[i] = v;
    ggml_backend_tensor_set(t, values, 0, sizeof(values));
}

static inline void assert_all(const struct ggml_tensor * t, float v) {
    float values[N];
    ggml_backend_tensor_get(t, values, 0, sizeof(values));
    for (int i = 0; i < N; i++) {
        if (values[i] != v) fail_msg("'%s' has %g, not %g", t->name, (double) values[i], (double) v);
    }
}

static inline struct fake_options options(enum fake_mode mode) {
    struct fake_options o = fake_options_default();
    o.mode = mode;
    return o;
}

static inline void assert_fault(struct fixture * f, const char * first, const char * second) {
    if (fake_world_faults(f->world) == 0) fail_msg("a fault was not found: %s, %s", first, second);
    assert_contains(fake_world_fault(f->world), first);
    assert_contains(fake_world_fault(f->world), second);
    fake_world_forget(f->world);
}

#endif
