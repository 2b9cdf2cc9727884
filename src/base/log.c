// SPDX-License-Identifier: MIT
// The log callback and the default that writes to stderr.
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/thread.h"

static void write_to_stderr(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) user_data;
    fputs(text, stderr);
    fflush(stderr);
}

static struct tn_mutex lock = TN_MUTEX_INIT;
static ggml_log_callback log_callback = write_to_stderr;
static void * log_user_data;

void ggml_log_set(ggml_log_callback callback, void * user_data) {
    tn_mutex_lock(&lock);
    log_callback = callback ? callback : write_to_stderr;
    log_user_data = user_data;
    tn_mutex_unlock(&lock);
}

void ggml_log_get(ggml_log_callback * callback, void ** user_data) {
    tn_mutex_lock(&lock);
    if (callback) *callback = log_callback;
    if (user_data) *user_data = log_user_data;
    tn_mutex_unlock(&lock);
}

void tn_log(enum ggml_log_level level, const char * fmt, ...) {
    char text[2048];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n >= (int) sizeof(text)) text[sizeof(text) - 2] = '\n';
    // The pair is read under the lock and called outside, so that a callback may log or change the callback.
    ggml_log_callback callback;
    void * user_data;
    ggml_log_get(&callback, &user_data);
    callback(level, text, user_data);
}
