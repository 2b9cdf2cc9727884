// SPDX-License-Identifier: MIT
// mul_mat_id.
#include "op/oracle/oracle.h"

double oracle_mul_mat_id(const struct ggml_tensor * node, const int64_t * i) {
    const int64_t row[] = { i[0], (int64_t) cpu_get(node->src[2], i[1], i[2], 0, 0), 0 };
    const int64_t column[] = { i[1] % node->src[1]->ne[1], i[2], 0 };
    return oracle_dot(node, row, column);
}
