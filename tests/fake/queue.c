// SPDX-License-Identifier: MIT
// Queues of work, in order each, with waits for places in others. A lazy queue is executed by whoever waits
// for it, up to the place waited for and no further; another one by its thread, after a random pause.
//
// Waits lead only to what was handed over earlier, so they cannot form a circle.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fake/fake_int.h"

static void run_until(struct fake_world * world, struct fake_place place);

static uint64_t next_random(uint64_t * rng) {
    uint64_t z = *rng += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    return z ^ (z >> 27);
}

// The first operation of the queue, which no other thread executes. The mutex is held, but not during the
// work.
static void run_first(struct fake_queue * q) {
    struct fake_op * op = q->first;
    q->running = true;
    for (int i = 0; i < FAKE_QUEUES; i++) {
        if (op->after[i] > 0) run_until(q->world, (struct fake_place){ i, op->after[i] });
    }
    pthread_mutex_unlock(&q->world->mutex);
    op->run(op->data);
    pthread_mutex_lock(&q->world->mutex);
    q->first = op->next;
    if (!q->first) q->last = NULL;
    q->done = op->number;
    q->running = false;
    pthread_cond_broadcast(&q->world->moved);
    free(op);
}

// The mutex is held.
static void run_until(struct fake_world * world, struct fake_place place) {
    struct fake_queue * q = world->queues[place.queue];
    while (q && q->done < place.number) {
        if (q->mode == FAKE_LAZY && q->first && !q->running)
            run_first(q);
        else
            pthread_cond_wait(&world->moved, &world->mutex);
    }
}

static void pause_a_while(struct fake_queue * q) {
    const long ns = (long) (next_random(&q->rng) % 4 == 0 ? next_random(&q->rng) % 50000 : 0);
    const struct timespec t = { 0, ns };
    if (ns > 0) nanosleep(&t, NULL);
}

static void * work(void * arg) {
    struct fake_queue * q = arg;
    pthread_mutex_lock(&q->world->mutex);
    for (;;) {
        while (!q->first && !q->stop)
            pthread_cond_wait(&q->world->moved, &q->world->mutex);
        if (!q->first) break;
        pthread_mutex_unlock(&q->world->mutex);
        pause_a_while(q);
        pthread_mutex_lock(&q->world->mutex);
        run_first(q);
    }
    pthread_mutex_unlock(&q->world->mutex);
    return NULL;
}

struct fake_queue * fake_queue_new(struct fake_world * world, enum fake_mode mode) {
    int index = FAKE_HOST + 1;
    while (index < FAKE_QUEUES && world->queues[index])
        index++;
    struct fake_queue * q = index < FAKE_QUEUES ? calloc(1, sizeof(*q)) : NULL;
    if (!q) return NULL;
    q->world = world;
    q->index = index;
    q->mode = mode;
    q->rng = next_random(&world->rng);
    q->done = world->numbers[index];
    if (mode == FAKE_BACKGROUND && pthread_create(&q->thread, NULL, work, q) != 0) {
        free(q);
        return NULL;
    }
    pthread_mutex_lock(&world->mutex);
    world->queues[index] = q;
    pthread_mutex_unlock(&world->mutex);
    return q;
}

static void finish(struct fake_queue * q) {
    run_until(q->world, (struct fake_place){ q->index, q->world->numbers[q->index] });
}

void fake_queue_free(struct fake_queue * q) {
    struct fake_world * world = q->world;
    const struct fake_mark mark = fake_queue_mark(q);
    fake_queue_synchronize(world, &mark);
    pthread_mutex_lock(&world->mutex);
    q->stop = true;
    pthread_cond_broadcast(&world->moved);
    world->queues[q->index] = NULL;
    pthread_mutex_unlock(&world->mutex);
    if (q->mode == FAKE_BACKGROUND) pthread_join(q->thread, NULL);
    free(q);
}

void fake_queue_finish(struct fake_world * world) {
    pthread_mutex_lock(&world->mutex);
    for (int i = 0; i < FAKE_QUEUES; i++) {
        if (world->queues[i]) finish(world->queues[i]);
    }
    pthread_mutex_unlock(&world->mutex);
}

// ---- handing over ---------------------------------------------------------------------------------------

struct fake_stamp fake_queue_stamp(struct fake_queue * q, const char * fmt, ...) {
    fake_clock_join(&q->clock, &q->world->host);
    struct fake_stamp s = { .queue = q->index, .before = q->clock };
    va_list args;
    va_start(args, fmt);
    vsnprintf(s.what, sizeof(s.what), fmt, args);
    va_end(args);
    s.number = ++q->world->numbers[q->index];
    q->clock.at[q->index] = s.number;
    return s;
}

void fake_queue_add(struct fake_queue * q, const struct fake_stamp * stamp, void (*run)(void * data),
                    void * data) {
    struct fake_op * op = calloc(1, sizeof(*op));
    if (!op) abort();
    op->number = stamp->number;
    op->run = run;
    op->data = data;
    for (int i = 0; i < FAKE_QUEUES; i++) {
        op->after[i] = q->after[i];
        q->after[i] = 0;
    }
    pthread_mutex_lock(&q->world->mutex);
    if (q->last)
        q->last->next = op;
    else
        q->first = op;
    q->last = op;
    pthread_cond_broadcast(&q->world->moved);
    pthread_mutex_unlock(&q->world->mutex);
}

static void nothing(void * data) {
    (void) data;
}

// Waits that no operation followed yet count as one.
static void settle_waits(struct fake_queue * q) {
    for (int i = 0; i < FAKE_QUEUES; i++) {
        if (q->after[i] == 0) continue;
        const struct fake_stamp stamp = fake_queue_stamp(q, "waiting");
        fake_queue_add(q, &stamp, nothing, NULL);
    }
}

struct fake_mark fake_queue_mark(struct fake_queue * q) {
    settle_waits(q);
    return (struct fake_mark){ { q->index, q->world->numbers[q->index] }, q->clock };
}

void fake_queue_wait(struct fake_queue * q, const struct fake_mark * mark) {
    fake_clock_join(&q->clock, &mark->clock);
    if (mark->place.queue == q->index) return;
    uint64_t * after = &q->after[mark->place.queue];
    if (*after < mark->place.number) *after = mark->place.number;
}

void fake_queue_synchronize(struct fake_world * world, const struct fake_mark * mark) {
    pthread_mutex_lock(&world->mutex);
    run_until(world, mark->place);
    pthread_mutex_unlock(&world->mutex);
    fake_clock_join(&world->host, &mark->clock);
}
