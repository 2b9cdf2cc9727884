// SPDX-License-Identifier: MIT
// A meta device over fake ones or over the processor several times, and a list of who is split how.
#ifndef TN_TESTS_META_STAGE_H
#define TN_TESTS_META_STAGE_H

#include "harness.h"

#include "backend/meta/meta_int.h"
#include "fake/fake.h"
#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

enum { META_RULES = 64 };

struct meta_rule {
    char name[GGML_MAX_NAME];
    struct ggml_backend_meta_split_state state;
};

struct meta_stage {
    struct fake_world * world; // NULL: the devices are the processor
    struct fake_device * fakes[FAKE_DEVICES];
    ggml_backend_dev_t devices[FAKE_DEVICES];
    int n;
    ggml_backend_dev_t meta;
    ggml_backend_t backend, cpu;
};

static struct meta_rule meta_rules[META_RULES];
static int n_meta_rules;
static int n_meta_asked;

static inline struct ggml_backend_meta_split_state meta_split(const struct ggml_tensor * t, void * data) {
    n_meta_asked++;
    assert_ptr_equal(data, meta_rules);
    for (int i = 0; i < n_meta_rules; i++) {
        if (strcmp(meta_rules[i].name, t->name) == 0) return meta_rules[i].state;
    }
    return (struct ggml_backend_meta_split_state){ .axis = GGML_BACKEND_SPLIT_AXIS_MIRRORED,
                                                   .nr = { 1 },
                                                   .n_segments = 1 };
}

static inline struct ggml_backend_meta_split_state * meta_rule(const char * name, int axis) {
    for (int i = 0; i < n_meta_rules; i++) {
        if (strcmp(meta_rules[i].name, name) == 0) return &meta_rules[i].state;
    }
    assert_true(n_meta_rules < META_RULES);
    struct meta_rule * r = &meta_rules[n_meta_rules++];
    *r = (struct meta_rule){ .state = { .axis = (enum ggml_backend_meta_split_axis) axis } };
    snprintf(r->name, sizeof(r->name), "%s", name);
    return &r->state;
}

// One more segment, which stands `nr` times in a row.
static inline void meta_segment(struct ggml_backend_meta_split_state * state, int n, const int64_t * ne,
                                uint32_t nr) {
    memcpy(state->ne + (size_t) state->n_segments * (size_t) n, ne, (size_t) n * sizeof(ne[0]));
    state->nr[state->n_segments++] = nr;
}

// `total` units of `unit` elements to n devices: alike, or in unequal parts of which one may be nothing.
static inline void meta_shares(int64_t * ne, int n, int64_t total, int64_t unit, struct test_rng * rng) {
    for (int j = 0; j < n; j++)
        ne[j] = 0;
    for (int64_t k = 0; k < total; k++)
        ne[rng ? test_rng_below(rng, n) : k * n / total] += unit;
}

static inline void meta_split_by(const char * name, int axis, int n, int64_t total, int64_t unit,
                                 uint64_t seed) {
    struct test_rng rng = { seed };
    int64_t ne[FAKE_DEVICES];
    meta_shares(ne, n, total, unit, seed ? &rng : NULL);
    meta_segment(meta_rule(name, axis), n, ne, 1);
}

typedef void (*meta_setup)(int i, struct fake_options * options);

// setup NULL: over the processor.
static inline struct meta_stage meta_begin(int n, meta_setup setup) {
    struct meta_stage s = { .n = n, .cpu = ggml_backend_cpu_init() };
    n_meta_rules = n_meta_asked = 0;
    ggml_backend_cpu_set_n_threads(s.cpu, 1);
    if (setup) s.world = fake_world_new(5);
    for (int i = 0; i < n; i++) {
        struct fake_options options = fake_options_default();
        if (setup) setup(i, &options);
        if (setup) s.fakes[i] = fake_device_new(s.world, options);
        s.devices[i] = setup ? &s.fakes[i]->device : ggml_backend_get_device(s.cpu);
    }
    s.meta = ggml_backend_meta_device(s.devices, (size_t) n, meta_split, meta_rules);
    assert_non_null(s.meta);
    s.backend = ggml_backend_dev_init(s.meta, NULL);
    if (!s.backend) fail_msg("%s", ggml_ext_last_error());
    return s;
}

static inline void meta_check(const struct meta_stage * s) {
    if (s->world && fake_world_faults(s->world) > 0) fail_msg("%s", fake_world_fault(s->world));
}

static inline void meta_end(struct meta_stage * s) {
    ggml_backend_free(s->backend);
    ggml_backend_free(s->cpu);
    meta_check(s);
    if (s->world) assert_int_equal(fake_world_free(s->world), 0);
}

static inline struct ggml_context * meta_context(void) {
    return ggml_init((struct ggml_init_params){ 4 << 20, NULL, true });
}

static inline void meta_default(int i, struct fake_options * options) {
    (void) i;
    (void) options;
}

static inline void meta_at_once(int i, struct fake_options * options) {
    (void) i;
    options->mode = FAKE_AT_ONCE;
    options->events = false;
}

static inline void meta_no_events(int i, struct fake_options * options) {
    options->events = false;
    options->copying = (enum fake_copying) (i % 3);
}

static inline void meta_background(int i, struct fake_options * options) {
    (void) i;
    options->mode = FAKE_BACKGROUND;
}

// Each device is another kind of thing.
static inline void meta_mixed(int i, struct fake_options * options) {
    options->mode = i % 3 == 0 ? FAKE_LAZY : i % 3 == 1 ? FAKE_AT_ONCE : FAKE_BACKGROUND;
    options->events = i % 2;
    options->copying = (enum fake_copying) (i % 3);
    options->async_copies = i % 4 != 2;
    options->async_transfers = i % 2 == 0;
    options->transfers_2d = i % 3 == 0;
    options->alignment = (size_t) 32 << i;
    options->scratch = (size_t) (i * 48);
}

#endif
