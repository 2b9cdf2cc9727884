// SPDX-License-Identifier: MIT
// Refusals of calls through the tables.
#include "backend/iface.h"

#include <stdarg.h>

#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "core/context.h"

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
