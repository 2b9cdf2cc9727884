// SPDX-License-Identifier: MIT
// Three greedy orders of placing intervals of memory, as published for tensors of inference (Pisarchyk and
// Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, algorithms 1 to 3): each interval
// goes into the smallest gap, among those placed before that share a time with it, that holds it; they differ
// in who comes first. They know the whole graph before they begin, and take time that is quadratic.
#ifndef TN_BENCH_GREEDY_H
#define TN_BENCH_GREEDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct greedy_interval {
    size_t size;
    int begin, end; // both included
    size_t offset;
    size_t breadth; // largest sum of sizes at one of its times
    int widest;     // the first such time
};

static inline bool greedy_meet(const struct greedy_interval * a, const struct greedy_interval * b) {
    return a->begin <= b->end && b->begin <= a->end;
}

// `placed` is sorted by offset.
static inline size_t greedy_offset(struct greedy_interval ** placed, size_t n,
                                   const struct greedy_interval * v) {
    size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct greedy_interval * p = placed[i];
        if (!greedy_meet(p, v)) continue;
        if (p->offset > end && p->offset - end >= v->size && p->offset - end < best_gap) {
            best = end;
            best_gap = p->offset - end;
        }
        if (p->offset + p->size > end) end = p->offset + p->size;
    }
    return best != SIZE_MAX ? best : end;
}

// Places in this order. Returns the peak.
static inline size_t greedy_place(struct greedy_interval ** order, size_t n) {
    struct greedy_interval ** placed = malloc((n + 1) * sizeof(*placed));
    size_t peak = 0;
    for (size_t i = 0; i < n; i++) {
        struct greedy_interval * v = order[i];
        v->offset = greedy_offset(placed, i, v);
        if (v->offset + v->size > peak) peak = v->offset + v->size;
        size_t at = i;
        while (at > 0 && placed[at - 1]->offset > v->offset)
            at--;
        memmove(placed + at + 1, placed + at, (i - at) * sizeof(*placed));
        placed[at] = v;
    }
    free(placed);
    return peak;
}

// What no order gets below: the largest sum of sizes at one time. Notes for each interval where it is widest.
static inline size_t greedy_measure(struct greedy_interval * v, size_t n, int n_times) {
    size_t * sums = calloc((size_t) n_times, sizeof(*sums));
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        for (int t = v[i].begin; t <= v[i].end; t++)
            sums[t] += v[i].size;
    }
    for (size_t i = 0; i < n; i++) {
        v[i].breadth = 0;
        for (int t = v[i].begin; t <= v[i].end; t++) {
            if (sums[t] <= v[i].breadth) continue;
            v[i].breadth = sums[t];
            v[i].widest = t;
        }
        if (v[i].breadth > most) most = v[i].breadth;
    }
    free(sums);
    return most;
}

// ---- the orders ------------------------------------------------------------------------------------------

#define GREEDY_ARGUMENTS(a, b)                                                                               \
    const struct greedy_interval *a = *(struct greedy_interval *const *) x,                                  \
                                 *b = *(struct greedy_interval *const *) y

static inline int greedy_by_first_use(const void * x, const void * y) {
    GREEDY_ARGUMENTS(a, b);
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a > b) - (a < b);
}

static inline int greedy_by_size(const void * x, const void * y) {
    GREEDY_ARGUMENTS(a, b);
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return greedy_by_first_use(x, y);
}

// Time by time from the widest down: what is needed there and not yet placed, by size.
static inline int greedy_by_breadth(const void * x, const void * y) {
    GREEDY_ARGUMENTS(a, b);
    if (a->breadth != b->breadth) return a->breadth > b->breadth ? -1 : 1;
    if (a->widest != b->widest) return a->widest < b->widest ? -1 : 1;
    return greedy_by_size(x, y);
}

typedef int greedy_order_fn(const void * x, const void * y);

static inline size_t greedy_peak(struct greedy_interval * v, size_t n, greedy_order_fn * order) {
    struct greedy_interval ** sorted = malloc((n + 1) * sizeof(*sorted));
    for (size_t i = 0; i < n; i++)
        sorted[i] = &v[i];
    qsort(sorted, n, sizeof(*sorted), order);
    const size_t peak = greedy_place(sorted, n);
    free(sorted);
    return peak;
}

#endif
