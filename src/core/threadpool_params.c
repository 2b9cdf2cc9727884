// SPDX-License-Identifier: MIT
// What a thread pool is made of. The pool itself is the CPU back end's.
#include <string.h>

#include "ggml.h"

void ggml_threadpool_params_init(struct ggml_threadpool_params * p, int n_threads) {
    if (!p) return;
    *p =
        (struct ggml_threadpool_params){ .n_threads = n_threads, .prio = GGML_SCHED_PRIO_NORMAL, .poll = 50 };
}

struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads) {
    struct ggml_threadpool_params p;
    ggml_threadpool_params_init(&p, n_threads);
    return p;
}

bool ggml_threadpool_params_match(const struct ggml_threadpool_params * a,
                                  const struct ggml_threadpool_params * b) {
    return a && b && a->n_threads == b->n_threads && a->prio == b->prio && a->poll == b->poll &&
           a->strict_cpu == b->strict_cpu && memcmp(a->cpumask, b->cpumask, sizeof(a->cpumask)) == 0;
}
