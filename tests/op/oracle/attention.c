// SPDX-License-Identifier: MIT
// flash_attn_ext.
#include "op/oracle/oracle.h"

static double score(const struct ggml_tensor * node, int64_t key, int64_t h, int64_t n, int64_t s) {
    const struct ggml_tensor * q = node->src[0];
    const struct ggml_tensor * k = node->src[1];
    const struct ggml_tensor * m = node->src[3];
    double w = 0.0;
    for (int64_t d = 0; d < q->ne[0]; d++)
        w += cpu_get(q, d, n, h, s) * cpu_get(k, d, key, h / (q->ne[2] / k->ne[2]), s);
    const double cap = oracle_param(node, 2);
    w = cap != 0.0 ? cap * tanh(oracle_param(node, 0) / cap * w) : oracle_param(node, 0) * w;
    if (!m) return w;
    if (isinf(cpu_get(m, key, n, h % m->ne[2], s % m->ne[3]))) return -INFINITY;
    return w +
           oracle_slope(oracle_param(node, 1), q->ne[2], h) * cpu_get(m, key, n, h % m->ne[2], s % m->ne[3]);
}

// The weights of all keys for one head and query, kept while elements of the same output row are asked for.
static const double * weights_of(const struct ggml_tensor * node, const int64_t * i) {
    static int check;
    static int64_t at[3];
    static double w[20000];
    if (check == oracle_checks && memcmp(at, i + 1, sizeof(at)) == 0) return w;
    check = oracle_checks;
    memcpy(at, i + 1, sizeof(at));
    const int64_t n_keys = node->src[2]->ne[1];
    const double sink = node->src[4] ? cpu_get(node->src[4], i[1], 0, 0, 0) : -INFINITY;
    double max = sink, sum = 0.0;
    for (int64_t k = 0; k < n_keys; k++) {
        w[k] = score(node, k, i[1], i[2], i[3]);
        max = fmax(max, w[k]);
    }
    for (int64_t k = 0; k < n_keys; k++) {
        if (!isnan(w[k])) w[k] = isinf(max) ? 0.0 : exp(w[k] - max); // one NaN makes all of them NaN
        sum += w[k];
    }
    sum += isinf(max) ? 1.0 : exp(sink - max);
    for (int64_t k = 0; k < n_keys; k++)
        w[k] /= sum;
    return w;
}

double oracle_attention(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * v = node->src[2];
    const double * w = weights_of(node, i);
    const int64_t head = i[1] / (node->src[0]->ne[2] / v->ne[2]);
    double out = 0.0;
    for (int64_t k = 0; k < v->ne[1]; k++) {
        if (w[k] != 0.0) out += w[k] * cpu_get(v, i[0], k, head, i[3]);
    }
    return out;
}
