// SPDX-License-Identifier: MIT
// mul_mat.
#include "op/oracle/oracle.h"

double oracle_mul_mat(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    const int64_t r2 = b->ne[2] / a->ne[2], r3 = b->ne[3] / a->ne[3];
    double sum = 0.0;
    for (int64_t k = 0; k < a->ne[0]; k++) {
        sum += oracle_term(cpu_get(a, k, i[0], i[2] / r2, i[3] / r3) * cpu_get(b, k, i[1], i[2], i[3]));
    }
    return sum;
}
