// SPDX-License-Identifier: MIT
// What an application asks about refusals.
#include "ggml-ext.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "core/context.h"
#include "core/graph.h"

bool ggml_ext_tensor_valid(const struct ggml_tensor * tensor) {
    return tensor && !tn_tensor_is_poisoned(tensor);
}

bool ggml_ext_graph_valid(const struct ggml_cgraph * graph) {
    return graph && graph->order != TN_GRAPH_INVALID;
}

const char * ggml_ext_context_error(const struct ggml_context * ctx) {
    return ctx && ctx->poison.text[0] ? ctx->poison.text : NULL;
}

const char * ggml_ext_last_error(void) {
    return tn_error_text();
}

void ggml_ext_refuse(const char * fmt, ...) {
    char text[TN_ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    tn_error_set("%s", text);
}

void ggml_ext_set_strict(bool on) {
    tn_context_set_strict(on);
}
