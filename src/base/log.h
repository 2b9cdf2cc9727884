// SPDX-License-Identifier: MIT
// Messages for the log callback (ggml_log_set). Thread-safe.
#ifndef TN_BASE_LOG_H
#define TN_BASE_LOG_H

#include "base/compiler.h"
#include "ggml.h"

// The text ends in '\n' unless the next message has level CONT.
TN_API void tn_log(enum ggml_log_level level, const char * fmt, ...) TN_PRINTF(2, 3);

#define TN_LOG_ERROR(...) tn_log(GGML_LOG_LEVEL_ERROR, __VA_ARGS__)
#define TN_LOG_WARN(...)  tn_log(GGML_LOG_LEVEL_WARN, __VA_ARGS__)
#define TN_LOG_INFO(...)  tn_log(GGML_LOG_LEVEL_INFO, __VA_ARGS__)
#define TN_LOG_DEBUG(...) tn_log(GGML_LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
