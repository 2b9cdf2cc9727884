// SPDX-License-Identifier: MIT
// soft_max soft_max_back diag_mask_inf diag_mask_zero.
#include "op/oracle/oracle.h"

static double scaled(const struct ggml_tensor * node, int64_t k, const int64_t * i) {
    const struct ggml_tensor * m = node->src[1];
    const double v = oracle_param(node, 0) * cpu_get(node->src[0], k, i[1], i[2], i[3]);
    if (!m) return v;
    return v + oracle_slope(oracle_param(node, 1), node->ne[2], i[2]) *
                   cpu_get(m, k, i[1], i[2] % m->ne[2], i[3] % m->ne[3]);
}

// All weights of the row, kept while elements of the same row are asked for.
static const double * row_of(const struct ggml_tensor * node, const int64_t * i) {
    static int check;
    static int64_t at[3];
    static double w[2048];
    if (check == oracle_checks && memcmp(at, i + 1, sizeof(at)) == 0) return w;
    check = oracle_checks;
    memcpy(at, i + 1, sizeof(at));
    const struct ggml_tensor * sinks = node->src[2];
    const double sink = sinks ? cpu_get(sinks, i[2], 0, 0, 0) : -INFINITY;
    double max = sink, sum = 0.0;
    for (int64_t k = 0; k < node->ne[0]; k++) {
        w[k] = scaled(node, k, i);
        max = fmax(max, w[k]);
    }
    for (int64_t k = 0; k < node->ne[0]; k++) {
        w[k] = isinf(max) ? 0.0 : exp(w[k] - max);
        sum += w[k];
    }
    sum += isinf(max) ? 1.0 : exp(sink - max);
    for (int64_t k = 0; k < node->ne[0]; k++)
        w[k] /= sum;
    return w;
}

double oracle_softmax(const struct ggml_tensor * node, const int64_t * i) {
    return row_of(node, i)[i[0]];
}

double oracle_diag_mask(const struct ggml_tensor * node, const int64_t * i) {
    if (i[0] <= node->op_params[0] + i[1]) return cpu_get(node->src[0], i[0], i[1], i[2], i[3]);
    return node->op == GGML_OP_DIAG_MASK_INF ? -INFINITY : 0.0;
}

double oracle_softmax_back(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * g = node->src[0];
    const struct ggml_tensor * p = node->src[1];
    double sum = 0.0;
    for (int64_t k = 0; k < p->ne[0]; k++)
        sum += cpu_get(p, k, i[1], i[2], i[3]) * cpu_get(g, k, i[1], i[2], i[3]);
    return oracle_param(node, 0) * cpu_get(p, i[0], i[1], i[2], i[3]) *
           (cpu_get(g, i[0], i[1], i[2], i[3]) - sum);
}
