// SPDX-License-Identifier: MIT
// solve_tri.
#include "op/oracle/oracle.h"

void oracle_solve_tri(const struct ggml_tensor * node, double * x) {
    const struct ggml_tensor *a = node->src[0], *b = node->src[1];
    const int64_t width = node->ne[0], n = node->ne[1];
    for (int64_t k = 0, at[4] = { 0 }; k < ggml_nelements(node); k++, cpu_next(node, at)) {
        const int64_t j = at[0], i = at[1];
        double sum = cpu_get(b, j, i, at[2], at[3]);
        for (int64_t t = 0; t < i; t++)
            sum -= cpu_get(a, t, i, at[2], at[3]) * x[j + width * (t + n * (at[2] + node->ne[2] * at[3]))];
        x[k] = sum / cpu_get(a, i, i, at[2], at[3]);
    }
}
