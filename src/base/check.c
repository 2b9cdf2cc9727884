// SPDX-License-Identifier: MIT
// ggml_abort for clients' own assertions, and the library's assertions about itself.
#include "base/check.h"

#include <execinfo.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/env.h"
#include "ggml.h"

static _Atomic(ggml_abort_callback_t) abort_callback;

ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback) {
    return atomic_exchange(&abort_callback, callback);
}

static TN_NORETURN void end_process(const char * file, int line, const char * fmt, va_list args) {
    char text[2048];
    fflush(stdout);
    const int n = snprintf(text, sizeof(text), "%s:%d: ", file, line);
    if (n >= 0 && (size_t) n < sizeof(text)) vsnprintf(text + n, sizeof(text) - (size_t) n, fmt, args);
    const ggml_abort_callback_t callback = atomic_load(&abort_callback);
    if (callback) {
        callback(text);
    } else {
        void * frames[64];
        fprintf(stderr, "%s\n", text);
        fflush(stderr);
        if (!tn_env_get(TN_ENV_GGML_NO_BACKTRACE)) {
            backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
        }
    }
    abort();
}

void ggml_abort(const char * file, int line, const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    end_process(file, line, fmt, args);
}

void tn_check_abort(const char * file, int line, const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    end_process(file, line, fmt, args);
}
