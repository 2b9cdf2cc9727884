// SPDX-License-Identifier: MIT
// acc set.
#include "op/oracle/oracle.h"

// Byte offset of an element of b inside the result's memory.
static int64_t place(const struct ggml_tensor * node, const int64_t * i) {
    const int32_t * p = node->op_params;
    return p[3] + i[0] * (int64_t) ggml_type_size(node->type) + i[1] * p[0] + i[2] * p[1] + i[3] * p[2];
}

// ACC adds every element of b that lies there, of SET the last one stays.
double oracle_region(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * b = node->src[1];
    const int64_t at = cpu_at(node, i[0], i[1], i[2], i[3]) - (char *) node->data;
    double v = cpu_get(node->src[0], i[0], i[1], i[2], i[3]);
    int64_t j[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(b); k++, cpu_next(b, j)) {
        if (place(node, j) != at) continue;
        v = (node->op == GGML_OP_ACC ? v : 0.0) + cpu_get(b, j[0], j[1], j[2], j[3]);
    }
    return v;
}
