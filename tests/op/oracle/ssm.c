// SPDX-License-Identifier: MIT
// ssm_conv ssm_scan.
#include "op/oracle/oracle.h"

double oracle_ssm_conv(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * w = node->src[1];
    double sum = 0.0;
    for (int64_t k = 0; k < w->ne[0]; k++)
        sum += oracle_term(cpu_get(node->src[0], i[1] + k, i[0], i[2], 0) * cpu_get(w, k, i[0], 0, 0));
    return sum;
}

enum { STATE, INPUT, STEP, DECAY, INTO, OUT_OF, IDS };

static double softplus(double x) {
    return x > 20.0 ? x : log1p(exp(x));
}

// One token of row p of head h: the state's n numbers, and y.
static double scan_token(const struct ggml_tensor * node, const int64_t * at, double * m) {
    const struct ggml_tensor *a = node->src[DECAY], *b = node->src[INTO];
    const int64_t p = at[0], h = at[1], t = at[2], s = at[3],
                  group = h / (node->src[INPUT]->ne[1] / b->ne[1]);
    const double z = softplus(cpu_get(node->src[STEP], h, t, s, 0));
    double y = 0.0;
    for (int64_t n = 0; n < node->src[STATE]->ne[0]; n++) {
        m[n] = m[n] * exp(z * cpu_get(a, n % a->ne[0], h, 0, 0)) +
               cpu_get(b, n, group, t, s) * cpu_get(node->src[INPUT], p, h, t, s) * z;
        y += m[n] * cpu_get(node->src[OUT_OF], n, group, t, s);
    }
    return y;
}

void oracle_ssm_scan(const struct ggml_tensor * node, double * out) {
    const int64_t * ne = node->src[INPUT]->ne; // P, H, T, S
    const int64_t n = node->src[STATE]->ne[0], slot_size = n * ne[0] * ne[1] * ne[3];
    double * snapshots = out + ggml_nelements(node->src[INPUT]);
    for (int64_t u = 0; u < ne[0] * ne[1] * ne[3]; u++) {
        int64_t at[] = { u % ne[0], u / ne[0] % ne[1], 0, u / ne[0] / ne[1] };
        double m[128];
        for (int64_t i = 0; i < n; i++)
            m[i] =
                cpu_get(node->src[STATE], i, at[0], at[1], (int64_t) cpu_get(node->src[IDS], at[3], 0, 0, 0));
        if (ne[2] == 0) memcpy(snapshots + u * n, m, (size_t) n * sizeof(double));
        for (; at[2] < ne[2]; at[2]++) {
            out[at[0] + ne[0] * (at[1] + ne[1] * (at[2] + ne[2] * at[3]))] = scan_token(node, at, m);
            const int64_t slot = ne[2] - 1 - at[2];
            if (slot < node->op_params[0])
                memcpy(snapshots + slot * slot_size + u * n, m, (size_t) n * sizeof(double));
        }
    }
}
