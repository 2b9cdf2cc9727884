// SPDX-License-Identifier: MIT
// Making tensors in a context.
#ifndef TN_CORE_TENSOR_H
#define TN_CORE_TENSOR_H

#include "ggml.h"

// A tensor without operator, zero-initialised but for type, ne, nb and data. nb NULL: contiguous. With a base
// it shares the base's memory `offset` bytes in (chains of views are resolved to the last base) and must end
// inside it. Strides are for views only. NULL with a text: refused.
struct ggml_tensor * tn_tensor_new(struct ggml_context * ctx, enum ggml_type type, const int64_t * ne,
                                   const size_t * nb, struct ggml_tensor * base, size_t offset);

#endif
