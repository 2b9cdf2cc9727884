// SPDX-License-Identifier: MIT
// pad pad_reflect_1d roll.
#include "op/oracle/oracle.h"

static int64_t around(int64_t i, int64_t n) {
    return (i % n + n) % n;
}

double oracle_pad(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    int64_t j[4];
    for (int d = 0; d < 4; d++) {
        j[d] = i[d] - node->op_params[2 * d];
        if (node->op_params[8]) j[d] = around(j[d], x->ne[d]);
        if (j[d] < 0 || j[d] >= x->ne[d]) return 0.0;
    }
    return cpu_get(x, j[0], j[1], j[2], j[3]);
}

double oracle_roll(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    int64_t j[4];
    for (int d = 0; d < 4; d++)
        j[d] = around(i[d] - node->op_params[d], x->ne[d]);
    return cpu_get(x, j[0], j[1], j[2], j[3]);
}

double oracle_pad_reflect(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    const int64_t j = llabs(i[0] - node->op_params[0]);
    return cpu_get(x, j < x->ne[0] ? j : 2 * (x->ne[0] - 1) - j, i[1], i[2], i[3]);
}
