// SPDX-License-Identifier: MIT
// out_prod.
#include "op/oracle/oracle.h"

double oracle_out_prod(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    const int64_t r2 = b->ne[2] / a->ne[2], r3 = b->ne[3] / a->ne[3];
    double sum = 0.0;
    for (int64_t c = 0; c < a->ne[1]; c++)
        sum += oracle_term(cpu_get(a, i[0], c, i[2] / r2, i[3] / r3) * cpu_get(b, i[1], c, i[2], i[3]));
    return sum;
}
