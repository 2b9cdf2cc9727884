// SPDX-License-Identifier: MIT
// get_rows set_rows get_rows_back add_id.
#include "op/oracle/oracle.h"

double oracle_get_rows(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * index = node->src[1];
    const int64_t row = (int64_t) cpu_get(index, i[1], i[2], i[3], 0);
    return cpu_get(node->src[0], i[0], row, i[2], i[3]);
}

// Row i[1] of the result: all rows of a with that index.
double oracle_get_rows_back(const struct ggml_tensor * node, const int64_t * i) {
    double sum = 0.0;
    for (int64_t r = 0; r < node->src[0]->ne[1]; r++) {
        if ((int64_t) cpu_get(node->src[1], r, 0, 0, 0) == i[1])
            sum += oracle_term(cpu_get(node->src[0], i[0], r, 0, 0));
    }
    return sum;
}

double oracle_add_id(const struct ggml_tensor * node, const int64_t * i) {
    const int64_t row = (int64_t) cpu_get(node->src[2], i[1], i[2], 0, 0);
    return cpu_get(node->src[0], i[0], i[1], i[2], i[3]) + cpu_get(node->src[1], i[0], row, 0, 0);
}

// What row i[1] must hold: the last source row with that index, else what it held before.
double oracle_set_rows(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *b = node->src[0], *c = node->src[1];
    for (int64_t r = b->ne[1] - 1; r >= 0; r--) {
        const int64_t row = (int64_t) cpu_get(c, r, i[2] % c->ne[1], i[3] % c->ne[2], 0);
        if (row == i[1]) return cpu_get(b, i[0], r, i[2], i[3]);
    }
    return cpu_get(node->src[2], i[0], i[1], i[2], i[3]);
}
