// SPDX-License-Identifier: MIT
// Assertions about the library itself. Never about what a caller, a file or a device gives.
#ifndef TN_BASE_CHECK_H
#define TN_BASE_CHECK_H

#include "base/compiler.h"

// Prints the message with a backtrace and ends the process: only for TN_ASSERT and strict mode.
TN_API TN_NORETURN void tn_check_abort(const char * file, int line, const char * fmt, ...) TN_PRINTF(3, 4);

#define TN_ABORT(...) tn_check_abort(__FILE__, __LINE__, __VA_ARGS__)

#ifndef NDEBUG
#define TN_ASSERT(x)                                       \
    do {                                                   \
        if (TN_UNLIKELY(!(x))) TN_ABORT("broken: %s", #x); \
    } while (0)
#else
#define TN_ASSERT(x) ((void) sizeof(!(x)))
#endif

#endif
