// SPDX-License-Identifier: MIT
// cross_entropy_loss and its gradient.
#include "op/oracle/oracle.h"

// log(sum(exp(x))) of a row of logits, kept while the same row is asked for.
static double log_sum(const struct ggml_tensor * x, int64_t i1, int64_t i2, int64_t i3) {
    static int check;
    static int64_t at[3];
    static double kept;
    const int64_t row[] = { i1, i2, i3 };
    if (check == oracle_checks && memcmp(at, row, sizeof(row)) == 0) return kept;
    check = oracle_checks;
    memcpy(at, row, sizeof(row));
    double max = -INFINITY, sum = 0.0;
    for (int64_t k = 0; k < x->ne[0]; k++)
        max = fmax(max, cpu_get(x, k, i1, i2, i3));
    for (int64_t k = 0; k < x->ne[0]; k++)
        sum += exp(cpu_get(x, k, i1, i2, i3) - max);
    kept = max + log(sum);
    return kept;
}

double oracle_cross_entropy(const struct ggml_tensor * node, const int64_t * index) {
    const struct ggml_tensor * x = node->src[0];
    (void) index;
    double sum = 0.0;
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(x); k++, cpu_next(x, i)) {
        const double label = cpu_get(node->src[1], i[0], i[1], i[2], i[3]);
        if (label == 0.0) continue;
        sum += label * (cpu_get(x, i[0], i[1], i[2], i[3]) - log_sum(x, i[1], i[2], i[3]));
    }
    return ggml_nrows(x) ? -sum / (double) ggml_nrows(x) : 0.0;
}

double oracle_cross_entropy_back(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[1];
    const double p = exp(cpu_get(x, i[0], i[1], i[2], i[3]) - log_sum(x, i[1], i[2], i[3]));
    const double label = cpu_get(node->src[2], i[0], i[1], i[2], i[3]);
    return (p - label) * cpu_get(node->src[0], 0, 0, 0, 0) / (double) ggml_nrows(x);
}

static double at(const struct ggml_tensor * node, int src, const int64_t * i) {
    return cpu_get(node->src[src], i[0], i[1], i[2], i[3]);
}

enum { ALPHA, BETA1, BETA2, EPS, DECAY, BETA1_H, BETA2_H }; // of a step of AdamW

static double setting(const struct ggml_tensor * node, int which) {
    return cpu_get(node->src[node->op == GGML_OP_OPT_STEP_SGD ? 2 : 4], which, 0, 0, 0);
}

double oracle_adamw_m(const struct ggml_tensor * node, const int64_t * i) {
    const double beta = setting(node, BETA1);
    return beta * at(node, 2, i) + (1.0 - beta) * at(node, 1, i);
}

double oracle_adamw_v(const struct ggml_tensor * node, const int64_t * i) {
    const double beta = setting(node, BETA2);
    return beta * at(node, 3, i) + (1.0 - beta) * at(node, 1, i) * at(node, 1, i);
}

double oracle_adamw(const struct ggml_tensor * node, const int64_t * i) {
    const double alpha = setting(node, ALPHA);
    const double m = oracle_adamw_m(node, i) * setting(node, BETA1_H);
    const double v = oracle_adamw_v(node, i) * setting(node, BETA2_H);
    return at(node, 0, i) * (1.0 - alpha * setting(node, DECAY)) - alpha * m / (sqrt(v) + setting(node, EPS));
}

double oracle_sgd(const struct ggml_tensor * node, const int64_t * i) {
    const double alpha = setting(node, 0);
    return at(node, 0, i) * (1.0 - alpha * setting(node, 1)) - alpha * at(node, 1, i);
}
