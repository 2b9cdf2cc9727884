// SPDX-License-Identifier: MIT
// What the parts of the fake devices share: clocks, histories of memory, queues of work.
#ifndef TN_TESTS_FAKE_INT_H
#define TN_TESTS_FAKE_INT_H

#include <pthread.h>

#include "fake/fake.h"

enum { FAKE_QUEUES = 24, FAKE_HOST = 0, FAKE_WHAT = 80 };

// ---- order (clock.c) ------------------------------------------------------------------------------------
//
// Every operation has a place (queue, number). A clock says, for each queue, up to which number everything
// has to be over before what happens at that clock.

struct fake_clock {
    uint64_t at[FAKE_QUEUES];
};

void fake_clock_join(struct fake_clock * clock, const struct fake_clock * other);

// One operation: its place, what comes before it, and who does what, for people.
struct fake_stamp {
    int queue;
    uint64_t number;
    struct fake_clock before;
    char what[FAKE_WHAT];
};

struct fake_access {
    uintptr_t begin, end;
    int queue;
    uint64_t number;
    bool writes;
    char what[FAKE_WHAT];
};

// The accesses to a piece of memory that later ones may still have to be compared with.
struct fake_history {
    struct fake_access * items;
    int count, room;
};

void fake_history_free(struct fake_history * history);

// ---- world (world.c) ------------------------------------------------------------------------------------

// Memory of a buffer. Addresses base .. base + size stand for the bytes; for host memory they are the same.
struct fake_memory {
    struct fake_memory * next;
    struct fake_device * owner;
    uintptr_t base;
    size_t size;
    char * bytes;
    bool borrowed; // the program's
    struct fake_history history;
};

struct fake_queue;

struct fake_world {
    pthread_mutex_t mutex; // of the queues' contents; the rest belongs to the program's thread
    pthread_cond_t moved;  // something was queued or done
    struct fake_queue * queues[FAKE_QUEUES];
    uint64_t numbers[FAKE_QUEUES]; // the last operation's; [FAKE_HOST] the program's own
    struct fake_clock host;        // what the program has waited for
    struct fake_memory * memories;
    struct fake_history outside; // memory that is in no buffer
    struct fake_device * devices[FAKE_DEVICES];
    int n_devices;
    int live; // objects that are not freed
    uint64_t rng;
    int n_faults;
    char fault[512];
    struct ggml_backend_reg reg;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void fake_fault(struct fake_world * world, const char * fmt, ...); // from any thread, without the mutex

// The program's next operation.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
struct fake_stamp
fake_host_stamp(struct fake_world * world, const char * fmt, ...);

// An operation touches bytes, which are compared with the history of the memory they are in.
void fake_touch(struct fake_world * world, const struct fake_stamp * stamp, uintptr_t begin, size_t size,
                bool writes);

// The same for the elements of a tensor, without gaps between its rows.
void fake_touch_tensor(struct fake_world * world, const struct fake_stamp * stamp,
                       const struct ggml_tensor * tensor, bool writes);

// ---- memory (memory.c) ----------------------------------------------------------------------------------

// The memory of a tensor's buffer; NULL if that is no fake device's.
struct fake_memory * fake_memory_of(const struct ggml_tensor * tensor);
bool fake_is_host(const struct ggml_tensor * tensor);
void fake_memory_init_types(struct fake_device * device);
ggml_backend_buffer_t fake_memory_wrap(struct fake_device * device, void * ptr, size_t size);

// "the n-th from now": true when it is this one's turn.
bool fake_turn(int * n);

// ---- queues (queue.c) -----------------------------------------------------------------------------------

struct fake_place {
    int queue;
    uint64_t number;
};

struct fake_op {
    struct fake_op * next;
    uint64_t number;
    uint64_t after[FAKE_QUEUES]; // what it waits for in each other queue; 0: nothing
    void (*run)(void * data);    // takes over data
    void * data;
};

struct fake_queue {
    struct fake_world * world;
    int index;
    enum fake_mode mode;
    bool stop, running;
    pthread_t thread; // FAKE_BACKGROUND
    uint64_t rng;
    struct fake_op *first, *last;
    uint64_t done;               // number of the last finished operation
    struct fake_clock clock;     // what comes before the next operation
    uint64_t after[FAKE_QUEUES]; // what the next operation waits for
};

// NULL: no queue is free.
struct fake_queue * fake_queue_new(struct fake_world * world, enum fake_mode mode);
void fake_queue_free(struct fake_queue * queue); // after its work is done
void fake_queue_finish(
    struct fake_world * world); // the work of all queues, without waiting in the world's order

// The next operation of the queue; then, with the accesses told, its work.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
struct fake_stamp
fake_queue_stamp(struct fake_queue * queue, const char * fmt, ...);
void fake_queue_add(struct fake_queue * queue, const struct fake_stamp * stamp, void (*run)(void * data),
                    void * data);

// Where a queue is now, with the clock of that moment; and the wait for it on the side of another queue or of
// the program.
struct fake_mark {
    struct fake_place place;
    struct fake_clock clock;
};
struct fake_mark fake_queue_mark(struct fake_queue * queue);
void fake_queue_wait(struct fake_queue * queue, const struct fake_mark * mark);
void fake_queue_synchronize(struct fake_world * world, const struct fake_mark * mark);

// ---- back end (backend.c) -------------------------------------------------------------------------------

struct fake_backend {
    struct fake_device * device;
    struct fake_queue * queue;  // NULL: works at once
    struct fake_queue * copier; // of FAKE_APART, else NULL
    ggml_backend_t cpu;        // owned
};

ggml_backend_t fake_backend_new(struct fake_device * device);
ggml_backend_event_t fake_event_new(ggml_backend_dev_t dev);
void fake_event_free(ggml_backend_dev_t dev, ggml_backend_event_t event);
void fake_event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t event);

// ---- launches (launch.c) --------------------------------------------------------------------------------

// A graph as it was when it was handed over: nodes with the real places of their bytes.
struct fake_launch;
struct fake_launch * fake_launch_new(struct fake_backend * backend, struct ggml_cgraph * graph,
                                     const struct fake_stamp * stamp);
void fake_launch_run(void * launch); // and frees it

#endif
