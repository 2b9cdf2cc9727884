// SPDX-License-Identifier: MIT
// Numeric tests of the CPU back end: operands of any type and layout, an oracle in double for each element,
// the same bits from 1, 2, 3 and 5 threads. Each tensor is a heap block of its own, so that AddressSanitizer
// sees its ends.
#ifndef TN_TESTS_CPU_CHECK_H
#define TN_TESTS_CPU_CHECK_H

#include "harness.h"

#include <math.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml.h"
#include "op/element.h"
#include "op/oracle/oracle.h"

enum { CPU_BLOCKS = 64 };

struct cpu_test {
    struct ggml_context * ctx;
    ggml_backend_t backend;
    struct test_rng rng;
    void * blocks[CPU_BLOCKS];
    int n_blocks;
};

// Which of n cases run: all, or every 5th or 13th under sanitizers (primes: no column of a table drops out).
static inline int cpu_step(int n) {
    const char * slow = getenv("TENON_SLOW");
    const char * full = getenv("TENON_FULL");
    if (!slow || slow[0] != '1' || (full && full[0] == '1')) return 1;
    return n > 100 ? 13 : n > 30 ? 5 : 1;
}

// How the elements of an operand lie in memory.
enum cpu_layout {
    CPU_DENSE,
    CPU_PADDED,   // rows and matrices with gaps, first row not at the start
    CPU_PERMUTED, // dimensions 1 and 2 exchanged
    CPU_TURNED,   // dimensions 0 and 1 exchanged: elements of a row far apart
    CPU_LAYOUTS
};

static inline struct cpu_test cpu_test_new(uint64_t seed) {
    struct cpu_test t = { .rng = { seed } };
    t.ctx = ggml_init((struct ggml_init_params){ .mem_size = 4 << 20, .no_alloc = true });
    t.backend = ggml_backend_cpu_init();
    assert_non_null(t.ctx);
    assert_non_null(t.backend);
    return t;
}

static inline void cpu_test_free(struct cpu_test * t) {
    for (int i = 0; i < t->n_blocks; i++)
        free(t->blocks[i]);
    ggml_backend_free(t->backend);
    ggml_free(t->ctx);
}

// Gives memory to every tensor that has none; filled with a pattern, so that nothing relies on zeros.
static inline void cpu_allocate(struct cpu_test * t) {
    for (struct ggml_tensor * x = ggml_get_first_tensor(t->ctx); x; x = ggml_get_next_tensor(t->ctx, x)) {
        if (x->data) continue;
        if (x->view_src) {
            x->data = (char *) x->view_src->data + x->view_offs;
            continue;
        }
        assert_true(t->n_blocks < CPU_BLOCKS);
        x->data = t->blocks[t->n_blocks++] = malloc(ggml_nbytes(x) + (ggml_nbytes(x) == 0));
        memset(x->data, 0x5a, ggml_nbytes(x));
    }
}

static inline void cpu_fill(struct cpu_test * t, struct ggml_tensor * x, float lo, float hi) {
    if (ggml_nelements(x) == 0) return;
    if (!ggml_is_quantized(x->type)) {
        int64_t i[4] = { 0 };
        do
            cpu_put(x, i, (double) test_rng_float(&t->rng, lo, hi));
        while (cpu_next(x, i));
        return;
    }
    const int64_t n = ggml_nelements(x); // of a dense base
    float * values = malloc((size_t) n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        values[i] = test_rng_float(&t->rng, lo, hi);
    float * weights = malloc((size_t) x->ne[0] * sizeof(float));
    for (int64_t i = 0; i < x->ne[0]; i++)
        weights[i] = 1.0f;
    if (tn_type_get(x->type)->no_chunk) {
        tn_type_get(x->type)->encode_ref(values, x->data, n);
    } else {
        assert_true(ggml_quantize_chunk(x->type, values, x->data, 0, n / x->ne[0], x->ne[0], weights) > 0);
    }
    free(weights);
    free(values);
}

// A source of these sizes with random values lo .. hi. Types with blocks are never turned.
static inline struct ggml_tensor * cpu_source(struct cpu_test * t, enum ggml_type type, const int64_t * ne,
                                              enum cpu_layout layout, float lo, float hi) {
    if (layout == CPU_TURNED && ggml_blck_size(type) > 1) layout = CPU_PERMUTED;
    struct ggml_tensor * base;
    struct ggml_tensor * x;
    if (layout == CPU_PADDED) {
        base = ggml_new_tensor_4d(t->ctx, type, ne[0] + ggml_blck_size(type), ne[1] + 2, ne[2] + 1, ne[3]);
    } else if (layout == CPU_PERMUTED) {
        base = ggml_new_tensor_4d(t->ctx, type, ne[0], ne[2], ne[1], ne[3]);
    } else if (layout == CPU_TURNED) {
        base = ggml_new_tensor_4d(t->ctx, type, ne[1], ne[0], ne[2], ne[3]);
    } else {
        base = ggml_new_tensor_4d(t->ctx, type, ne[0], ne[1], ne[2], ne[3]);
    }
    cpu_allocate(t);
    cpu_fill(t, base, lo, hi);
    if (layout == CPU_PADDED) {
        x = ggml_view_4d(t->ctx, base, ne[0], ne[1], ne[2], ne[3], base->nb[1], base->nb[2], base->nb[3],
                         ne[1] > 0 ? base->nb[1] : 0);
    } else if (layout == CPU_PERMUTED) {
        x = ggml_permute(t->ctx, base, 0, 2, 1, 3);
    } else if (layout == CPU_TURNED) {
        x = ggml_transpose(t->ctx, base);
    } else {
        return base;
    }
    if (!ggml_ext_tensor_valid(x)) fail_msg("%s", ggml_ext_last_error());
    x->op = GGML_OP_NONE; // a source like any other
    return x;
}

// A finished node that is to give f32 instead: what no builder asks for, but nodes made by hand may.
static inline struct ggml_tensor * cpu_as_f32(struct ggml_tensor * node) {
    node->type = GGML_TYPE_F32;
    node->nb[0] = sizeof(float);
    for (int i = 1; i < GGML_MAX_DIMS; i++)
        node->nb[i] = node->nb[i - 1] * (size_t) node->ne[i - 1];
    return node;
}

// All bytes that a run may change: those of the result's base.
static inline struct ggml_tensor * cpu_base(struct ggml_tensor * node) {
    return node->view_src ? node->view_src : node;
}

static inline enum ggml_status cpu_compute(struct ggml_tensor * node, int n_threads) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = ggml_graph_overhead() });
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, node);
    struct ggml_cplan plan = ggml_graph_plan(g, n_threads, NULL);
    plan.work_data = plan.work_size ? malloc(plan.work_size) : NULL;
    const enum ggml_status status = plan.n_threads ? ggml_graph_compute(g, &plan) : GGML_STATUS_FAILED;
    free(plan.work_data);
    ggml_free(ctx);
    return status;
}

// Computes with several numbers of threads from the same state, and compares all bytes of the result's base.
static inline void cpu_run(struct cpu_test * t, struct ggml_tensor * node) {
    static const int threads[] = { 1, 2, 3, 5 };
    if (!ggml_ext_tensor_valid(node)) fail_msg("%s", ggml_ext_last_error());
    cpu_allocate(t);
    if (!ggml_backend_supports_op(t->backend, node)) fail_msg("%s", ggml_ext_last_error());
    struct ggml_tensor * base = cpu_base(node);
    const size_t size = ggml_nbytes(base);
    char * before = malloc(size + 1);
    char * first = malloc(size + 1);
    memcpy(before, base->data, size);
    for (int k = 0; k < 4; k++) {
        memcpy(base->data, before, size);
        if (cpu_compute(node, threads[k]) != GGML_STATUS_SUCCESS) fail_msg("%s", ggml_ext_last_error());
        if (k == 0) memcpy(first, base->data, size);
        if (memcmp(first, base->data, size) != 0) {
            fail_msg("%s: %d threads give other bits than 1", ggml_op_desc(node), threads[k]);
        }
    }
    free(before);
    free(first);
}

// Relative error that rounding to the type may cause.
static inline double cpu_rounding(enum ggml_type type) {
    return type == GGML_TYPE_F16 ? 0x1p-11 : type == GGML_TYPE_BF16 ? 0x1p-8 : 0x1p-24;
}

// What element i of the node must be, from its sources as they were before.
struct cpu_oracle {
    double (*value)(const struct ggml_tensor * node, const int64_t * i);
    double
        rel; // tolerance: rel * |expected| + abs, besides the rounding of the result's type and of operands
    double abs;
};

// sums: the error of adding up what the oracle names as terms (oracle_error) is allowed as well.
static inline void cpu_check_with(struct cpu_test * t, struct ggml_tensor * node, struct cpu_oracle oracle,
                                  bool sums) {
    oracle_checks++;
    if (!ggml_ext_tensor_valid(node)) fail_msg("%s", ggml_ext_last_error());
    cpu_allocate(t);
    const int64_t n = ggml_nelements(node);
    double * expected = malloc((size_t) (2 * n + 1) * sizeof(double));
    double * errors = expected + n;
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < n; k++, cpu_next(node, i)) {
        oracle_terms = (struct oracle_sum){ 0 };
        expected[k] = oracle.value(node, i);
        errors[k] = oracle.abs + (sums ? oracle_error() : oracle_terms.rounding);
    }
    cpu_run(t, node);
    memset(i, 0, sizeof(i));
    const double rel = oracle.rel + 1.01 * cpu_rounding(node->type);
    const double tiny = node->type == GGML_TYPE_F16 ? 0x1p-24 : 0x1p-149;
    for (int64_t k = 0; k < n; k++, cpu_next(node, i)) {
        const double v = cpu_get(node, i[0], i[1], i[2], i[3]);
        const double e = expected[k];
        const bool same = isnan(e)   ? isnan(v)
                          : isinf(e) ? v == e
                                     : fabs(v - e) <= rel * fabs(e) + errors[k] + tiny;
        if (same) continue;
        fail_msg("%s %s [%d, %d, %d, %d] element [%d, %d, %d, %d]: %.9g, not %.9g +- %.3g",
                 ggml_op_desc(node), ggml_type_name(node->type), (int) node->ne[0],
                 (int) node->ne[1], (int) node->ne[2], (int) node->ne[3], (int) i[0], (int) i[1],
                 (int) i[2], (int) i[3], v, e, rel * fabs(e) + errors[k] + tiny);
    }
    free(expected);
}

static inline void cpu_check(struct cpu_test * t, struct ggml_tensor * node, struct cpu_oracle oracle) {
    cpu_check_with(t, node, oracle, false);
}

// The node must be refused with this text: by its builder, or by the device.
static inline void cpu_refused(struct cpu_test * t, const struct ggml_tensor * node, const char * text) {
    if (ggml_ext_tensor_valid(node)) assert_false(ggml_backend_supports_op(t->backend, node));
    assert_contains(ggml_ext_last_error(), text);
}

#endif
