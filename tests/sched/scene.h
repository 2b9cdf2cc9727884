// SPDX-License-Identifier: MIT
// A scheduler over random fake devices, and what is done with random graphs on it. All follows from a number.
#ifndef TN_TESTS_SCHED_SCENE_H
#define TN_TESTS_SCHED_SCENE_H

#include "fake/fake.h"
#include "sched/graph.h"

enum { SCENE_BACKENDS = 6, SCENE_FLIGHT = 5 };

// A graph on the scheduler: where its leafs are, and what is to be read from it.
struct flight {
    struct graph * graph;
    ggml_backend_buffer_t buffers[GRAPH_LEAFS]; // owned, of leafs that have memory of their own
    bool is_set[GRAPH_LEAFS];                   // the scheduler gives the memory: set before each run
    char * got[GRAPH_NODES]; // owned; bytes of outputs, read in the queue that computes them
};

struct scene {
    struct test_rng rng;
    const struct combinations * all;
    ggml_backend_t cpu; // borrowed, the real one
    struct fake_world * world;
    struct fake_device * devices[SCENE_BACKENDS];
    struct fake_device * device_of[SCENE_BACKENDS]; // of each back end
    ggml_backend_t backends[SCENE_BACKENDS];
    ggml_backend_buffer_type_t bufts[SCENE_BACKENDS];
    int n_devices, n_backends;
    bool parallel;
    bool is_over; // a device is gone for good
    ggml_backend_sched_t sched;
    struct flight flights[SCENE_FLIGHT];
    int n_flights;
    // outcome
    int n_nodes, n_splits, n_compared, n_refused;
    char text[1024]; // what is wrong, "" for nothing
};

// Devices and scheduler.
struct scene * scene_new(const struct combinations * all, ggml_backend_t cpu, uint64_t number);

// Draws graphs and runs them in the ways that programs do, or with something that fails on the way. false
// with a text.
bool scene_run(struct scene * s);

// Frees everything. false with a text (in the scene's last words) if something was not freed or not in order.
bool scene_free(struct scene * s, char * text, size_t size);

void scene_print(const struct scene * s);

#endif
