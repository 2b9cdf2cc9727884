// SPDX-License-Identifier: MIT
// Types and layouts that operators insist on.
#include "cpu/require.h"

#include "base/error.h"

bool tn_require_type(const struct ggml_tensor * node, int first, int last, enum ggml_type type) {
    for (int i = first; i <= last; i++) {
        const struct ggml_tensor * x = node->src[i];
        if (!x || x->type == type) continue;
        return tn_refuse("src%d is %s: only %s is computed with", i, ggml_type_name(x->type),
                         ggml_type_name(type));
    }
    return true;
}

bool tn_require_f32_result(const struct ggml_tensor * node) {
    if (node->type == GGML_TYPE_F32 && ggml_is_contiguous(node)) return true;
    return tn_refuse("the result must be contiguous f32");
}
