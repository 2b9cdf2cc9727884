// SPDX-License-Identifier: MIT
// diag tri.
#include "op/oracle/oracle.h"

double oracle_diag(const struct ggml_tensor * node, const int64_t * i) {
    return i[0] == i[1] ? cpu_get(node->src[0], i[0], 0, i[2], i[3]) : 0.0;
}

double oracle_tri(const struct ggml_tensor * node, const int64_t * i) {
    bool keep = false;
    switch (node->op_params[0]) {
    case 0: keep = i[0] >= i[1]; break;
    case 1: keep = i[0] > i[1]; break;
    case 2: keep = i[0] <= i[1]; break;
    case 3: keep = i[0] < i[1]; break;
    }
    return keep ? cpu_get(node->src[0], i[0], i[1], i[2], i[3]) : 0.0;
}
