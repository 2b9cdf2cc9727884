// SPDX-License-Identifier: MIT
// Nodes of every operator of the CPU back end, for tests of what holds for all of them: one function an
// operator (every_*.h), found by the operator's row, so that a row without nodes does not compile.
//
// Sizes are such that the work is cut into ten parts or more wherever an operator can cut it at all, and odd,
// so that the last part is another one.
#ifndef TN_TESTS_EVERY_OP_H
#define TN_TESTS_EVERY_OP_H

#include "op/cpu_check.h"

#define EVERY_COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

static const enum ggml_type every_floats[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };

// A source of random values; types with blocks are encoded.
static inline struct ggml_tensor * every_source(struct cpu_test * t, enum ggml_type type, int64_t ne0,
                                                int64_t ne1, int64_t ne2, int64_t ne3) {
    const int64_t ne[] = { ne0, ne1, ne2, ne3 };
    return cpu_source(t, type, ne, CPU_DENSE, -2.0f, 2.0f);
}

static inline struct ggml_tensor * every_f32(struct cpu_test * t, int64_t ne0, int64_t ne1, int64_t ne2,
                                             int64_t ne3) {
    return every_source(t, GGML_TYPE_F32, ne0, ne1, ne2, ne3);
}

// Rows of any type; of the types whose search takes its time only eight differ.
static inline struct ggml_tensor * every_weight(struct cpu_test * t, enum ggml_type type, int64_t ne0,
                                                int64_t ne1, int64_t ne2) {
    struct ggml_tensor * x = ggml_new_tensor_3d(t->ctx, type, ne0, ne1, ne2);
    struct ggml_tensor * some = every_source(t, type, ne0, 8, 1, 1);
    cpu_allocate(t);
    for (int64_t r = 0; r < ne1 * ne2; r++)
        memcpy(cpu_at(x, 0, r % ne1, r / ne1, 0), cpu_at(some, 0, r % 8, 0, 0), x->nb[1]);
    return x;
}

// Indices below `limit`.
static inline struct ggml_tensor * every_index(struct cpu_test * t, int64_t ne0, int64_t ne1, int64_t ne2,
                                               int64_t limit) {
    struct ggml_tensor * x = ggml_new_tensor_3d(t->ctx, GGML_TYPE_I32, ne0, ne1, ne2);
    cpu_allocate(t);
    for (int64_t i = 0; i < ggml_nelements(x); i++)
        ((int32_t *) x->data)[i] = (int32_t) test_rng_below(&t->rng, limit);
    return x;
}

#include "numbers/every_image.h"
#include "numbers/every_map.h"
#include "numbers/every_move.h"
#include "numbers/every_product.h"
#include "numbers/every_sequence.h"

static const struct every_op {
    enum ggml_op op;
    // Node number i of the operator, with sources that have data; NULL behind the last.
    struct ggml_tensor * (*build)(struct cpu_test * t, int i);
} every_ops[] = {
#define TN_ROW(id, module) { GGML_OP_##id, every_##module },
#include "cpu/ops.def"
#undef TN_ROW
};

// Under sanitizers two nodes of each operator: the others differ in types and sizes.
static inline int every_most(void) {
    const char * slow = getenv("TENON_SLOW");
    return slow && slow[0] == '1' ? 2 : 200;
}

// Calls check for every node of every operator; each in a context of its own.
static inline void every_node(void (*check)(struct cpu_test * t, struct ggml_tensor * node, void * arg),
                              void * arg) {
    const uint64_t seed = test_seed();
    for (int k = 0; k < EVERY_COUNT(every_ops); k++) {
        for (int i = 0; i < every_most(); i++) {
            struct cpu_test t = cpu_test_new(seed + (uint64_t) (k * 1000 + i));
            struct ggml_tensor * node = every_ops[k].build(&t, i);
            if (node) {
                if (!ggml_ext_tensor_valid(node)) fail_msg("%s", ggml_ext_last_error());
                assert_int_equal(node->op, every_ops[k].op);
                cpu_allocate(&t);
                check(&t, node, arg);
            }
            cpu_test_free(&t);
            if (!node) break;
        }
    }
}

// --- the memory of a test: all tensors of its context

// Bytes of all of them, one after the other. Owned by the caller.
struct every_memory {
    char * bytes;
    size_t size;
};

static inline struct every_memory every_save(const struct cpu_test * t) {
    struct every_memory m = { NULL, 0 };
    for (struct ggml_tensor * x = ggml_get_first_tensor(t->ctx); x; x = ggml_get_next_tensor(t->ctx, x))
        m.size += x->view_src ? 0 : ggml_nbytes(x);
    char * to = m.bytes = malloc(m.size + 1);
    assert_non_null(to);
    for (struct ggml_tensor * x = ggml_get_first_tensor(t->ctx); x; x = ggml_get_next_tensor(t->ctx, x)) {
        if (x->view_src) continue;
        memcpy(to, x->data, ggml_nbytes(x));
        to += ggml_nbytes(x);
    }
    return m;
}

static inline void every_restore(const struct cpu_test * t, const struct every_memory * m) {
    const char * from = m->bytes;
    for (struct ggml_tensor * x = ggml_get_first_tensor(t->ctx); x; x = ggml_get_next_tensor(t->ctx, x)) {
        if (x->view_src) continue;
        memcpy(x->data, from, ggml_nbytes(x));
        from += ggml_nbytes(x);
    }
}

#endif
