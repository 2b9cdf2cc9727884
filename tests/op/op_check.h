// SPDX-License-Identifier: MIT
// Tests of builders: what a node must look like, in tables, and what a refusal must say.
#ifndef TN_TESTS_OP_CHECK_H
#define TN_TESTS_OP_CHECK_H

#include "harness.h"

#include "base/error.h"
#include "core/context.h"
#include "core/op.h"
#include "ggml-ext.h"
#include "ggml.h"

enum { OP_CHECK_PARAMS = GGML_MAX_OP_PARAMS / sizeof(int32_t) };

// One node; what is not mentioned must be zero, empty or NULL.
struct op_node {
    struct ggml_tensor * t;
    enum ggml_op op;
    enum ggml_type type;
    int64_t ne[GGML_MAX_DIMS];
    int32_t params[OP_CHECK_PARAMS];
    struct ggml_tensor * src[GGML_MAX_SRC];
    struct ggml_tensor * base; // of a view: with the strides of this tensor unless nb is given
    const char * name;
    size_t nb[GGML_MAX_DIMS]; // all zero: those of the base, or contiguous
};

// A row of a table: what it is made by, operator, type, then fields by name.
#define OP_NODE(call, id, kind, ...)                                                                         \
    { .t = (call), .op = (id), .type = (kind), __VA_ARGS__ }

static inline int32_t op_f32(float f) {
    int32_t word;
    memcpy(&word, &f, sizeof(word));
    return word;
}

static inline void op_check_strides(const struct op_node * want) {
    const struct ggml_tensor * t = want->t;
    if (want->nb[0]) {
        for (int d = 0; d < GGML_MAX_DIMS; d++)
            assert_int_equal(t->nb[d], want->nb[d]);
    } else if (want->base) {
        for (int d = 0; d < GGML_MAX_DIMS; d++)
            assert_int_equal(t->nb[d], want->base->nb[d]);
    } else {
        assert_true(ggml_is_contiguous(t));
    }
}

// The rule of a finished node agrees with it and changes nothing.
static inline void op_check_rule(const struct ggml_tensor * t) {
    const struct tn_op * op = tn_op_get(t->op);
    assert_non_null(op);
    if (!op->rule) return;
    struct ggml_tensor copy = *t;
    if (!op->rule(&copy)) fail_msg("the rule refuses its own result: %s", tn_error_text());
    assert_memory_equal(&copy, t, sizeof(copy));
}

static inline void op_check_node(const struct op_node * want) {
    const struct ggml_tensor * t = want->t;
    assert_non_null(t);
    if (tn_tensor_is_poisoned(t)) fail_msg("refused: %s", tn_error_text());
    if (t->op != want->op) fail_msg("op %s, expected %s", ggml_op_name(t->op), ggml_op_name(want->op));
    assert_int_equal(t->type, want->type);
    for (int d = 0; d < GGML_MAX_DIMS; d++)
        assert_int_equal(t->ne[d], want->ne[d]);
    for (int i = 0; i < OP_CHECK_PARAMS; i++)
        assert_int_equal(t->op_params[i], want->params[i]);
    for (int i = 0; i < GGML_MAX_SRC; i++)
        assert_ptr_equal(t->src[i], want->src[i]);
    assert_ptr_equal(t->view_src, want->base);
    assert_string_equal(t->name, want->name ? want->name : "");
    assert_int_equal(t->flags & ~GGML_TENSOR_FLAG_COMPUTE, 0); // that one is set when a graph takes it up
    op_check_strides(want);
    op_check_rule(t);
}

static inline void op_check_nodes(const struct op_node * want, size_t n) {
    for (size_t i = 0; i < n; i++) {
        printf("node %zu\n", i);
        op_check_node(&want[i]);
    }
}

#define OP_CHECK_NODES(table) op_check_nodes(table, sizeof(table) / sizeof((table)[0]))

static inline void op_check_refused(const struct ggml_tensor * t, const char * call, const char * rule,
                                    int line) {
    char function[64] = "";
    snprintf(function, sizeof(function), "%.*s", (int) strcspn(call, "("), call);
    assert_non_null(t);
    if (!tn_tensor_is_poisoned(t)) fail_msg("line %d: %s was not refused", line, call);
    const char * text = tn_error_text();
    if (!strstr(text, function)) fail_msg("line %d: '%s' does not name %s", line, text, function);
    if (!strstr(text, rule)) fail_msg("line %d: '%s' does not contain '%s'", line, text, rule);
}

// The call of a builder is refused, with a text that has its name and these words.
#define OP_CHECK_REFUSED(call, rule) op_check_refused(call, #call, rule, __LINE__)

// A context for tensors without data, as large as any of these tests needs; its refusals are not printed.
static inline void op_check_quiet(enum ggml_log_level level, const char * text, void * data) {
    (void) level;
    (void) text;
    (void) data;
}

static inline int op_check_setup(void ** state) {
    ggml_log_set(op_check_quiet, NULL);
    *state = ggml_init((struct ggml_init_params){ .mem_size = 1 << 20, .no_alloc = true });
    return *state ? 0 : -1;
}

static inline int op_check_teardown(void ** state) {
    ggml_free(*state);
    ggml_log_set(NULL, NULL);
    return 0;
}

#define OP_CHECK_TEST(f) cmocka_unit_test_setup_teardown(f, op_check_setup, op_check_teardown)

static inline struct ggml_tensor * op_f32_tensor(struct ggml_context * ctx, int64_t ne0, int64_t ne1,
                                                 int64_t ne2, int64_t ne3) {
    return ggml_new_tensor_4d(ctx, GGML_TYPE_F32, ne0, ne1, ne2, ne3);
}

// A leaf with the sizes of t, its dimensions 0 and 1 swapped in memory: not contiguous. Both sizes above 1.
static inline struct ggml_tensor * op_strided_tensor(struct ggml_context * ctx, enum ggml_type type,
                                                     int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    struct ggml_tensor * t = ggml_new_tensor_4d(ctx, type, ne0, ne1, ne2, ne3);
    t->nb[1] = t->nb[0];
    t->nb[0] = t->nb[1] * (size_t) ne1;
    return t;
}

#endif
