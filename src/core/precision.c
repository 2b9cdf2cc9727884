// SPDX-License-Identifier: MIT
// The least precision that a node asks for. Which word it is stands in the operator's descriptor.
#include "base/error.h"
#include "core/op.h"
#include "core/params.h"

static bool set(struct ggml_tensor * t, int word_plus_1, enum ggml_prec prec, const char * function) {
    if (word_plus_1 == 0) return tn_refuse("%s: %s takes no such setting", function, ggml_op_desc(t));
    tn_param_set_i32(t, word_plus_1 - 1, (int32_t) prec);
    return true;
}

bool ggml_prec_set_acc(struct ggml_tensor * t, enum ggml_prec prec) {
    const struct tn_op * op = t ? tn_op_get(t->op) : NULL;
    return set(t, op ? op->prec_acc : 0, prec, __func__);
}

bool ggml_prec_set_src(struct ggml_tensor * t, enum ggml_prec prec, int idx) {
    const struct tn_op * op = t && idx == 1 ? tn_op_get(t->op) : NULL;
    return set(t, op ? op->prec_src1 : 0, prec, __func__);
}
