// SPDX-License-Identifier: MIT
// add sub mul div add1 silu_back.
#include "op/oracle/oracle.h"

double oracle_binary(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * b = node->src[1];
    const double x = cpu_get(node->src[0], i[0], i[1], i[2], i[3]);
    const double y = cpu_get(b, i[0] % b->ne[0], i[1] % b->ne[1], i[2] % b->ne[2], i[3] % b->ne[3]);
    switch (node->op) {
    case GGML_OP_ADD1:
    case GGML_OP_ADD: return x + y;
    case GGML_OP_SUB: return x - y;
    case GGML_OP_MUL: return x * y;
    default: return x / y;
    }
}

double oracle_silu_back(const struct ggml_tensor * node, const int64_t * i) {
    const double g = cpu_get(node->src[0], i[0], i[1], i[2], i[3]);
    const double x = cpu_get(node->src[1], i[0], i[1], i[2], i[3]);
    const double s = oracle_sigmoid(x);
    return g * s * (1.0 + x * (1.0 - s));
}
