// SPDX-License-Identifier: MIT
// gated_delta_net lightning_indexer.
#include "op/oracle/oracle.h"

enum { Q, K, V, GATE, BETA, STATE };

static double shared_at(const struct ggml_tensor * node, int src, const int64_t * i) {
    const struct ggml_tensor * x = node->src[src];
    return cpu_get(x, i[0], i[1] % x->ne[1], i[2], i[3] / (node->src[V]->ne[3] / x->ne[3]));
}

// One token: rows m[j] of one head's state, then y[j]. at: [-, h, t, b]
static void delta_token(const struct ggml_tensor * node, int64_t h, int64_t t, int64_t b, double * m,
                        double * y) {
    const int64_t n = node->src[V]->ne[0];
    const double beta = cpu_get(node->src[BETA], 0, h, t, b);
    for (int64_t j = 0; j < n; j++) {
        double dot = 0.0;
        for (int64_t i = 0; i < n; i++) {
            m[j * n + i] *= exp(cpu_get(node->src[GATE], i % node->src[GATE]->ne[0], h, t, b));
            dot += m[j * n + i] * shared_at(node, K, (const int64_t[]){ i, h, t, b });
        }
        const double e = beta * (cpu_get(node->src[V], j, h, t, b) - dot);
        y[j] = 0.0;
        for (int64_t i = 0; i < n; i++) {
            m[j * n + i] += e * shared_at(node, K, (const int64_t[]){ i, h, t, b });
            y[j] += m[j * n + i] * shared_at(node, Q, (const int64_t[]){ i, h, t, b }) / sqrt((double) n);
        }
    }
}

void oracle_gated_delta_net(const struct ggml_tensor * node, double * out) {
    const int64_t n = node->src[V]->ne[0], heads = node->src[V]->ne[1], tokens = node->src[V]->ne[2],
                  batches = node->src[V]->ne[3], slots = node->op_params[0];
    double * states = out + n * heads * tokens * batches;
    static double m[128 * 128];
    for (int64_t u = 0; u < heads * batches; u++) {
        const int64_t h = u % heads, b = u / heads;
        for (int64_t k = 0; k < n * n; k++)
            m[k] = cpu_get(node->src[STATE], k % n, k / n, h, b);
        if (tokens == 0) memcpy(states + u * n * n, m, (size_t) (n * n) * sizeof(double));
        for (int64_t t = 0; t < tokens; t++) {
            delta_token(node, h, t, b, m, out + n * (h + heads * (t + tokens * b)));
            const int64_t slot = tokens - 1 - t;
            if (slot < slots)
                memcpy(states + (slot * heads * batches + u) * n * n, m, (size_t) (n * n) * sizeof(double));
        }
    }
}

// Its terms may cancel, so what is left carries the rounding of much larger values.
double oracle_lightning_indexer(const struct ggml_tensor * node, const int64_t * at) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *mask = node->src[3];
    double sum = oracle_term(cpu_get(mask, at[0], at[1], 0, at[3] % mask->ne[3]));
    for (int64_t h = 0; h < q->ne[1]; h++) {
        const double weight = cpu_get(node->src[2], h, at[1], 0, at[3]);
        double dot = 0.0;
        for (int64_t i = 0; i < q->ne[0]; i++) {
            const double v = cpu_get(q, i, h, at[1], at[3]) * cpu_get(k, i, 0, at[0], at[3]);
            oracle_term(weight * v);
            dot += v;
        }
        sum += weight * fmax(0.0, dot);
    }
    return sum;
}
