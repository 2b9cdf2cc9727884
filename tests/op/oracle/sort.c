// SPDX-License-Identifier: MIT
// argsort top_k: which indices are right.
#include "op/oracle/oracle.h"

// Does a come before b? NaN comes last in both orders, 0 and -0 are equal.
static bool is_before(double a, double b, bool descending) {
    if (isnan(a) || isnan(b)) return !isnan(a) && isnan(b);
    return descending ? a > b : a < b;
}

// Elements of a row that must stand before element i: those before it in value, or equal with a lower index.
int64_t oracle_rank(const struct ggml_tensor * x, const int64_t * at, int64_t i, bool descending) {
    const double v = cpu_get(x, i, at[1], at[2], at[3]);
    int64_t rank = 0;
    for (int64_t k = 0; k < x->ne[0]; k++) {
        const double u = cpu_get(x, k, at[1], at[2], at[3]);
        rank += is_before(u, v, descending) || (k < i && !is_before(v, u, descending));
    }
    return rank;
}

static bool is_index(const struct ggml_tensor * node, int64_t index) {
    return index >= 0 && index < node->src[0]->ne[0];
}

// Every index stands at its own rank, so it is a permutation as well.
bool oracle_argsort(const struct ggml_tensor * node) {
    const bool descending = node->op_params[0] == GGML_SORT_ORDER_DESC;
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(node); k++, cpu_next(node, i)) {
        const int64_t index = (int64_t) cpu_get(node, i[0], i[1], i[2], i[3]);
        if (!is_index(node, index) || oracle_rank(node->src[0], i, index, descending) != i[0]) return false;
    }
    return true;
}

// Every index is among the first k, and no two are equal.
bool oracle_top_k(const struct ggml_tensor * node) {
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(node); k++, cpu_next(node, i)) {
        const int64_t index = (int64_t) cpu_get(node, i[0], i[1], i[2], i[3]);
        if (!is_index(node, index) || oracle_rank(node->src[0], i, index, true) >= node->ne[0]) return false;
        for (int64_t j = 0; j < i[0]; j++) {
            if ((int64_t) cpu_get(node, j, i[1], i[2], i[3]) == index) return false;
        }
    }
    return true;
}
