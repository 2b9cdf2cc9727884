// SPDX-License-Identifier: MIT
// What builders share: sources, the rule, the result, refusals.
#include "core/build.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/str.h"
#include "core/context.h"
#include "core/op.h"
#include "core/tensor.h"

void tn_build_refuse(struct tn_build * b, const char * fmt, ...) {
    if (b->refused) return; // the first reason counts
    char text[TN_ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    tn_error_set("%s", text);
    b->refused = true;
}

// A source that is itself refused: the result is refused with the first reason.
static bool usable(struct tn_build * b, const struct ggml_tensor * t, const char * what, int index) {
    if (!t) {
        tn_build_refuse(b, "%s %d is NULL", what, index);
        return false;
    }
    if (tn_tensor_is_poisoned(t)) {
        b->inherited = b->inherited || !b->refused;
        tn_build_refuse(b, "%s %d was refused before: %s", what, index, tn_context_poison_text(t));
        return false;
    }
    return true;
}

struct tn_build tn_build_start(struct ggml_context * ctx, const char * function, enum ggml_op op, int n_src,
                               ...) {
    struct tn_build b = { .ctx = ctx, .function = function, .node = { .type = GGML_TYPE_F32, .op = op } };
    tn_shape_set(b.node.ne, 1, 1, 1, 1);
    if (!ctx) tn_build_refuse(&b, "the context is NULL");
    va_list args;
    va_start(args, n_src);
    for (int i = 0; i < n_src; i++) {
        struct ggml_tensor * t = va_arg(args, struct ggml_tensor *);
        if (usable(&b, t, "source", i)) b.node.src[i] = t;
    }
    va_end(args);
    const struct ggml_tensor * first = b.node.src[0];
    if (first) {
        b.node.type = first->type;
        tn_shape_copy(b.node.ne, first->ne);
    }
    return b;
}

void tn_build_optional(struct tn_build * b, int index, struct ggml_tensor * t) {
    if (t && usable(b, t, "source", index)) b->node.src[index] = t;
}

bool tn_build_like(struct tn_build * b, const struct ggml_tensor * t) {
    return usable(b, t, "the tensor whose sizes are taken, argument", 1);
}

void tn_build_in_place(struct tn_build * b, struct ggml_tensor * t) {
    if (b->refused || !t) return;
    b->base = t;
    b->offset = 0;
    b->strided = true;
    memcpy(b->node.nb, t->nb, sizeof(t->nb));
    tn_build_name(b, "%s (view)", t->name);
}

void tn_build_name(struct tn_build * b, const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(b->node.name, sizeof(b->node.name), fmt, args);
    va_end(args);
}

// Puts the function before the text of the error, and the sources behind it.
static void complete_text(const char * function, const struct ggml_tensor * node) {
    char text[TN_SHAPE_TENSOR_TEXT];
    tn_error_prefix("%s", function);
    for (int i = 0; i < GGML_MAX_SRC && node->src[i]; i++) {
        tn_error_append("%ssrc%d %s", i ? ", " : " (", i, tn_shape_tensor_text(text, node->src[i]));
    }
    if (node->src[0]) tn_error_append(")");
}

static struct ggml_tensor * poison(struct ggml_context * ctx, const struct tn_build * b) {
    complete_text(b->function, &b->node);
    return b->inherited ? tn_context_poison_again(ctx) : tn_context_poison(ctx);
}

// As seen by the reader of the text; the node itself may lack what it was refused.
static struct ggml_tensor * spoil(struct ggml_tensor * node, const struct ggml_tensor * seen,
                                  const char * function) {
    complete_text(function, seen);
    return tn_context_spoil(node);
}

struct ggml_tensor * tn_build_spoil(struct ggml_tensor * node, const char * function) {
    const struct ggml_tensor none = { 0 };
    if (node && tn_tensor_is_poisoned(node)) return node;
    return spoil(node, node ? node : &none, function);
}

void tn_build_attach(struct ggml_tensor * node, enum ggml_op op, int index, struct ggml_tensor * src,
                     const char * function) {
    if (node && tn_tensor_is_poisoned(node)) return;
    if (!node || node->op != op) {
        tn_error_set("the tensor must be a result of %s, it is one of %s", ggml_op_name(op),
                     ggml_op_desc(node));
        tn_build_spoil(node, function);
        return;
    }
    struct ggml_tensor changed = *node;
    changed.src[index] = src;
    if (src && tn_tensor_is_poisoned(src)) {
        tn_error_set("source %d was refused before: %s", index, tn_context_poison_text(src));
    } else if (!src || tn_op_get(op)->rule(&changed)) {
        node->src[index] = src;
        return;
    }
    spoil(node, &changed, function);
}

struct ggml_tensor * tn_build_poison(struct ggml_context * ctx, const char * function) {
    const struct tn_build b = { .function = function };
    return poison(ctx, &b);
}

static struct ggml_tensor * make(const struct tn_build * b) {
    const struct tn_op * op = tn_op_get(b->node.op);
    struct ggml_tensor n = b->node;
    if (op && op->rule && !op->rule(&n)) return NULL;
    struct ggml_tensor * t =
        tn_tensor_new(b->ctx, n.type, n.ne, b->strided ? n.nb : NULL, b->base, b->offset);
    if (!t) return NULL;
    t->op = n.op;
    memcpy(t->op_params, n.op_params, sizeof(t->op_params));
    memcpy(t->src, n.src, sizeof(t->src));
    memcpy(t->name, n.name, sizeof(t->name));
    return t;
}

struct ggml_tensor * tn_build_finish(struct tn_build * b) {
    if (!b->refused) {
        struct ggml_tensor * t = make(b);
        if (t) return t;
    }
    return poison(b->ctx, b);
}
