// SPDX-License-Identifier: MIT
// gated_linear_attn, gated_delta_net: attention as a recurrence over a matrix of state. lightning_indexer is
// in indexer.c.
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/kernels/dot_float/dot_float.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/ops/recurrent_int.h"
#include "cpu/require.h"

// --- gated_linear_attn: state_ij = state_ij*g_i + k_i*v_j, then y_j = scale * sum of q_i*state_ij

enum { GLA_STATE = 4 };

static void gla_step(const struct tn_recurrent_step * s) {
    const float *k = s->in[0], *v = s->in[1], *q = s->in[2], *g = s->in[3];
    float * restrict y = s->y;
    for (int64_t j = 0; j < s->n; j++)
        y[j] = 0.0f;
    for (int64_t i = 0; i < s->n; i++) {
        float * restrict state = s->state + i * s->n;
        for (int64_t j = 0; j < s->n; j++) {
            state[j] = state[j] * g[i] + k[i] * v[j];
            y[j] += q[i] * state[j];
        }
    }
    for (int64_t j = 0; j < s->n; j++)
        y[j] *= s->scale;
}

static enum ggml_status gla_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    return tn_recurrent_run(run, node, GLA_STATE, gla_step, tn_param_f32(node, 0));
}

static bool gla_supports(const struct ggml_tensor * node) {
    return tn_recurrent_supports(node, GLA_STATE);
}

// --- gated_delta_net
//
// Row j of a head's state needs no other row, so an item is 32 rows of a head. They are brought forward in
// slot 0 of the result's states, where the last one belongs; slot r gets a copy after token T - 1 - r.

enum { Q, K, V, GATE, BETA, STATE };
enum { ROWS = 32, EXP_COST = 10 };

struct delta {
    struct tn_operand q, k, v, gate, beta;
    const float * old;
    float * y;
    float * states;
    int64_t n, heads, tokens, batches; // S, H, T, B
    int64_t slots;
    int64_t n_blocks; // of rows
};

// An item, and what changes from token to token.
struct rows {
    int64_t j0, n_rows, head, batch;
    float * state; // the first row, in slot 0
    float * decay; // n factors
    const float * q;
    const float * k;
};

static const float * vector_at(const struct tn_operand * x, const struct rows * r, int64_t t,
                               int64_t batches) {
    return (const float *) tn_operand_row(x, r->head % x->ne[1], t, r->batch / (batches / x->ne[3]));
}

// One factor for all, or one each.
static void fill_decay(const struct delta * s, struct rows * r, int64_t t) {
    const float * g = (const float *) tn_operand_row(&s->gate, r->head, t, r->batch);
    if (s->gate.ne[0] == s->n) {
        for (int64_t i = 0; i < s->n; i++)
            r->decay[i] = expf(g[i]);
        return;
    }
    const float all = expf(g[0]);
    for (int64_t i = 0; i < s->n; i++)
        r->decay[i] = all;
}

static void delta_token(const struct delta * s, struct rows * r, int64_t t) {
    const float beta = *(const float *) tn_operand_row(&s->beta, r->head, t, r->batch);
    const float * v = vector_at(&s->v, r, t, s->batches) + r->j0;
    float * y = s->y + ((r->batch * s->tokens + t) * s->heads + r->head) * s->n + r->j0;
    const float scale = 1.0f / sqrtf((float) s->n);
    r->q = vector_at(&s->q, r, t, s->batches);
    r->k = vector_at(&s->k, r, t, s->batches);
    fill_decay(s, r, t);
    for (int64_t j = 0; j < r->n_rows; j++) {
        float * m = r->state + j * s->n;
        for (int64_t i = 0; i < s->n; i++)
            m[i] *= r->decay[i];
        tn_gemm_float_axpy(s->n, m, r->k, beta * (v[j] - tn_dot_float(s->n, m, r->k)));
        y[j] = tn_dot_float(s->n, m, r->q) * scale;
    }
}

static void delta_rows(const struct delta * s, struct rows * r) {
    const int64_t at = ((r->batch * s->heads + r->head) * s->n + r->j0) * s->n;
    const int64_t slot_size = s->n * s->n * s->heads * s->batches;
    const size_t size = (size_t) (r->n_rows * s->n) * sizeof(float);
    r->state = s->states + at;
    memcpy(r->state, s->old + at, size);
    for (int64_t t = 0; t < s->tokens; t++) {
        delta_token(s, r, t);
        const int64_t slot = s->tokens - 1 - t;
        if (slot > 0 && slot < s->slots) memcpy(r->state + slot * slot_size, r->state, size);
    }
}

static void delta_part(const void * arg, const struct tn_cpu_part * part) {
    const struct delta * s = arg;
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t head = u / s->n_blocks;
        struct rows r = { .j0 = u % s->n_blocks * ROWS,
                          .head = head % s->heads,
                          .batch = head / s->heads,
                          .decay = (float *) part->scratch };
        r.n_rows = tn_min_i64(ROWS, s->n - r.j0);
        delta_rows(s, &r);
    }
}

static struct tn_cpu_scratch delta_scratch(const struct ggml_tensor * node) {
    return (struct tn_cpu_scratch){ .per_thread = (size_t) node->src[V]->ne[0] * sizeof(float) };
}

static enum ggml_status delta_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const int64_t * ne = node->src[V]->ne;
    const struct delta s = {
        .q = tn_operand_of(node->src[Q]),
        .k = tn_operand_of(node->src[K]),
        .v = tn_operand_of(node->src[V]),
        .gate = tn_operand_of(node->src[GATE]),
        .beta = tn_operand_of(node->src[BETA]),
        .old = node->src[STATE]->data,
        .y = node->data,
        .states = (float *) node->data + ne[0] * ne[1] * ne[2] * ne[3],
        .n = ne[0],
        .heads = ne[1],
        .tokens = ne[2],
        .batches = ne[3],
        .slots = tn_param_i32(node, 0),
        .n_blocks = tn_ceil_div(ne[0], ROWS),
    };
    const int64_t cost = (s.tokens + 1) * s.n * (2 * tn_min_i64(ROWS, s.n) + EXP_COST);
    tn_cpu_run_parts(run, s.n_blocks * s.heads * s.batches, cost, (struct tn_cpu_work){ delta_part, &s });
    return GGML_STATUS_SUCCESS;
}

// Types of sources and their layouts are the rule's matter (core).
static bool delta_supports(const struct ggml_tensor * node) {
    return tn_require_f32_result(node);
}

const struct tn_cpu_op tn_cpu_op_gated_linear_attn = { .supports = gla_supports, .run = gla_run };
const struct tn_cpu_op tn_cpu_op_gated_delta_net = { .supports = delta_supports,
                                                     .scratch = delta_scratch,
                                                     .run = delta_run };
