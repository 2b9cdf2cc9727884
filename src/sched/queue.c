// SPDX-License-Identifier: MIT
// The order of work on several back ends. Each runs what it is given in order, but when is its own matter: a
// lazy one may not begin before somebody waits for it. So of two pieces of work on different back ends none
// comes first unless it is made to. Two have to be ordered if both touch the same memory and one writes it.
//
//      GPU0   [1: writes x] ------------------ [3: writes y over x] ...
//                     \ mark                      ^
//                      v                         / mark behind 2, which reads x
//      GPU1            [2: copies x] [2: computes] ...
//
// The scheduler numbers the work of each back end and notes, for each class of memory, the last work that
// reads and the last that writes it. From that follows what a new piece has to come after. It waits only for
// what is not known to come before already:
//
// - by an event where both back ends are of one kind and have events: nobody stops;
// - else by the host, which waits for an event or for the whole back end.
//
// Classes are coarse, so at times something waits that would not have to; never the other way round. The
// instances of inputs are classes of their own: filling one waits only for the graph that used it last, and
// that is what lets several graphs be in flight.
//
// Copies that a back end queues by itself (cpy_tensor_async) come after all work of the source's back end and
// before later work of the destination's; neither after earlier work of the destination's, nor before later
// work of the source's. They count as work of the destination's, and the source's back end is made to
// wait for what they must come after.
#include <string.h>

#include "sched/sched_int.h"

uint32_t tn_queue_bit(int type) {
    return 1u << (type < TN_SCHED_TYPES ? type : TN_SCHED_TYPES - 1);
}

void tn_queue_init(struct ggml_backend_sched * s, int backend) {
    struct tn_queue * q = &s->queues[backend];
    q->immediate = !q->backend->iface.synchronize;
    if (!q->backend->iface.event_record) return;
    const int n = s->n_copies > 1 ? 1 + s->n_copies : 1;
    for (int i = 0; i < n; i++)
        q->events[i] = ggml_backend_event_new(q->backend->device);
}

void tn_queue_fini(struct ggml_backend_sched * s, int backend) {
    for (int i = 0; i < 1 + TN_SCHED_INSTANCES; i++)
        ggml_backend_event_free(s->queues[backend].events[i]);
}

void tn_queue_push(struct ggml_backend_sched * s, int backend, const struct tn_touch * touch) {
    struct tn_queue * q = &s->queues[backend];
    q->now++;
    for (int k = 0; k < TN_MEMORY_KINDS; k++) {
        for (int t = 0; t < TN_SCHED_TYPES; t++) {
            if (touch->reads[k] >> t & 1) q->reads[k][t] = q->now;
            if (touch->writes[k] >> t & 1) q->writes[k][t] = q->now;
        }
    }
    if (q->immediate) q->done = q->now;
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t conflict(const struct ggml_backend_sched * s, int backend, const struct tn_touch * touch) {
    const struct tn_queue * q = &s->queues[backend];
    uint64_t number = 0;
    for (int k = 0; k < TN_MEMORY_KINDS; k++) {
        const uint32_t any = touch->reads[k] | touch->writes[k];
        for (int t = 0; any && t < TN_SCHED_TYPES; t++) {
            if (any >> t & 1) number = later(number, q->writes[k][t]);
            if (touch->writes[k] >> t & 1) number = later(number, q->reads[k][t]);
        }
    }
    return number;
}

void tn_queue_finish(struct ggml_backend_sched * s, int backend) {
    struct tn_queue * q = &s->queues[backend];
    ggml_backend_synchronize(q->backend);
    q->done = q->now;
}

void tn_queue_finish_all(struct ggml_backend_sched * s) {
    for (int b = 0; b < s->n_backends; b++)
        tn_queue_finish(s, b);
}

// The earliest mark at or behind the work with that number, -1: none.
static int find_mark(const struct tn_queue * q, uint64_t number) {
    int best = -1;
    for (int i = 0; i < 1 + TN_SCHED_INSTANCES; i++) {
        if (!q->events[i] || q->marks[i] < number) continue;
        if (best < 0 || q->marks[i] < q->marks[best]) best = i;
    }
    return best;
}

void tn_queue_mark(struct ggml_backend_sched * s, int backend, int which) {
    struct tn_queue * q = &s->queues[backend];
    if (!q->events[which] || q->immediate) return;
    ggml_backend_event_record(q->events[which], q->backend);
    q->marks[which] = q->now;
}

static void host_wait(struct ggml_backend_sched * s, int backend, uint64_t number) {
    struct tn_queue * q = &s->queues[backend];
    if (q->done >= number) return;
    const int mark = q->backend->device->iface.event_synchronize ? find_mark(q, number) : -1;
    if (mark < 0) {
        tn_queue_finish(s, backend);
        return;
    }
    ggml_backend_event_synchronize(q->events[mark]);
    q->done = later(q->done, q->marks[mark]);
}

// An event means something only to back ends of the same making.
static bool understands(const struct tn_queue * q, const struct tn_queue * other) {
    if (q->immediate || !q->backend->iface.event_wait || !other->events[0]) return false;
    return q->backend->guid == other->backend->guid ||
           (q->backend->guid && other->backend->guid &&
            memcmp(q->backend->guid, other->backend->guid, sizeof(ggml_guid)) == 0);
}

static void wait_for(struct ggml_backend_sched * s, int backend, int other, uint64_t number) {
    struct tn_queue *q = &s->queues[backend], *o = &s->queues[other];
    if (other == backend || number <= later(o->done, q->after[other])) return;
    if (!understands(q, o)) {
        host_wait(s, other, number);
        return;
    }
    int mark = find_mark(o, number);
    if (mark < 0) {
        tn_queue_mark(s, other, 0);
        mark = 0;
    }
    ggml_backend_event_wait(q->backend, o->events[mark]);
    q->after[other] = o->marks[mark];
}

void tn_queue_order(struct ggml_backend_sched * s, int backend, const struct tn_touch * touch) {
    for (int b = 0; b < s->n_backends; b++)
        wait_for(s, backend, b, conflict(s, b, touch));
}

void tn_queue_settle(struct ggml_backend_sched * s, const struct tn_touch * touch) {
    for (int b = 0; b < s->n_backends; b++)
        host_wait(s, b, conflict(s, b, touch));
}

// Types of memory that a back end can use.
static uint32_t types_of(const struct ggml_backend_sched * s, int backend) {
    uint32_t types = 0;
    for (size_t t = 0; t < s->types.count; t++) {
        if (s->types.items[t].readers >> backend & 1) types |= tn_queue_bit((int) t);
    }
    return types;
}

// Transfers that the caller has queued since the last graph: into memory that is his, and into inputs.
void tn_queue_expect_callers(struct ggml_backend_sched * s) {
    for (int b = 0; b < s->n_backends; b++) {
        struct tn_touch touch = { 0 };
        touch.writes[TN_MEMORY_OUTSIDE] = types_of(s, b);
        touch.writes[TN_MEMORY_INSTANCE + s->cur] = types_of(s, b) & s->input_types;
        if (!s->queues[b].immediate) tn_queue_push(s, b, &touch);
    }
}
