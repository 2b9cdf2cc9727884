// SPDX-License-Identifier: MIT
// The threads of this process as the system sees them, and a graph that is worth several of them.
#ifndef TN_TESTS_UNIT_CPU_THREADS_H
#define TN_TESTS_UNIT_CPU_THREADS_H

#include "harness.h"

#include <dirent.h>
#include <unistd.h>

#include "ggml-cpu.h"

enum { THREADS_MAX = 1024 };

// Their numbers in the system, in no order. Returns how many there are.
static inline int threads_list(long ids[THREADS_MAX]) {
    DIR * dir = opendir("/proc/self/task");
    assert_non_null(dir);
    int n = 0;
    for (struct dirent * e; n < THREADS_MAX && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.') ids[n++] = strtol(e->d_name, NULL, 10);
    }
    closedir(dir);
    return n;
}

static inline int threads_count(void) {
    long ids[THREADS_MAX];
    return threads_list(ids);
}

static inline void threads_nap(long microseconds) {
    nanosleep(&(struct timespec){ .tv_nsec = microseconds * 1000 }, NULL);
}

// A thread that was joined may stand in the list a little longer.
static inline void assert_threads(int expected) {
    int n = threads_count();
    for (int i = 0; i < 5000 && n != expected; i++) {
        threads_nap(1000);
        n = threads_count();
    }
    if (n != expected) fail_msg("%d threads, %d should be left", n, expected);
}

// Does every thread but the calling one sleep, as the system sees it? One that has not begun yet does not.
static inline bool threads_others_sleep(void) {
    long ids[THREADS_MAX];
    const int n = threads_list(ids);
    for (int i = 0; i < n; i++) {
        char path[64], text[256] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", ids[i]);
        FILE * f = fopen(path, "r"); // not there: it has gone
        const size_t got = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
        if (f) fclose(f);
        const char * state = got > 0 ? strrchr(text, ')') : NULL;
        if (ids[i] != (long) getpid() && state && state[2] != 'S') return false;
    }
    return true;
}

// How many there are without any of ours; sanitizers start their own with the first. Counted once, before any
// that was joined can stand in the list.
static inline int threads_at_rest(void) {
    static int rest;
    if (rest == 0) {
        struct ggml_threadpool_params params = ggml_threadpool_params_default(2);
        struct ggml_threadpool * pool = ggml_threadpool_new(&params);
        assert_non_null(pool);
        rest = threads_count() - 1;
        ggml_threadpool_free(pool);
    }
    assert_threads(rest);
    return rest;
}

// Products and maps, each with parts for several threads, and what they give on one.
struct threads_work {
    struct ggml_context * ctx;
    struct ggml_cgraph * g;
    struct ggml_tensor * y;
    void * expected;
};

static inline struct ggml_tensor * threads_matrix(struct ggml_context * ctx, int seed) {
    struct ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 96, 96);
    for (int i = 0; i < 96 * 96; i++)
        ((float *) t->data)[i] = (float) ((i * 7 + seed * 13) % 31 - 15) / 64.0f;
    return t;
}

static inline struct threads_work threads_work_new(int seed) {
    struct threads_work w = { .ctx = ggml_init((struct ggml_init_params){ .mem_size = 4 << 20 }) };
    assert_non_null(w.ctx);
    struct ggml_tensor * a = threads_matrix(w.ctx, seed);
    struct ggml_tensor * x = ggml_mul_mat(w.ctx, a, threads_matrix(w.ctx, seed + 1));
    x = ggml_soft_max(w.ctx, ggml_add(w.ctx, x, a));
    x = ggml_mul_mat(w.ctx, a, ggml_gelu(w.ctx, x));
    w.y = ggml_sqr(w.ctx, x);
    w.g = ggml_new_graph(w.ctx);
    ggml_build_forward_expand(w.g, w.y);
    assert_int_equal(ggml_graph_compute_with_ctx(w.ctx, w.g, 1), GGML_STATUS_SUCCESS);
    w.expected = malloc(ggml_nbytes(w.y));
    memcpy(w.expected, w.y->data, ggml_nbytes(w.y));
    return w;
}

static inline void threads_work_clear(struct threads_work * w) {
    memset(w->y->data, 0xff, ggml_nbytes(w->y));
}

// The same bits as on one thread. For threads of a test as well: no assertion.
static inline bool threads_work_right(const struct threads_work * w) {
    return memcmp(w->y->data, w->expected, ggml_nbytes(w->y)) == 0;
}

static inline void threads_work_free(struct threads_work * w) {
    free(w->expected);
    ggml_free(w->ctx);
}

#endif
