// SPDX-License-Identifier: MIT
// Devices that do not exist. Each has memory of its own that the program cannot touch, executes when it
// likes, can do what it is told to be able to do, fails when it is told to, counts its calls, and computes
// with the kernels of the CPU: its results are the CPU's, bit for bit.
//
// Devices belong to a world, which has one clock for each queue of work and one for the program itself. Every
// access to memory is compared with all earlier ones that touch the same bytes: if neither must come before
// the other and one of them writes, the world has a fault. Nobody needs to be unlucky for that: what may
// happen is found, not only what does.
//
// Only public headers are used here, and nothing of the tests: this folder is also the example for
// docs/howto/add-backend.md. A world and its devices are used by one thread.
#ifndef TN_TESTS_FAKE_H
#define TN_TESTS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml-backend-impl.h"

enum { FAKE_DEVICES = 8 };

struct fake_world;

// `seed` decides how long background work takes.
struct fake_world * fake_world_new(uint64_t seed);

// Frees the world with its devices. The number of buffers, back ends and events that were not freed before:
// memory that they use is gone as well.
int fake_world_free(struct fake_world * world);

// What went wrong so far: how many faults, and the text of the first ("" if there are none).
int fake_world_faults(struct fake_world * world);
const char * fake_world_fault(const struct fake_world * world);
void fake_world_forget(struct fake_world * world);

// The registry entry with the devices made so far, in this order.
ggml_backend_reg_t fake_world_reg(struct fake_world * world);

enum fake_mode {
    FAKE_AT_ONCE,    // a call returns when its work is done
    FAKE_LAZY,       // work is done when somebody waits for it, not before
    FAKE_BACKGROUND, // a thread does the work, some time later
};

// In which queue a copy between two back ends runs. It comes after the work of the source's so far, and
// before later work of the destination's; the interface promises no more, and only FAKE_BY_DESTINATION gives
// more.
enum fake_copying {
    FAKE_BY_SOURCE,      // before later work of the source's as well
    FAKE_BY_DESTINATION, // in order with all work of both
    FAKE_APART,          // a queue of its own
};

struct fake_options {
    const char * name; // "" or NULL: "Fake<n>"
    enum ggml_backend_dev_type type;
    enum fake_mode mode;
    // memory
    bool host_memory;   // its own memory is the host's, as with a CPU; else the host cannot touch it
    bool reads_host;    // computes with any host memory
    bool host_buffers;  // has a type for pinned host memory
    bool from_host_ptr; // makes buffers of the program's memory
    size_t alignment, max_size;
    size_t scratch; // bytes behind each result that may have them; they are overwritten
    // transfers; those named async need a mode other than FAKE_AT_ONCE
    bool async_transfers; // set and get
    bool async_copies;    // from its own kind of device and from host memory
    enum fake_copying copying;
    bool copies;          // blocking ones between buffers
    bool transfers_2d;
    // work
    bool events;
    bool offloads; // wants nodes whose weights are in host memory
    bool reorders; // graph_optimize() exchanges independent neighbours
    uint64_t ops[2]; // bit i of both together: operator i of enum ggml_op
    uint64_t types;  // bit i: type i of enum ggml_type, of a node and all its sources
};

// A GPU that can do everything, executes lazily, and has 64-byte alignment.
struct fake_options fake_options_default(void);

// The n-th from now fails, and only that one; 0: none does. `always` counts like n for all from now on.
struct fake_orders {
    int alloc;       // NULL instead of a buffer
    int init_tensor; // a status
    int copy;        // false: not between these two
    int launch;      // a status instead of a computation
    int event;       // NULL instead of an event
    int start;       // NULL instead of a back end
    int always_alloc;
    enum ggml_op lies_about; // the operator that supports_op() promises and launches refuse; NONE: none
    bool lies_about_size; // buffers are a byte too small
    bool lost;       // the device is gone: everything fails from now on
    int lose_at;     // the n-th launch from now, and the device is lost with it
};

struct fake_counts {
    int buffers, buffers_freed, tensors, resets;
    int sets, gets, memsets, clears, copies;          // blocking
    int sets_async, gets_async, copies_async, staged; // staged: from host memory
    int launches, nodes, synchronizes, optimizes;
    int events, events_freed, records, waits, event_synchronizes;
    int backends, backends_freed;
    size_t bytes, peak_bytes; // held now, and at most
};

struct fake_device {
    struct fake_options options; // may be changed while nothing is queued
    struct fake_orders orders;
    struct fake_counts counts;
    struct ggml_backend_device device;
    struct ggml_backend_buffer_type type, host_type, mapped_type;
    struct fake_world * world;
    char name[32];
};

// NULL when there are FAKE_DEVICES already. The world owns it.
struct fake_device * fake_device_new(struct fake_world * world, struct fake_options options);

// A new back end of the device, NULL if it does not start. The caller frees it.
ggml_backend_t fake_device_start(struct fake_device * device);

// Where the bytes of a tensor in a fake device's memory really are: for tests that look behind it.
void * fake_bytes(const struct ggml_tensor * tensor);

#endif
