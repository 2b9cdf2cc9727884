// SPDX-License-Identifier: MIT
// The table of operators.
#include "core/op.h"

#include <stddef.h>

#define TN_ROW(id, descriptor, formula) extern const struct tn_op descriptor;
#include "core/ops.def"
#undef TN_ROW

static const struct {
    const struct tn_op * op;
    const char * name;
    const char * formula;
} rows[GGML_OP_COUNT] = {
#define TN_ROW(id, descriptor, formula) [GGML_OP_##id] = { &descriptor, #id, formula },
#include "core/ops.def"
#undef TN_ROW
};

static bool known(enum ggml_op op) {
    return (unsigned) op < GGML_OP_COUNT;
}

const struct tn_op * tn_op_get(enum ggml_op op) {
    return known(op) ? rows[op].op : NULL;
}

bool tn_op_is_view(enum ggml_op op) {
    return op == GGML_OP_NONE || (known(op) && rows[op].op && rows[op].op->is_view);
}

const char * ggml_op_name(enum ggml_op op) {
    if (op == GGML_OP_NONE) return "NONE";
    return known(op) && rows[op].name ? rows[op].name : "(unknown operator)";
}

const char * ggml_op_symbol(enum ggml_op op) {
    if (op == GGML_OP_NONE) return "none";
    return known(op) && rows[op].formula ? rows[op].formula : "(unknown operator)";
}
