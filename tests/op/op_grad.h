// SPDX-License-Identifier: MIT
// Tests of gradients by structure: what ggml_build_backward_expand adds, written as an expression.
#ifndef TN_TESTS_OP_GRAD_H
#define TN_TESTS_OP_GRAD_H

#include "op/op_check.h"

#include "base/str.h"
#include "core/graph.h"

struct op_grad {
    struct ggml_cgraph * graph;
    struct ggml_tensor * y;
    char error[TN_ERROR_MAX]; // of the last refusal
};

// The backward graph of the loss sum(y). Parameters are marked before.
static inline struct op_grad op_backward(struct ggml_context * ctx, struct ggml_tensor * y) {
    struct op_grad d = { .graph = ggml_new_graph_custom(ctx, 256, true), .y = y };
    struct ggml_tensor * loss = ggml_sum(ctx, y);
    if (tn_tensor_is_poisoned(loss)) fail_msg("refused: %s", tn_error_text());
    ggml_set_loss(loss);
    ggml_build_forward_expand(d.graph, loss);
    tn_error_clear();
    ggml_build_backward_expand(ctx, d.graph, NULL);
    snprintf(d.error, sizeof(d.error), "%s", tn_error_text());
    return d;
}

// "MUL(g, a)": g is the gradient of y; leafs have their names.
static inline void op_grad_write(struct tn_str * s, const struct op_grad * d, const struct ggml_tensor * t) {
    if (t == d->y) {
        tn_str_add(s, "y");
    } else if (t == ggml_graph_get_grad(d->graph, d->y)) {
        tn_str_add(s, "g");
    } else if (t->op == GGML_OP_NONE) {
        tn_str_add(s, "%s", t->name);
    } else {
        tn_str_add(s, "%s(", ggml_op_desc(t));
        for (int i = 0; i < GGML_MAX_SRC && t->src[i]; i++) {
            if (i) tn_str_add(s, ", ");
            op_grad_write(s, d, t->src[i]);
        }
        tn_str_add(s, ")");
    }
}

// The gradient of x, which has the shape of x. `want` NULL: there is none.
static inline void op_grad_check(const struct op_grad * d, const struct ggml_tensor * x, const char * want,
                                 int line) {
    char text[512] = "";
    struct tn_str s = tn_str_on(text, sizeof(text));
    if (!tn_graph_usable(d->graph) || !tn_graph_check(d->graph))
        fail_msg("line %d: %s", line, tn_error_text());
    const struct ggml_tensor * grad = ggml_graph_get_grad(d->graph, x);
    if (!grad && !want) return;
    if (!grad || !want) {
        fail_msg("line %d: %s a gradient for %s", line, grad ? "there is" : "no", x->name);
        return; // which a compiler cannot know
    }
    op_grad_write(&s, d, grad);
    if (strcmp(text, want) != 0) fail_msg("line %d: gradient of %s is %s, not %s", line, x->name, text, want);
    assert_true(ggml_are_same_shape(grad, x));
}

#define OP_GRAD(d, x, want) op_grad_check(&(d), x, want, __LINE__)

// The backward graph was refused, with these words.
#define OP_GRAD_REFUSED(d, words)                                                                            \
    do {                                                                                                     \
        assert_false(tn_graph_usable((d).graph));                                                            \
        assert_contains((d).error, words);                                                                   \
    } while (0)

// A named f32 leaf; a parameter too.
static inline struct ggml_tensor * op_leaf(struct ggml_context * ctx, const char * name, int64_t ne0,
                                           int64_t ne1, int64_t ne2, int64_t ne3) {
    return ggml_set_name(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, ne0, ne1, ne2, ne3), name);
}

static inline struct ggml_tensor * op_param(struct ggml_context * ctx, const char * name, int64_t ne0,
                                            int64_t ne1, int64_t ne2, int64_t ne3) {
    struct ggml_tensor * t = op_leaf(ctx, name, ne0, ne1, ne2, ne3);
    ggml_set_param(t);
    return t;
}

#endif
