// SPDX-License-Identifier: MIT
// What the calls through the tables of ggml-backend-impl.h share: how they refuse, and the questions that
// every transfer and every allocation asks. The tables themselves are public: those who write back ends need
// them.
#ifndef TN_BACKEND_IFACE_H
#define TN_BACKEND_IFACE_H

#include <stdbool.h>

#include "base/compiler.h"
#include "ggml-backend-impl.h"

// "<function>: <text>" as this thread's error and in the log. Returns false.
TN_API bool tn_iface_refuse(const char * function, const char * fmt, ...) TN_PRINTF(2, 3);

// The buffer in which a tensor lies: that of its base for a view. NULL: nowhere yet.
TN_INLINE ggml_backend_buffer_t tn_iface_buffer_of(const struct ggml_tensor * t) {
    return t->view_src ? t->view_src->buffer : t->buffer;
}

// Does it exist still? The address of one that was freed may have become that of another.
TN_API bool tn_buffer_is_live(ggml_backend_buffer_t buffer);

// Gives a tensor without memory its place, of which the caller knows that it fits, and tells the back end. A
// tensor that it refuses is left as it was.
enum ggml_status tn_buffer_settle(ggml_backend_buffer_t buffer, struct ggml_tensor * t, void * data);

// Can it be computed with or copied? false with a refusal: NULL, or refused by its builder.
TN_API bool tn_iface_check_tensor(const char * function, const struct ggml_tensor * t);

#endif
