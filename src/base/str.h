// SPDX-License-Identifier: MIT
// Building text in a buffer of fixed size: never overruns, always terminated, remembers that it was cut.
#ifndef TN_BASE_STR_H
#define TN_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct tn_str {
    char * text;
    size_t size; // of the buffer, at least 1
    size_t len;
    bool cut;
};

TN_API struct tn_str tn_str_on(char * buffer, size_t size);
TN_API void tn_str_add(struct tn_str * s, const char * fmt, ...) TN_PRINTF(2, 3);
TN_API void tn_str_addv(struct tn_str * s, const char * fmt, va_list args) TN_PRINTF(2, 0);

// Copies at most size - 1 bytes and terminates. Returns whether all of it fitted.
TN_API bool tn_str_copy(char * to, size_t size, const char * from);

// The same text but for the case of letters A to Z, whatever the locale?
TN_API bool tn_str_same_nocase(const char * a, const char * b);

#endif
