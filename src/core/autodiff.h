// SPDX-License-Identifier: MIT
// What an operator's backward function may ask and do. Gradients are tensors of the context given to
// ggml_build_backward_expand; `add` makes the accumulated sum, in place where an accumulator was given.
#ifndef TN_CORE_AUTODIFF_H
#define TN_CORE_AUTODIFF_H

#include <stdbool.h>

#include "ggml.h"

struct tn_autodiff;

struct ggml_context * tn_autodiff_ctx(struct tn_autodiff * ad);

// The gradient of the node itself.
struct ggml_tensor * tn_autodiff_of(struct tn_autodiff * ad, const struct ggml_tensor * node);

// Does this tensor need a gradient?
bool tn_autodiff_wants(struct tn_autodiff * ad, const struct ggml_tensor * t);

// Gradient of t: += g, -= g, += the scalar g repeated.
void tn_autodiff_add(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * g);
void tn_autodiff_sub(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * g);
void tn_autodiff_add1(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * g);

// Gradient of t: += g into the view of it with these strides and offset (as ggml_acc).
void tn_autodiff_acc(struct tn_autodiff * ad, struct ggml_tensor * t, struct ggml_tensor * g,
                     const size_t nb[3], size_t offset);

// g summed over the repeats by which a source of the shape of t was broadcast to g's shape; g itself if it
// was not.
struct ggml_tensor * tn_autodiff_reduce(struct tn_autodiff * ad, struct ggml_tensor * g,
                                        const struct ggml_tensor * t);

#endif
