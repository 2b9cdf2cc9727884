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

static const char * const unary_names[GGML_UNARY_OP_COUNT] = {
#define TN_ROW(id, name, builders, backward) [GGML_UNARY_OP_##id] = #id,
#include "core/unary_ops.def"
#undef TN_ROW
};

static const char * const glu_names[GGML_GLU_OP_COUNT] = {
#define TN_ROW(id, name, builders) [GGML_GLU_OP_##id] = #id,
#include "core/glu_ops.def"
#undef TN_ROW
};

const char * ggml_unary_op_name(enum ggml_unary_op op) {
    return (unsigned) op < GGML_UNARY_OP_COUNT ? unary_names[op] : "(unknown function)";
}

const char * ggml_glu_op_name(enum ggml_glu_op op) {
    return (unsigned) op < GGML_GLU_OP_COUNT ? glu_names[op] : "(unknown function)";
}

enum ggml_unary_op ggml_get_unary_op(const struct ggml_tensor * t) {
    return t && t->op == GGML_OP_UNARY ? (enum ggml_unary_op) t->op_params[0] : GGML_UNARY_OP_COUNT;
}

enum ggml_glu_op ggml_get_glu_op(const struct ggml_tensor * t) {
    return t && t->op == GGML_OP_GLU ? (enum ggml_glu_op) t->op_params[0] : GGML_GLU_OP_COUNT;
}

const char * ggml_op_desc(const struct ggml_tensor * t) {
    if (!t) return ggml_op_name(GGML_OP_NONE);
    if (t->op == GGML_OP_UNARY) return ggml_unary_op_name(ggml_get_unary_op(t));
    if (t->op == GGML_OP_GLU) return ggml_glu_op_name(ggml_get_glu_op(t));
    return ggml_op_name(t->op);
}
