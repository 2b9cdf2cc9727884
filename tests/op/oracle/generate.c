// SPDX-License-Identifier: MIT
// arange timestep_embedding.
#include "op/oracle/oracle.h"

double oracle_arange(const struct ggml_tensor * node, const int64_t * i) {
    float p[3];
    memcpy(p, node->op_params, sizeof(p));
    return oracle_term((double) p[0]) + oracle_term((double) p[2] * (double) i[0]);
}

double oracle_timestep(const struct ggml_tensor * node, const int64_t * i) {
    const int64_t half = node->op_params[0] / 2, j = i[0] % (half ? half : 1);
    if (i[0] >= 2 * half) return 0.0;
    const double angle =
        cpu_get(node->src[0], i[1], 0, 0, 0) * pow(node->op_params[1], -(double) j / (double) half);
    return i[0] < half ? cos(angle) : sin(angle);
}
