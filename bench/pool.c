// SPDX-License-Identifier: MIT
// Thread pools where there are more threads than processors, and where there is nothing to do.
//
// Oversubscription: four contexts, each a thread with a back end of its own, compute 2,000 small products
// each on two processors; with 4 threads a context against 1 thread a context. Pairs of runs alternate, so
// that whatever else the machine does meets both; the budget is for the median of their quotients.
// Idle: the processor time that a pool takes in two seconds after it has worked.
// Exit status 1 if a budget is missed.
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "measure.h"

enum {
    N_CONTEXTS = 4,
    N_THREADS = 4,
    N_PROCESSORS = 2,
    N_PRODUCTS = 2000,
    N_PAIRS = 11,
};

static const double BUDGET_QUOTIENT = 1.5;
static const double BUDGET_IDLE_MS = 50;

struct size {
    int k, rows, columns;
    int per_graph; // products of a graph, each the next one's source
};

static const struct size sizes[] = {
    { 64, 64, 64, 1 }, { 128, 128, 16, 1 }, { 256, 256, 8, 20 }, { 256, 256, 64, 1 }, { 512, 512, 1, 100 },
};

struct context {
    const struct size * size;
    int n_threads;
    pthread_barrier_t * start;
    pthread_t thread;
};

static void fail(const char * what) {
    fprintf(stderr, "bench pool: %s\n", what);
    exit(2);
}

static struct ggml_tensor * filled(struct ggml_context * ctx, int64_t ne0, int64_t ne1) {
    struct ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, ne0, ne1);
    for (int64_t i = 0; i < ne0 * ne1; i++)
        ((float *) t->data)[i] = (float) (i % 17 - 8) / 64.0f;
    return t;
}

static struct ggml_cgraph * products(struct ggml_context * ctx, const struct size * s) {
    struct ggml_tensor * w = filled(ctx, s->k, s->rows);
    struct ggml_tensor * x = filled(ctx, s->k, s->columns);
    for (int i = 0; i < s->per_graph; i++)
        x = ggml_mul_mat(ctx, w, x);
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, x);
    return g;
}

static void * run_context(void * arg) {
    const struct context * c = arg;
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 16 << 20 });
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (!ctx || !backend) fail("no memory");
    struct ggml_cgraph * g = products(ctx, c->size);
    ggml_backend_cpu_set_n_threads(backend, c->n_threads);
    for (int i = -1; i < N_PRODUCTS / c->size->per_graph; i++) {
        if (ggml_backend_graph_compute(backend, g) != GGML_STATUS_SUCCESS) fail("a graph was not computed");
        if (i < 0) pthread_barrier_wait(c->start); // the first one makes the pool
    }
    ggml_backend_free(backend);
    ggml_free(ctx);
    return NULL;
}

// Seconds from the moment when all are ready until the last has finished.
static double run_contexts(const struct size * size, int n_threads) {
    struct context contexts[N_CONTEXTS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, N_CONTEXTS + 1);
    for (int i = 0; i < N_CONTEXTS; i++) {
        contexts[i] = (struct context){ .size = size, .n_threads = n_threads, .start = &start };
        if (pthread_create(&contexts[i].thread, NULL, run_context, &contexts[i]) != 0) fail("no thread");
    }
    pthread_barrier_wait(&start);
    const double begin = bench_seconds();
    for (int i = 0; i < N_CONTEXTS; i++)
        pthread_join(contexts[i].thread, NULL);
    pthread_barrier_destroy(&start);
    return bench_seconds() - begin;
}

static bool oversubscribe(const struct size * s) {
    double many[N_PAIRS], one[N_PAIRS], quotient[N_PAIRS];
    for (int i = 0; i < N_PAIRS; i++) {
        if (i % 2) many[i] = run_contexts(s, N_THREADS);
        one[i] = run_contexts(s, 1);
        if (i % 2 == 0) many[i] = run_contexts(s, N_THREADS);
        quotient[i] = many[i] / one[i];
    }
    qsort(many, N_PAIRS, sizeof(many[0]), bench_by_value);
    qsort(one, N_PAIRS, sizeof(one[0]), bench_by_value);
    qsort(quotient, N_PAIRS, sizeof(quotient[0]), bench_by_value);
    const double median = quotient[N_PAIRS / 2];
    const bool met = median <= BUDGET_QUOTIENT;
    printf("{\"bench\": \"pool_oversubscribed\", \"product\": \"%dx%dx%d\", \"per_graph\": %d, "
           "\"threads_%d_ms\": %.1f, \"threads_1_ms\": %.1f, \"quotient\": %.2f, \"worst\": %.2f, "
           "\"budget\": %g, \"met\": %s}\n",
           s->rows, s->k, s->columns, s->per_graph, N_THREADS, many[N_PAIRS / 2] * 1e3,
           one[N_PAIRS / 2] * 1e3, median, quotient[N_PAIRS - 1], BUDGET_QUOTIENT, met ? "true" : "false");
    return met;
}

static double processor_ms(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1e3 * (double) (u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-3 * (double) (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static bool idle(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 16 << 20 });
    struct ggml_threadpool_params params = ggml_threadpool_params_default(N_THREADS);
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (!ctx || !pool || !backend) fail("no memory");
    struct ggml_cgraph * g = products(ctx, &(struct size){ 256, 256, 64, 10 });
    ggml_backend_cpu_set_n_threads(backend, N_THREADS);
    ggml_backend_cpu_set_threadpool(backend, pool);
    for (int i = 0; i < 20; i++) {
        if (ggml_backend_graph_compute(backend, g) != GGML_STATUS_SUCCESS) fail("a graph was not computed");
    }
    const double before = processor_ms();
    nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
    const double used = processor_ms() - before;
    ggml_backend_free(backend);
    ggml_threadpool_free(pool);
    ggml_free(ctx);
    printf("{\"bench\": \"pool_idle\", \"threads\": %d, \"seconds\": 2, \"processor_ms\": %.2f, "
           "\"budget_ms\": %g, \"met\": %s}\n",
           N_THREADS, used, BUDGET_IDLE_MS, used <= BUDGET_IDLE_MS ? "true" : "false");
    return used <= BUDGET_IDLE_MS;
}

// The first two of the processors that the process may use.
static void keep_processors(void) {
    cpu_set_t have, keep;
    CPU_ZERO(&keep);
    if (sched_getaffinity(0, sizeof(have), &have) != 0) fail("no affinity");
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&keep) < N_PROCESSORS; i++) {
        if (CPU_ISSET(i, &have)) CPU_SET(i, &keep);
    }
    if (CPU_COUNT(&keep) < N_PROCESSORS) fprintf(stderr, "bench pool: only one processor\n");
    if (sched_setaffinity(0, sizeof(keep), &keep) != 0) fail("cannot stay on two processors");
}

int main(void) {
    keep_processors();
    bool met = idle();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        met = oversubscribe(&sizes[i]) && met;
    return met ? 0 : 1;
}
