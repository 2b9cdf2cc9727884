// SPDX-License-Identifier: MIT
// rwkv_wkv6, rwkv_wkv7: one token of one head, state rows i, columns j.
#include "cpu/kernels/dot_float/dot_float.h"
#include "cpu/op.h"
#include "cpu/ops/recurrent_int.h"

enum { STATE_6 = 5, STATE_7 = 6 };

// y_j = sum of r_i*(tf_i*k_i*v_j + state_ij); state_ij = state_ij*td_i + k_i*v_j
static void step_6(const struct tn_recurrent_step * s) {
    const float *k = s->in[0], *v = s->in[1], *r = s->in[2], *tf = s->in[3], *td = s->in[4];
    float * restrict y = s->y;
    for (int64_t j = 0; j < s->n; j++)
        y[j] = 0.0f;
    for (int64_t i = 0; i < s->n; i++) {
        float * restrict state = s->state + i * s->n;
        for (int64_t j = 0; j < s->n; j++) {
            const float kv = k[i] * v[j];
            y[j] += r[i] * (tf[i] * kv + state[j]);
            state[j] = state[j] * td[i] + kv;
        }
    }
}

// s_i = sum of a_j*state_ij; state_ij = state_ij*w_j + v_i*k_j + s_i*b_j; y_i = sum of r_j*state_ij
static void step_7(const struct tn_recurrent_step * s) {
    const float *r = s->in[0], *w = s->in[1], *k = s->in[2], *v = s->in[3], *a = s->in[4], *b = s->in[5];
    for (int64_t i = 0; i < s->n; i++) {
        float * restrict state = s->state + i * s->n;
        const float sum = tn_dot_float(s->n, a, state);
        for (int64_t j = 0; j < s->n; j++)
            state[j] = state[j] * w[j] + v[i] * k[j] + sum * b[j];
        s->y[i] = tn_dot_float(s->n, r, state);
    }
}

static enum ggml_status wkv6_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return tn_recurrent_run(run, node, STATE_6, step_6, 1.0f);
}

static enum ggml_status wkv7_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return tn_recurrent_run(run, node, STATE_7, step_7, 1.0f);
}

static bool wkv6_supports(const struct ggml_tensor * node) {
    return tn_recurrent_supports(node, STATE_6);
}

static bool wkv7_supports(const struct ggml_tensor * node) {
    return tn_recurrent_supports(node, STATE_7);
}

const struct tn_cpu_op tn_cpu_op_rwkv_wkv6 = { .supports = wkv6_supports, .run = wkv6_run };
const struct tn_cpu_op tn_cpu_op_rwkv_wkv7 = { .supports = wkv7_supports, .run = wkv7_run };
