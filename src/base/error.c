// SPDX-License-Identifier: MIT
// The text of this thread's last failure.
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static _Thread_local char error_text[TN_ERROR_MAX];

void tn_error_set(const char * fmt, ...) {
    // Formatted aside first: an argument may be the present text itself.
    char text[TN_ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    memcpy(error_text, text, sizeof(text));
}

void tn_error_prefix(const char * fmt, ...) {
    char text[TN_ERROR_MAX];
    struct tn_str s = tn_str_on(text, sizeof(text));
    va_list args;
    va_start(args, fmt);
    tn_str_addv(&s, fmt, args);
    va_end(args);
    tn_str_add(&s, ": %s", error_text);
    memcpy(error_text, text, s.len + 1);
}

void tn_error_append(const char * fmt, ...) {
    char text[TN_ERROR_MAX];
    struct tn_str s = tn_str_on(text, sizeof(text));
    va_list args;
    va_start(args, fmt);
    tn_str_add(&s, "%s", error_text);
    tn_str_addv(&s, fmt, args);
    va_end(args);
    memcpy(error_text, text, s.len + 1);
}

const char * tn_error_text(void) {
    return error_text;
}

void tn_error_clear(void) {
    error_text[0] = '\0';
}

bool tn_refuse(const char * fmt, ...) {
    char text[TN_ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    memcpy(error_text, text, sizeof(text));
    return false;
}

const char * ggml_status_to_string(enum ggml_status status) {
    switch (status) {
    case GGML_STATUS_ALLOC_FAILED: return "out of memory";
    case GGML_STATUS_FAILED: return "failed";
    case GGML_STATUS_SUCCESS: return "success";
    case GGML_STATUS_ABORTED: return "aborted";
    }
    return "unknown status";
}
