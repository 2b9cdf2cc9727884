// SPDX-License-Identifier: MIT
// sum sum_rows mean cumsum argmax count_equal.
#include "op/oracle/oracle.h"

static double row_sum(const struct ggml_tensor * x, const int64_t * i) {
    double sum = 0.0;
    for (int64_t k = 0; k < x->ne[0]; k++)
        sum += cpu_get(x, k, i[1], i[2], i[3]);
    return sum;
}

static double total(const struct ggml_tensor * x) {
    double sum = 0.0;
    int64_t i[4] = { 0 };
    for (int64_t row = 0; row < ggml_nrows(x); row++) {
        const int64_t at[] = { 0, row % x->ne[1], row / x->ne[1] % x->ne[2], row / x->ne[1] / x->ne[2] };
        memcpy(i, at, sizeof(i));
        sum += row_sum(x, i);
    }
    return sum;
}

static double argmax(const struct ggml_tensor * x, int64_t row) {
    int64_t best = 0;
    for (int64_t k = 1; k < x->ne[0]; k++) {
        if (cpu_get(x, k, row, 0, 0) >= cpu_get(x, best, row, 0, 0)) best = k;
    }
    return (double) best;
}

// Sum of the elements up to this one; kept while a row is asked for in order.
static double running_sum(const struct ggml_tensor * x, const int64_t * i) {
    static double sum;
    if (i[0] == 0) sum = 0.0;
    sum += cpu_get(x, i[0], i[1], i[2], i[3]);
    return sum;
}

static double count_equal(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    int64_t n = 0, i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(a); k++, cpu_next(a, i))
        n += cpu_get(a, i[0], i[1], i[2], i[3]) == cpu_get(b, i[0], i[1], i[2], i[3]);
    return (double) n;
}

double oracle_reduce(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    switch (node->op) {
    case GGML_OP_SUM: return total(x);
    case GGML_OP_SUM_ROWS: return row_sum(x, i);
    case GGML_OP_MEAN: return row_sum(x, i) / (double) x->ne[0];
    case GGML_OP_ARGMAX: return argmax(x, i[0]);
    case GGML_OP_CUMSUM: return running_sum(x, i);
    case GGML_OP_COUNT_EQUAL: return count_equal(x, node->src[1]);
    default: fail_msg("no oracle"); return 0.0;
    }
}
