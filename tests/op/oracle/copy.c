// SPDX-License-Identifier: MIT
// dup cpy cont repeat concat repeat_back.
#include "op/oracle/oracle.h"

// Element number `index` in row-major order.
static double element(const struct ggml_tensor * x, int64_t index) {
    const int64_t row = index / x->ne[0];
    const int64_t i3 = row / x->ne[1] / x->ne[2];
    return cpu_get(x, index % x->ne[0], row % x->ne[1], row / x->ne[1] % x->ne[2], i3);
}

double oracle_copy(const struct ggml_tensor * node, const int64_t * i) {
    const int64_t row = (i[3] * node->ne[2] + i[2]) * node->ne[1] + i[1];
    const double v = element(node->src[0], row * node->ne[0] + i[0]);
    return node->type == GGML_TYPE_I32 ? trunc(v) : v;
}

double oracle_repeat(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    return cpu_get(x, i[0] % x->ne[0], i[1] % x->ne[1], i[2] % x->ne[2], i[3] % x->ne[3]);
}

double oracle_concat(const struct ggml_tensor * node, const int64_t * i) {
    const int dim = node->op_params[0];
    const int64_t split = node->src[0]->ne[dim];
    int64_t at[] = { i[0], i[1], i[2], i[3] };
    const struct ggml_tensor * x = node->src[i[dim] < split ? 0 : 1];
    if (i[dim] >= split) at[dim] -= split;
    return cpu_get(x, at[0], at[1], at[2], at[3]);
}

double oracle_repeat_back(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    double sum = 0.0;
    for (int64_t i3 = i[3]; i3 < x->ne[3]; i3 += node->ne[3]) {
        for (int64_t i2 = i[2]; i2 < x->ne[2]; i2 += node->ne[2]) {
            for (int64_t i1 = i[1]; i1 < x->ne[1]; i1 += node->ne[1]) {
                for (int64_t i0 = i[0]; i0 < x->ne[0]; i0 += node->ne[0])
                    sum += cpu_get(x, i0, i1, i2, i3);
            }
        }
    }
    return sum;
}
