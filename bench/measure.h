// SPDX-License-Identifier: MIT
// What programs that measure share: a clock, the median of repeated runs, and one JSON object a line as
// output.
#ifndef TN_BENCH_MEASURE_H
#define TN_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_seconds(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double) ts.tv_sec + 1e-9 * (double) ts.tv_nsec;
}

struct bench_times {
    double best, median; // seconds of a run
};

static inline int bench_by_value(const void * a, const void * b) {
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

enum { BENCH_MAX_RUNS = 101 };

// Runs what is to be measured n times, n odd and at most BENCH_MAX_RUNS, after one run that does not count.
static inline struct bench_times bench_run(void (*what)(void * arg), void * arg, int n) {
    double times[BENCH_MAX_RUNS];
    what(arg);
    for (int i = 0; i < n; i++) {
        const double start = bench_seconds();
        what(arg);
        times[i] = bench_seconds() - start;
    }
    qsort(times, (size_t) n, sizeof(times[0]), bench_by_value);
    return (struct bench_times){ .best = times[0], .median = times[n / 2] };
}

// Ends a line with the figures and the budget, in milliseconds. Returns whether the budget is met.
static inline bool bench_print_times(struct bench_times t, double budget_ms) {
    const bool met = t.median * 1e3 <= budget_ms;
    printf("\"median_ms\": %.3f, \"best_ms\": %.3f, \"budget_ms\": %g, \"met\": %s}\n", t.median * 1e3,
           t.best * 1e3, budget_ms, met ? "true" : "false");
    return met;
}

#endif
