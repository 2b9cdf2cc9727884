// SPDX-License-Identifier: MIT
// Back ends and events. A back end is a queue, or none where work is done at once; what it is asked to do is
// first told to the clocks (which bytes, after what), and then put into the queue.
#include <stdlib.h>
#include <string.h>

#include "fake/fake_int.h"
#include "ggml-cpu.h"

static struct fake_backend * of(ggml_backend_t backend) {
    return backend->context;
}

static struct fake_world * world_of(ggml_backend_t backend) {
    return of(backend)->device->world;
}

static const char * backend_name(ggml_backend_t backend) {
    return of(backend)->device->name;
}

static void end(struct fake_backend * b) {
    if (b->queue) fake_queue_free(b->queue);
    if (b->copier) fake_queue_free(b->copier);
    ggml_backend_free(b->cpu);
}

static void backend_free(ggml_backend_t backend) {
    struct fake_backend * b = of(backend);
    end(b);
    b->device->counts.backends_freed++;
    b->device->world->live--;
    free(b);
    free(backend);
}

static void backend_synchronize(ggml_backend_t backend) {
    struct fake_backend * b = of(backend);
    b->device->counts.synchronizes++;
    const struct fake_mark mark = fake_queue_mark(b->queue);
    fake_queue_synchronize(b->device->world, &mark);
}

// ---- transfers ------------------------------------------------------------------------------------------

// n pieces of bytes from one place to another.
struct move {
    char * to;
    const char * from;
    size_t size, n, stride_to, stride_from;
    char * staged; // owned
};

static void run_move(void * data) {
    struct move * m = data;
    for (size_t i = 0; i < m->n; i++)
        memmove(m->to + i * m->stride_to, m->from + i * m->stride_from, m->size);
    free(m->staged);
    free(m);
}

static void add_move(struct fake_queue * queue, const struct fake_stamp * stamp, struct move move) {
    struct move * m = malloc(sizeof(*m));
    if (!m) abort();
    *m = move;
    fake_queue_add(queue, stamp, run_move, m);
}

static void set_2d_async(ggml_backend_t backend, struct ggml_tensor * t, const void * data, size_t offset,
                         size_t size, size_t n, size_t stride_tensor, size_t stride_data) {
    struct fake_backend * b = of(backend);
    const struct fake_stamp stamp =
        fake_queue_stamp(b->queue, "setting '%.40s' on %s", t->name, b->device->name);
    b->device->counts.sets_async++;
    for (size_t i = 0; i < n; i++) {
        fake_touch(world_of(backend), &stamp, (uintptr_t) data + i * stride_data, size, false);
        fake_touch(world_of(backend), &stamp, (uintptr_t) t->data + offset + i * stride_tensor, size, true);
    }
    add_move(b->queue, &stamp,
             (struct move){ .to = (char *) fake_bytes(t) + offset,
                            .from = data,
                            .size = size,
                            .n = b->device->orders.lost ? 0 : n,
                            .stride_to = stride_tensor,
                            .stride_from = stride_data });
}

static void get_2d_async(ggml_backend_t backend, const struct ggml_tensor * t, void * data, size_t offset,
                         size_t size, size_t n, size_t stride_tensor, size_t stride_data) {
    struct fake_backend * b = of(backend);
    const struct fake_stamp stamp =
        fake_queue_stamp(b->queue, "getting '%.40s' on %s", t->name, b->device->name);
    b->device->counts.gets_async++;
    for (size_t i = 0; i < n; i++) {
        fake_touch(world_of(backend), &stamp, (uintptr_t) t->data + offset + i * stride_tensor, size, false);
        fake_touch(world_of(backend), &stamp, (uintptr_t) data + i * stride_data, size, true);
    }
    add_move(b->queue, &stamp,
             (struct move){ .to = data,
                            .from = (const char *) fake_bytes(t) + offset,
                            .size = size,
                            .n = b->device->orders.lost ? 0 : n,
                            .stride_to = stride_data,
                            .stride_from = stride_tensor });
}

static void set_async(ggml_backend_t backend, struct ggml_tensor * t, const void * data, size_t offset,
                      size_t size) {
    set_2d_async(backend, t, data, offset, size, 1, 0, 0);
}

static void get_async(ggml_backend_t backend, const struct ggml_tensor * t, void * data, size_t offset,
                      size_t size) {
    get_2d_async(backend, t, data, offset, size, 1, 0, 0);
}

// From a back end that has no queue: its memory is read now, and written when the other one gets there.
static bool copy_staged(ggml_backend_t dst_backend, const struct ggml_tensor * src,
                        struct ggml_tensor * dst) {
    struct fake_backend * b = of(dst_backend);
    const size_t size = ggml_nbytes(src);
    char * staged = malloc(size);
    if (!staged) return false;
    const struct fake_stamp reading = fake_host_stamp(b->device->world, "staging '%.40s'", src->name);
    fake_touch(b->device->world, &reading, (uintptr_t) src->data, size, false);
    memcpy(staged, fake_bytes(src), size);
    const struct fake_stamp stamp =
        fake_queue_stamp(b->queue, "copying '%.40s' to %s", src->name, b->device->name);
    fake_touch(b->device->world, &stamp, (uintptr_t) dst->data, size, true);
    b->device->counts.staged++;
    add_move(b->queue, &stamp, (struct move){ fake_bytes(dst), staged, size, 1, 0, 0, staged });
    return true;
}

static void wait_for(struct fake_queue * queue, struct fake_queue * other) {
    if (queue == other) return;
    const struct fake_mark mark = fake_queue_mark(other);
    fake_queue_wait(queue, &mark);
}

static void copy_queued(struct fake_backend * from, struct fake_backend * to, const struct ggml_tensor * src,
                        struct ggml_tensor * dst) {
    const enum fake_copying copying = to->device->options.copying;
    struct fake_queue * queue = copying == FAKE_BY_SOURCE ? from->queue : to->queue;
    if (copying == FAKE_APART) queue = to->copier;
    wait_for(queue, from->queue);
    const struct fake_stamp stamp = fake_queue_stamp(queue, "copying '%.40s' from %s to %s", src->name,
                                                     from->device->name, to->device->name);
    fake_touch(to->device->world, &stamp, (uintptr_t) src->data, ggml_nbytes(src), false);
    fake_touch(to->device->world, &stamp, (uintptr_t) dst->data, ggml_nbytes(dst), true);
    add_move(queue, &stamp,
             (struct move){ fake_bytes(dst), fake_bytes(src), ggml_nbytes(src), 1, 0, 0, NULL });
    wait_for(to->queue, queue);
    if (copying == FAKE_BY_DESTINATION) wait_for(from->queue, queue);
}

static bool is_fake(ggml_backend_t backend) {
    return backend->iface.free == backend_free;
}

static bool can_copy(struct fake_device * d, const struct ggml_tensor * src, const struct ggml_tensor * dst) {
    if (d->orders.lost || fake_turn(&d->orders.copy)) return false;
    return fake_memory_of(dst) && (fake_memory_of(src) || fake_is_host(src));
}

static bool cpy_async(ggml_backend_t src_backend, ggml_backend_t dst_backend, const struct ggml_tensor * src,
                      struct ggml_tensor * dst) {
    struct fake_backend * to = of(dst_backend);
    if (!can_copy(to->device, src, dst)) return false;
    struct fake_backend * from = is_fake(src_backend) ? of(src_backend) : NULL;
    if (!from || !from->queue) return copy_staged(dst_backend, src, dst);
    to->device->counts.copies_async++;
    copy_queued(from, to, src, dst);
    return true;
}

// ---- graphs ---------------------------------------------------------------------------------------------

static void run_nothing(void * data) {
    (void) data;
}

static bool has_op(struct ggml_cgraph * graph, enum ggml_op op) {
    for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
        if (ggml_graph_node(graph, i)->op == op) return true;
    }
    return false;
}

static bool may_launch(struct fake_device * d, struct ggml_cgraph * graph) {
    d->counts.launches++;
    if (fake_turn(&d->orders.lose_at)) d->orders.lost = true;
    if (d->orders.lies_about != GGML_OP_NONE && has_op(graph, d->orders.lies_about)) return false;
    return !d->orders.lost && !fake_turn(&d->orders.launch);
}

static enum ggml_status compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    struct fake_backend * b = of(backend);
    if (!may_launch(b->device, graph)) return GGML_STATUS_FAILED;
    const struct fake_stamp stamp =
        b->queue ? fake_queue_stamp(b->queue, "a launch on %s", b->device->name)
                 : fake_host_stamp(b->device->world, "a launch on %s", b->device->name);
    struct fake_launch * launch = fake_launch_new(b, graph, &stamp);
    if (b->queue)
        fake_queue_add(b->queue, &stamp, launch ? fake_launch_run : run_nothing, launch);
    else if (launch)
        fake_launch_run(launch);
    return launch ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

static const struct ggml_tensor * base_of(const struct ggml_tensor * t) {
    return t->view_src ? t->view_src : t;
}

// Does either use memory that the other one writes, or may write?
static bool are_independent(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    const struct ggml_tensor *of_a[GGML_MAX_SRC + 1] = { base_of(a) },
                                                  *of_b[GGML_MAX_SRC + 1] = { base_of(b) };
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        of_a[i + 1] = a->src[i] ? base_of(a->src[i]) : NULL;
        of_b[i + 1] = b->src[i] ? base_of(b->src[i]) : NULL;
    }
    for (int i = 0; i <= GGML_MAX_SRC; i++) {
        if (of_a[i] == of_b[0] || of_b[i] == of_a[0]) return false;
    }
    return a->op != GGML_OP_OPT_STEP_ADAMW && b->op != GGML_OP_OPT_STEP_ADAMW; // these write sources, too
}

static void reorder(ggml_backend_t backend, struct ggml_cgraph * graph,
                    struct ggml_backend_graph_optimize_params * params) {
    (void) params;
    struct ggml_tensor ** nodes = ggml_graph_nodes(graph);
    of(backend)->device->counts.optimizes++;
    for (int i = 1; i < ggml_graph_n_nodes(graph); i++) {
        struct ggml_tensor *a = nodes[i - 1], *b = nodes[i];
        if (!are_independent(a, b)) continue;
        nodes[i - 1] = b;
        nodes[i] = a;
    }
}

// ---- events ---------------------------------------------------------------------------------------------

struct fake_event {
    struct ggml_backend_event event;
    struct fake_mark mark;
};

ggml_backend_event_t fake_event_new(ggml_backend_dev_t dev) {
    struct fake_device * d = dev->context;
    struct fake_event * e = fake_turn(&d->orders.event) || d->orders.lost ? NULL : calloc(1, sizeof(*e));
    if (!e) return NULL;
    e->event = (struct ggml_backend_event){ dev, e };
    d->counts.events++;
    d->world->live++;
    return &e->event;
}

void fake_event_free(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    struct fake_device * d = dev->context;
    d->counts.events_freed++;
    d->world->live--;
    free(event->context);
}

void fake_event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t event) {
    struct fake_device * d = dev->context;
    d->counts.event_synchronizes++;
    fake_queue_synchronize(d->world, &((struct fake_event *) event->context)->mark);
}

static void event_record(ggml_backend_t backend, ggml_backend_event_t event) {
    of(backend)->device->counts.records++;
    ((struct fake_event *) event->context)->mark = fake_queue_mark(of(backend)->queue);
}

// Those of another kind of device are waited for by the program.
static void event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    of(backend)->device->counts.waits++;
    if (event->device->iface.event_free != fake_event_free) {
        ggml_backend_event_synchronize(event);
        return;
    }
    fake_queue_wait(of(backend)->queue, &((struct fake_event *) event->context)->mark);
}

// ---- life -----------------------------------------------------------------------------------------------

static struct ggml_backend_i iface_for(const struct fake_options * o) {
    struct ggml_backend_i iface = { .get_name = backend_name,
                                    .free = backend_free,
                                    .graph_compute = compute };
    if (o->reorders) iface.graph_optimize = reorder;
    if (o->mode == FAKE_AT_ONCE) return iface;
    iface.synchronize = backend_synchronize;
    if (o->async_transfers) {
        iface.set_tensor_async = set_async;
        iface.get_tensor_async = get_async;
    }
    if (o->async_transfers && o->transfers_2d) {
        iface.set_tensor_2d_async = set_2d_async;
        iface.get_tensor_2d_async = get_2d_async;
    }
    if (o->async_copies) iface.cpy_tensor_async = cpy_async;
    if (o->events) {
        iface.event_record = event_record;
        iface.event_wait = event_wait;
    }
    return iface;
}

static bool start(struct fake_backend * b) {
    b->cpu = ggml_backend_cpu_init();
    if (!b->cpu) return false;
    ggml_backend_cpu_set_n_threads(b->cpu, 1);
    if (b->device->options.mode == FAKE_AT_ONCE) return true;
    b->queue = fake_queue_new(b->device->world, b->device->options.mode);
    if (!b->queue || b->device->options.copying != FAKE_APART) return b->queue;
    b->copier = fake_queue_new(b->device->world, b->device->options.mode);
    return b->copier;
}

ggml_backend_t fake_backend_new(struct fake_device * device) {
    static ggml_guid guid = { 0x66, 0x61, 0x6b, 0x65, 0x2d, 0x64, 0x65, 0x76,
                              0x69, 0x63, 0x65, 0x2d, 0x7e, 0x21, 0x40, 1 };
    struct fake_backend * b = calloc(1, sizeof(*b));
    ggml_backend_t backend = calloc(1, sizeof(*backend));
    if (b) b->device = device;
    if (!b || !backend || !start(b)) {
        if (b) end(b);
        free(b);
        free(backend);
        return NULL;
    }
    *backend = (struct ggml_backend){ &guid, iface_for(&device->options), &device->device, b };
    device->counts.backends++;
    device->world->live++;
    return backend;
}
