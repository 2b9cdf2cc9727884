// SPDX-License-Identifier: MIT
#pragma once

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

// true for a tensor that a builder made without a complaint; false for NULL and for a poisoned tensor.
GGML_API bool ggml_ext_tensor_valid(const struct ggml_tensor * tensor);

// false for NULL and for a graph that was refused, or to which something could not be added.
GGML_API bool ggml_ext_graph_valid(const struct ggml_cgraph * graph);

// Text of the first refusal in this context, NULL if there was none. Owned by the context.
GGML_API const char * ggml_ext_context_error(const struct ggml_context * ctx);

// Text of this thread's last failed call, valid until the next one fails.
GGML_API const char * ggml_ext_last_error(void);

// With on = true a builder that would hand out a poisoned tensor aborts at once with a backtrace.
GGML_API void ggml_ext_set_strict(bool on);

#ifdef __cplusplus
}
#endif
