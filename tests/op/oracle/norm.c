// SPDX-License-Identifier: MIT
// norm rms_norm l2_norm group_norm rms_norm_back.
#include "op/oracle/oracle.h"

struct moments {
    double mean, variance, mean_sqr, sum_sqr;
};

// Of channels c0 .. c1 - 1 and rows r0 .. r1 - 1.
static struct moments compute_moments(const struct ggml_tensor * x, int64_t r0, int64_t r1, int64_t c0,
                                      int64_t c1, int64_t i3) {
    struct moments m = { 0 };
    const double n = (double) (x->ne[0] * (r1 - r0) * (c1 - c0));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t c = c0; c < c1; c++) {
            for (int64_t r = r0; r < r1; r++) {
                for (int64_t k = 0; k < x->ne[0]; k++) {
                    const double v = cpu_get(x, k, r, c, i3);
                    m.mean += pass == 0 ? v / n : 0.0;
                    m.sum_sqr += pass == 0 ? v * v : 0.0;
                    m.variance += pass == 1 ? (v - m.mean) * (v - m.mean) / n : 0.0;
                }
            }
        }
    }
    m.mean_sqr = m.sum_sqr / n;
    return m;
}

// The same, kept while elements of the same range are asked for.
static struct moments moments_of(const struct ggml_tensor * x, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
                                 int64_t i3) {
    static int check;
    static int64_t kept[5];
    static struct moments m;
    const int64_t range[] = { r0, r1, c0, c1, i3 };
    if (check == oracle_checks && memcmp(kept, range, sizeof(range)) == 0) return m;
    check = oracle_checks;
    memcpy(kept, range, sizeof(range));
    m = compute_moments(x, r0, r1, c0, c1, i3);
    return m;
}

double oracle_norm(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * x = node->src[0];
    const double v = cpu_get(x, i[0], i[1], i[2], i[3]);
    if (node->op == GGML_OP_GROUP_NORM) {
        const int64_t group = (x->ne[2] + node->op_params[0] - 1) / node->op_params[0];
        const int64_t c0 = i[2] / group * group;
        const int64_t c1 = c0 + group < x->ne[2] ? c0 + group : x->ne[2];
        const struct moments m = moments_of(x, 0, x->ne[1], c0, c1, i[3]);
        return (v - m.mean) / sqrt(m.variance + oracle_param(node, 1));
    }
    const struct moments m = moments_of(x, i[1], i[1] + 1, i[2], i[2] + 1, i[3]);
    const double eps = oracle_param(node, 0);
    switch (node->op) {
    case GGML_OP_NORM: return (v - m.mean) / sqrt(m.variance + eps);
    case GGML_OP_RMS_NORM: return v / sqrt(m.mean_sqr + eps);
    case GGML_OP_L2_NORM: return v / fmax(sqrt(m.sum_sqr), eps);
    default: fail_msg("no oracle"); return 0.0;
    }
}

double oracle_rms_norm_back(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * g = node->src[0];
    const struct ggml_tensor * x = node->src[1];
    const double n = (double) x->ne[0], eps = oracle_param(node, 0);
    double xx = 0.0, xg = 0.0;
    for (int64_t k = 0; k < x->ne[0]; k++) {
        const double v = cpu_get(x, k, i[1], i[2], i[3]);
        xx += v * v;
        xg += v * cpu_get(g, k, i[1], i[2], i[3]);
    }
    const double v = cpu_get(x, i[0], i[1], i[2], i[3]);
    return (cpu_get(g, i[0], i[1], i[2], i[3]) - v * xg / (xx + n * eps)) / sqrt(xx / n + eps);
}
