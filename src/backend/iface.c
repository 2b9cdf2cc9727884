// SPDX-License-Identifier: MIT
// Refusals of calls through the tables.
#include "backend/iface.h"

#include <stdarg.h>

#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "core/context.h"
#include "core/shape.h"

bool tn_iface_refuse(const char * function, const char * fmt, ...) {
    char text[TN_ERROR_MAX];
    struct tn_str s = tn_str_on(text, sizeof(text));
    va_list args;
    va_start(args, fmt);
    tn_str_add(&s, "%s: ", function);
    tn_str_addv(&s, fmt, args);
    va_end(args);
    TN_LOG_ERROR("%s\n", text);
    return tn_refuse("%s", text);
}

bool tn_iface_check_tensor(const char * function, const struct ggml_tensor * t) {
    if (!t) return tn_iface_refuse(function, "the tensor is NULL");
    if (!tn_tensor_is_poisoned(t)) return true;
    return tn_iface_refuse(function, "the tensor was refused before: %s", tn_context_poison_text(t));
}

static bool has_memory(const struct ggml_tensor * t) {
    return t->data || tn_shape_empty(t);
}

bool tn_iface_check_memory(const struct ggml_tensor * node) {
    char text[TN_SHAPE_TENSOR_TEXT];
    if (!has_memory(node)) {
        return tn_refuse("%s %s has no memory: allocate the graph before it is computed",
                         ggml_op_name(node->op), tn_shape_tensor_text(text, node));
    }
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        const struct ggml_tensor * src = node->src[i];
        if (!src || has_memory(src)) continue;
        return tn_refuse("%s '%s': its source %d, %s, has no memory", ggml_op_name(node->op), node->name, i,
                         tn_shape_tensor_text(text, src));
    }
    return true;
}
