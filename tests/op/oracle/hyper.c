// SPDX-License-Identifier: MIT
// dsv4_hc_comb dsv4_hc_pre dsv4_hc_post.
#include "op/oracle/oracle.h"

enum { HC = 4 };

// c[d][s]; divides by eps + the sum over d, or over s.
static void divide(double c[HC][HC], double eps, bool over_d) {
    for (int a = 0; a < HC; a++) {
        double sum = eps;
        for (int b = 0; b < HC; b++)
            sum += over_d ? c[b][a] : c[a][b];
        for (int b = 0; b < HC; b++)
            *(over_d ? &c[b][a] : &c[a][b]) /= sum;
    }
}

void oracle_hc_comb(const struct ggml_tensor * node, double * out) {
    const double eps = oracle_param(node, 0), scale = cpu_get(node->src[1], 2, 0, 0, 0);
    for (int64_t t = 0; t < node->ne[2]; t++) {
        double c[HC][HC];
        for (int s = 0; s < HC; s++) {
            double sum = 0.0;
            for (int d = 0; d < HC; d++) {
                const int64_t i = 2 * HC + d + HC * s;
                c[d][s] = exp(cpu_get(node->src[0], i, t, 0, 0) * scale + cpu_get(node->src[2], i, 0, 0, 0));
                sum += c[d][s];
            }
            for (int d = 0; d < HC; d++)
                c[d][s] = c[d][s] / sum + eps;
        }
        divide(c, eps, false);
        for (int k = 1; k < node->op_params[1]; k++) {
            divide(c, eps, true);
            divide(c, eps, false);
        }
        for (int k = 0; k < HC * HC; k++)
            out[t * HC * HC + k] = c[k % HC][k / HC];
    }
}

double oracle_hc_pre(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *x = node->src[0], *w = node->src[1];
    double sum = 0.0;
    for (int64_t h = 0; h < x->ne[1]; h++) {
        const double v = cpu_get(x, i[0], h, i[1], 0);
        const double weight =
            node->op_params[1] ? oracle_sigmoid(cpu_get(w, i[0], h, i[1], 0)) : cpu_get(w, h, i[1], 0, 0);
        sum += oracle_term(oracle_param(node, 0) * v * weight);
    }
    return sum;
}

double oracle_hc_post(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *r = node->src[1], *c = node->src[3];
    double sum =
        oracle_term(cpu_get(node->src[0], i[0], i[2], 0, 0) * cpu_get(node->src[2], i[1], i[2], 0, 0));
    for (int64_t s = 0; s < r->ne[1]; s++)
        sum += oracle_term(cpu_get(r, i[0], s, i[2], 0) * (c ? cpu_get(c, i[1], s, i[2], 0) : s == i[1]));
    return sum;
}
