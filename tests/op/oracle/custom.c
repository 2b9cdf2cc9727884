// SPDX-License-Identifier: MIT
// map_custom1 .. 3 and custom, with the functions of test_cpu_custom.c and the contract.
#include "op/oracle/oracle.h"

double oracle_custom(const struct ggml_tensor * node, const int64_t * i) {
    const int n_src = node->op == GGML_OP_CUSTOM ? 4 : (int) (node->op - GGML_OP_MAP_CUSTOM1) + 1;
    double sum = 1.0;
    for (int s = 0; s < n_src; s++)
        sum += (s + 1) * cpu_get(node->src[s], i[0], i[1], i[2], i[3]);
    return sum;
}
