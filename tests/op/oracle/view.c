// SPDX-License-Identifier: MIT
// view permute transpose: the elements that are seen. A reshape is a copy that keeps its memory.
#include "op/oracle/oracle.h"

double oracle_view(const struct ggml_tensor * node, const int64_t * i) {
    size_t offset;
    memcpy(&offset, node->op_params, sizeof(offset));
    struct ggml_tensor seen = *node;
    seen.data = (char *) node->src[0]->data + offset;
    return cpu_get(&seen, i[0], i[1], i[2], i[3]);
}

double oracle_permute(const struct ggml_tensor * node, const int64_t * i) {
    const int32_t * axes = node->op_params;
    return cpu_get(node->src[0], i[axes[0]], i[axes[1]], i[axes[2]], i[axes[3]]);
}

double oracle_transpose(const struct ggml_tensor * node, const int64_t * i) {
    return cpu_get(node->src[0], i[1], i[0], i[2], i[3]);
}
