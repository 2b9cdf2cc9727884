// SPDX-License-Identifier: MIT
// What tests of training share: a scheduler on the CPU, a context for static graphs whose parameters start
// from a seed.
#ifndef TN_TESTS_LEARN_H
#define TN_TESTS_LEARN_H

#include "harness.h"

#include <math.h>

#include "base/error.h"
#include "ggml-alloc.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml-opt.h"

struct learner {
    ggml_backend_t backend;
    ggml_backend_sched_t sched;
    struct ggml_context * ctx;         // parameters, inputs
    struct ggml_context * ctx_compute; // the rest of the graph
    ggml_backend_buffer_t buffer;      // of ctx
    struct test_rng rng;
};

static inline struct learner learner_new(int n_threads, uint64_t seed) {
    struct learner l = { .backend = ggml_backend_cpu_init(), .rng = { seed } };
    assert_non_null(l.backend);
    ggml_backend_cpu_set_n_threads(l.backend, n_threads);
    l.sched = ggml_backend_sched_new(&l.backend, NULL, 1, GGML_DEFAULT_GRAPH_SIZE, false, true);
    l.ctx = ggml_init((struct ggml_init_params){ 64 * ggml_tensor_overhead(), NULL, true });
    const size_t size = 512 * ggml_tensor_overhead() + 8 * ggml_graph_overhead_custom(256, true);
    l.ctx_compute = ggml_init((struct ggml_init_params){ size, NULL, true });
    assert_non_null(l.sched);
    assert_non_null(l.ctx);
    assert_non_null(l.ctx_compute);
    return l;
}

static inline void learner_free(struct learner * l) {
    ggml_backend_buffer_free(l->buffer);
    ggml_free(l->ctx_compute);
    ggml_free(l->ctx);
    ggml_backend_sched_free(l->sched);
    ggml_backend_free(l->backend);
}

static inline struct ggml_tensor * learner_param(struct learner * l, const char * name, int64_t ne0,
                                                 int64_t ne1, int64_t ne2, int64_t ne3) {
    struct ggml_tensor * t = ggml_new_tensor_4d(l->ctx, GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    ggml_set_param(t);
    return ggml_set_name(t, name);
}

// Uniform in the bounds of He et al. for matrices and kernels; vectors, which are biases, 0.
static inline void learner_fill(struct learner * l, struct ggml_tensor * t) {
    const int64_t n = ggml_nelements(t);
    const int64_t fan_in = ggml_n_dims(t) > 2 ? t->ne[0] * t->ne[1] * t->ne[2] : t->ne[0];
    const float bound = n == t->ne[0] ? 0.0f : sqrtf(6.0f / (float) fan_in);
    for (int64_t i = 0; i < n; i++)
        ((float *) t->data)[i] = test_rng_float(&l->rng, -bound, bound);
}

// Memory for what is in ctx; start values for parameters, 0 for the rest.
static inline void learner_start(struct learner * l) {
    l->buffer = ggml_backend_alloc_ctx_tensors(l->ctx, l->backend);
    assert_non_null(l->buffer);
    ggml_backend_buffer_clear(l->buffer, 0);
    for (struct ggml_tensor * t = ggml_get_first_tensor(l->ctx); t; t = ggml_get_next_tensor(l->ctx, t)) {
        if (t->flags & GGML_TENSOR_FLAG_PARAM) learner_fill(l, t);
    }
}

static inline struct ggml_opt_params learner_params(struct learner * l, struct ggml_tensor * inputs,
                                                    struct ggml_tensor * outputs,
                                                    enum ggml_opt_loss_type loss) {
    struct ggml_opt_params p = ggml_opt_default_params(l->sched, loss);
    p.ctx_compute = l->ctx_compute;
    p.inputs = inputs;
    p.outputs = outputs;
    return p;
}

static inline ggml_opt_context_t learner_opt(const struct ggml_opt_params * p) {
    ggml_opt_context_t opt = ggml_opt_init(*p);
    if (!opt) fail_msg("refused: %s", ggml_ext_last_error());
    return opt;
}

static inline float learner_f32(const struct ggml_tensor * t, int64_t i) {
    float value;
    ggml_backend_tensor_get(t, &value, (size_t) i * sizeof(value), sizeof(value));
    return value;
}

static inline bool learner_slow(void) {
    const char * env = getenv("TENON_SLOW");
    return env && env[0] == '1';
}

// The call fails with these words as its reason.
#define REFUSED(call, words)                                                                                 \
    do {                                                                                                     \
        tn_error_clear();                                                                                    \
        call;                                                                                                \
        assert_contains(ggml_ext_last_error(), words);                                                       \
    } while (0)

#endif
