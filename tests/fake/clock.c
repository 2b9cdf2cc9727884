// SPDX-License-Identifier: MIT
// Which operation comes before which, and whether two that touch the same bytes are in any order.
//
// The answer is found when an operation is handed over, not when it runs: two operations are in order if the
// program made them so (one queue, an event, a wait), however they happen to be executed. Everything that the
// program has waited for comes before all that follows, so such accesses are forgotten.
#include <stdlib.h>
#include <string.h>

#include "fake/fake_int.h"

void fake_clock_join(struct fake_clock * clock, const struct fake_clock * other) {
    for (int i = 0; i < FAKE_QUEUES; i++) {
        if (clock->at[i] < other->at[i]) clock->at[i] = other->at[i];
    }
}

static bool comes_before(const struct fake_access * a, const struct fake_stamp * s) {
    return a->queue == s->queue || a->number <= s->before.at[a->queue];
}

static bool overlap(const struct fake_access * a, uintptr_t begin, uintptr_t end) {
    return a->begin < end && begin < a->end;
}

static void report(struct fake_world * world, const struct fake_access * a, const struct fake_stamp * s,
                   bool writes) {
    fake_fault(world, "%s %s bytes that %s may still %s: neither waits for the other", s->what,
               writes ? "writes" : "reads", a->what, a->writes ? "write" : "read");
}

// What every later operation comes after, or what this access makes superfluous: it is after the old one, and
// whoever is after it is so too.
static bool is_forgotten(const struct fake_world * world, const struct fake_access * a,
                         const struct fake_access * by, const struct fake_stamp * s) {
    if (a->number <= world->host.at[a->queue]) return true;
    const bool inside = by->begin <= a->begin && a->end <= by->end;
    return inside && comes_before(a, s) && (by->writes || (!a->writes && a->queue == by->queue));
}

static void add(struct fake_history * h, const struct fake_access * access) {
    if (h->count == h->room) {
        h->room = h->room ? 2 * h->room : 16;
        h->items = realloc(h->items, (size_t) h->room * sizeof(*h->items));
        if (!h->items) abort();
    }
    h->items[h->count++] = *access;
}

static void touch(struct fake_world * world, struct fake_history * h, const struct fake_access * access,
                  const struct fake_stamp * s) {
    int kept = 0;
    for (int i = 0; i < h->count; i++) {
        const struct fake_access a = h->items[i];
        const bool matters = (a.writes || access->writes) && overlap(&a, access->begin, access->end);
        if (matters && !comes_before(&a, s)) report(world, &a, s, access->writes);
        if (!is_forgotten(world, &a, access, s)) h->items[kept++] = a;
    }
    h->count = kept;
    add(h, access);
}

static struct fake_history * history_at(struct fake_world * world, uintptr_t begin) {
    for (struct fake_memory * m = world->memories; m; m = m->next) {
        if (m->base <= begin && begin < m->base + m->size) return &m->history;
    }
    return &world->outside;
}

void fake_touch(struct fake_world * world, const struct fake_stamp * stamp, uintptr_t begin, size_t size,
                bool writes) {
    if (size == 0) return;
    struct fake_access access = {
        .begin = begin,
        .end = begin + size,
        .queue = stamp->queue,
        .number = stamp->number,
        .writes = writes,
    };
    memcpy(access.what, stamp->what, sizeof(access.what));
    touch(world, history_at(world, begin), &access, stamp);
}

// Rows that are contiguous but apart from each other: one by one, if they are not too many.
static bool has_gaps(const struct ggml_tensor * t) {
    const int64_t n_rows = t->ne[1] * t->ne[2] * t->ne[3];
    const size_t row = ggml_row_size(t->type, t->ne[0]);
    return n_rows > 1 && n_rows <= 256 && t->nb[0] == ggml_type_size(t->type) &&
           ggml_nbytes(t) > row * (size_t) n_rows;
}

void fake_touch_tensor(struct fake_world * world, const struct fake_stamp * stamp,
                       const struct ggml_tensor * t, bool writes) {
    const uintptr_t at = (uintptr_t) t->data;
    if (!has_gaps(t)) {
        fake_touch(world, stamp, at, ggml_nbytes(t), writes);
        return;
    }
    for (int64_t i3 = 0; i3 < t->ne[3]; i3++)
        for (int64_t i2 = 0; i2 < t->ne[2]; i2++)
            for (int64_t i1 = 0; i1 < t->ne[1]; i1++)
                fake_touch(world, stamp,
                           at + (size_t) i1 * t->nb[1] + (size_t) i2 * t->nb[2] + (size_t) i3 * t->nb[3],
                           ggml_row_size(t->type, t->ne[0]), writes);
}

void fake_history_free(struct fake_history * history) {
    free(history->items);
    *history = (struct fake_history){ 0 };
}
