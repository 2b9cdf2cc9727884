// SPDX-License-Identifier: MIT
// What builders share. A builder fills a tn_build on its stack and finishes it; every refusal ends in a
// poisoned tensor, never in NULL:
//
//     struct ggml_tensor * ggml_scale(struct ggml_context * ctx, struct ggml_tensor * a, float s) {
//         struct tn_build b = tn_build_start(ctx, "ggml_scale", GGML_OP_SCALE, 1, a);
//         tn_param_set_f32(&b.node, 0, s);
//         return tn_build_finish(&b);
//     }
//
// The operator's rule (core/op.h) checks sources and parameters and gives type and sizes.
#ifndef TN_CORE_BUILD_H
#define TN_CORE_BUILD_H

#include <stdbool.h>

#include "base/compiler.h"
#include "core/params.h"
#include "core/shape.h"
#include "ggml.h"

struct tn_build {
    struct ggml_context * ctx;
    const char * function; // the public name, for refusals
    bool refused;          // the text is already in this thread's error
    bool inherited;        // because something it is built from was refused, and logged, before
    bool strided; // node.nb was set by the builder (views); else contiguous strides follow from node.ne
    struct ggml_tensor * base; // not NULL: the result shares this tensor's memory, `offset` bytes in
    size_t offset;
    struct ggml_tensor node; // op, op_params, src, and type and ne as asked for; name if not empty
};

// n_src tensors follow, each a struct ggml_tensor *; they become node.src[0..]. NULL among them refuses, as
// does a poisoned one. node.type and node.ne start as those of the first source (f32 [1, 1, 1, 1] without
// any).
struct tn_build tn_build_start(struct ggml_context * ctx, const char * function, enum ggml_op op, int n_src,
                               ...);

// An optional source: NULL is fine.
void tn_build_optional(struct tn_build * b, int index, struct ggml_tensor * t);

// The result shares all of t's memory, with its strides: in-place variants. It is called "<t> (view)".
void tn_build_in_place(struct tn_build * b, struct ggml_tensor * t);

// A tensor that is no source but whose sizes are read (reshape, repeat). false, and refused, if NULL or
// poisoned.
bool tn_build_like(struct tn_build * b, const struct ggml_tensor * t);

// Refuses with a text; finish then returns the poisoned tensor.
void tn_build_refuse(struct tn_build * b, const char * fmt, ...) TN_PRINTF(2, 3);

// "<name><suffix>" as the result's name, cut to GGML_MAX_NAME.
void tn_build_name(struct tn_build * b, const char * fmt, ...) TN_PRINTF(2, 3);

// Runs the rule and makes the tensor. Never NULL.
struct ggml_tensor * tn_build_finish(struct tn_build * b);

// For builders that consist of several operators: refuses at once.
TN_API struct ggml_tensor * tn_build_poison(struct ggml_context * ctx, const char * function);

// For functions that change a finished node and cannot say no. A node that may not have what it is given is
// poisoned with a text, so that its graph is refused.

// With the refusal's text already set. Returns the node (for NULL, a poisoned tensor).
struct ggml_tensor * tn_build_spoil(struct ggml_tensor * node, const char * function);

// Sets or (NULL) takes away an optional source; the node's operator must be `op`.
void tn_build_attach(struct ggml_tensor * node, enum ggml_op op, int index, struct ggml_tensor * src,
                     const char * function);

#endif
