// SPDX-License-Identifier: MIT
// How a failure travels: a status (or false, or NULL) upwards, and its text in a buffer of this thread.
#ifndef TN_BASE_ERROR_H
#define TN_BASE_ERROR_H

#include <stdbool.h>

#include "base/compiler.h"
#include "ggml.h"

enum { TN_ERROR_MAX = 1024 };

// Replaces this thread's text. Longer texts are cut.
TN_API void tn_error_set(const char * fmt, ...) TN_PRINTF(1, 2);

// Puts "<prefix>: " before the present text: the caller adds what it knows (operator, file, node).
TN_API void tn_error_prefix(const char * fmt, ...) TN_PRINTF(1, 2);

// Appends to the present text.
TN_API void tn_error_append(const char * fmt, ...) TN_PRINTF(1, 2);

// "" if nothing has failed in this thread. Valid until the thread's next failure.
TN_API const char * tn_error_text(void);

TN_API void tn_error_clear(void);

// Sets the text and returns false: `return tn_refuse("...")` in functions that answer yes or no.
TN_API bool tn_refuse(const char * fmt, ...) TN_PRINTF(1, 2);

#define TN_FAIL(status, ...)       \
    do {                           \
        tn_error_set(__VA_ARGS__); \
        return (status);           \
    } while (0)

#define TN_TRY(expr)                                        \
    do {                                                    \
        const enum ggml_status status_ = (expr);            \
        if (status_ != GGML_STATUS_SUCCESS) return status_; \
    } while (0)

#endif
