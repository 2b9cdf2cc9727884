// SPDX-License-Identifier: MIT
// A region of a tensor that an operator writes into: the view of the result that has the shape of src[1] and
// the strides and offset in op_params. ACC adds to it, SET replaces it.
#ifndef TN_CORE_REGION_H
#define TN_CORE_REGION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/build.h"

struct tn_region {
    size_t nb[3]; // bytes from one row, matrix, block to the next; elements of a row lie side by side
    size_t offset;
};

// op_params: [0..2] nb, [3] offset, [4] whether in place, each 32 bits. Refuses what does not fit.
void tn_region_write(struct tn_build * b, const struct tn_region * r, bool in_place);

// Part of a rule: the region is no larger than the node and lies inside it. false with a text.
bool tn_region_rule(const struct ggml_tensor * node);

// The same region of a contiguous tensor of the node's shape and type.
struct ggml_tensor * tn_region_of(struct ggml_context * ctx, const struct ggml_tensor * node,
                                  struct ggml_tensor * t);

#endif
