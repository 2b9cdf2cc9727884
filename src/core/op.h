// SPDX-License-Identifier: MIT
// What an operator means: one descriptor an operator, at the end of its file in core/ops, named by its row in
// ops.def. How it is executed is a back end's matter.
#ifndef TN_CORE_OP_H
#define TN_CORE_OP_H

#include <stdbool.h>

#include "base/compiler.h"
#include "ggml.h"

struct tn_autodiff;

struct tn_op {
    // The rule of types and shapes. On entry op, op_params and src of the node are set, and type and ne are
    // those that the builder asks for (src[0]'s unless it says otherwise). The rule checks them and sets the
    // result's type and ne where they follow from the sources. Running it on a finished node must change
    // nothing. false: refused, with a text (tn_refuse) that says what is expected and what was given. Sources
    // that the operator needs are never NULL here; optional ones (behind n_src) may be.
    bool (*rule)(struct ggml_tensor * node);

    // Adds the node's contribution to the gradients of its sources (core/autodiff.h). NULL: has no gradient.
    // false with a text: a gradient is asked for that does not exist.
    bool (*backward)(struct tn_autodiff * ad, struct ggml_tensor * node);

    int n_src;    // sources that must be given, the first ones
    bool is_view; // no work: the result is another view of src[0]'s memory

    // Over how many of the first sources the graph allocator may place the result: 1 for most of what is
    // computed element by element or row by row; 2 where both operands are read only at the element that is
    // written.
    int may_reuse;

    // Which word of op_params holds the least precision of sums, and of src[1] on the way (enum ggml_prec),
    // plus 1. 0: it takes no such setting.
    int prec_acc;
    int prec_src1;

    unsigned state; // bit i: source i is state of training, which ggml_graph_reset sets to 0
};

// NULL for a number that is no operator.
TN_API const struct tn_op * tn_op_get(enum ggml_op op);

// RESHAPE, VIEW, PERMUTE, TRANSPOSE and NONE: nothing to compute.
TN_API bool tn_op_is_view(enum ggml_op op);

#endif
