// SPDX-License-Identifier: MIT
// mul_mat_id.
#include "op/oracle/oracle.h"

double oracle_mul_mat_id(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    const int64_t matrix = (int64_t) cpu_get(node->src[2], i[1], i[2], 0, 0);
    double sum = 0.0;
    for (int64_t k = 0; k < a->ne[0]; k++)
        sum += oracle_term(cpu_get(a, k, i[0], matrix, 0) * cpu_get(b, k, i[1] % b->ne[1], i[2], 0));
    return sum;
}
