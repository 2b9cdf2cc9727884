// SPDX-License-Identifier: MIT
// rwkv_wkv6 rwkv_wkv7 gated_linear_attn: results are laid out alike.
#include "op/oracle/oracle.h"

// The old state into the result's second part; returns that part.
static double * copy_state(const struct ggml_tensor * node, int state, double * out) {
    const struct ggml_tensor * old = node->src[state];
    double * new = out + ggml_nelements(node) - ggml_nelements(old);
    for (int64_t k = 0, at[4] = { 0 }; k < ggml_nelements(old); k++, cpu_next(old, at))
        new[k] = cpu_get(old, at[0], at[1], at[2], at[3]);
    return new;
}

static double in(const struct ggml_tensor * node, int src, int64_t i, int64_t h, int64_t t) {
    return cpu_get(node->src[src], i, h, t % node->src[src]->ne[2], 0);
}

static void step_6(const struct ggml_tensor * node, int64_t h, int64_t t, double * state, double * y) {
    const int64_t n = node->src[0]->ne[0];
    for (int64_t j = 0; j < n; j++) {
        y[j] = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const double kv = in(node, 0, i, h, t) * in(node, 1, j, h, t);
            y[j] += in(node, 2, i, h, t) * (in(node, 3, i, h, t) * kv + state[i * n + j]);
            state[i * n + j] = state[i * n + j] * in(node, 4, i, h, t) + kv;
        }
    }
}

static void step_7(const struct ggml_tensor * node, int64_t h, int64_t t, double * state, double * y) {
    const int64_t n = node->src[0]->ne[0];
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++)
            sum += in(node, 4, j, h, t) * state[i * n + j];
        y[i] = 0.0;
        for (int64_t j = 0; j < n; j++) {
            double * s = &state[i * n + j];
            *s = *s * in(node, 1, j, h, t) + in(node, 3, i, h, t) * in(node, 2, j, h, t) +
                 sum * in(node, 5, j, h, t);
            y[i] += in(node, 0, j, h, t) * *s;
        }
    }
}

static void step_gla(const struct ggml_tensor * node, int64_t h, int64_t t, double * state, double * y) {
    const int64_t n = node->src[0]->ne[0];
    float scale;
    memcpy(&scale, node->op_params, sizeof(scale));
    for (int64_t j = 0; j < n; j++) {
        y[j] = 0.0;
        for (int64_t i = 0; i < n; i++) {
            double * s = &state[i * n + j];
            *s = *s * in(node, 3, i, h, t) + in(node, 0, i, h, t) * in(node, 1, j, h, t);
            y[j] += (double) scale * in(node, 2, i, h, t) * *s;
        }
    }
}

static void walk(const struct ggml_tensor * node, double * out, int state,
                 void (*step)(const struct ggml_tensor *, int64_t, int64_t, double *, double *)) {
    const int64_t n = node->src[0]->ne[0], heads = node->src[0]->ne[1], tokens = node->src[0]->ne[2];
    const int64_t sequences = node->src[state]->ne[1];
    double * states = copy_state(node, state, out);
    for (int64_t t = 0; t < tokens; t++) {
        const int64_t sequence = t / (tokens / sequences);
        for (int64_t h = 0; h < heads; h++)
            step(node, h, t, states + (sequence * heads + h) * n * n, out + (t * heads + h) * n);
    }
}

void oracle_wkv6(const struct ggml_tensor * node, double * out) {
    walk(node, out, 5, step_6);
}

void oracle_wkv7(const struct ggml_tensor * node, double * out) {
    walk(node, out, 6, step_7);
}

void oracle_gated_linear_attn(const struct ggml_tensor * node, double * out) {
    walk(node, out, 4, step_gla);
}
