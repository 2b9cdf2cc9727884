// SPDX-License-Identifier: MIT
// ssm_conv, ssm_scan: state-space models.
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "core/params.h"
#include "cpu/index.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/require.h"

// --- ssm_conv: y[c, t, s] = sum over k of x[t + k, c, s]*w[k, c]

enum { CHANNELS = 16 }; // of an item

struct conv {
    struct tn_operand y, x, w;
    int64_t n_blocks; // of channels
};

static void conv_channel(const struct conv * s, int64_t c, int64_t sequence) {
    const char * x = tn_operand_row(&s->x, c, sequence, 0);
    const char * w = tn_operand_row(&s->w, c, 0, 0);
    for (int64_t t = 0; t < s->y.ne[1]; t++) {
        float sum = 0.0f;
        for (int64_t k = 0; k < s->w.ne[0]; k++) {
            sum += *(const float *) (x + (size_t) (t + k) * s->x.nb[0]) *
                   *(const float *) (w + (size_t) k * s->w.nb[0]);
        }
        ((float *) tn_operand_row(&s->y, t, sequence, 0))[c] = sum;
    }
}

static void conv_part(const void * arg, const struct tn_cpu_part * part) {
    const struct conv * s = arg;
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t c0 = u % s->n_blocks * CHANNELS;
        const int64_t end = tn_min_i64(c0 + CHANNELS, s->y.ne[0]);
        for (int64_t c = c0; c < end; c++)
            conv_channel(s, c, u / s->n_blocks);
    }
}

static enum ggml_status conv_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct conv s = { tn_operand_of(node), tn_operand_of(node->src[0]), tn_operand_of(node->src[1]), 0 };
    s.n_blocks = tn_ceil_div(s.y.ne[0], CHANNELS);
    const int64_t cost = tn_min_i64(CHANNELS, s.y.ne[0]) * s.y.ne[1] * (s.w.ne[0] + 2);
    tn_cpu_run_parts(run, s.n_blocks * s.y.ne[2], cost, (struct tn_cpu_work){ conv_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool conv_supports(const struct ggml_tensor * node) {
    return tn_require_type(node, 0, 1, GGML_TYPE_F32) && tn_require_f32_result(node);
}

// --- ssm_scan
//
// An item is one row of N states: it needs no other row. It is brought forward in the first snapshot's
// place in the result, where the last state belongs; snapshot r gets a copy after token T - 1 - r.

enum { STATE, INPUT, STEP, DECAY, INTO, OUT_OF, IDS }; // s, x, dt, A, B, C, ids
enum { EXP_COST = 10 };

struct scan {
    struct tn_operand state, x, dt, decay, into, out_of, ids;
    float * y;
    float * snapshots;
    int64_t n, rows, heads, tokens, sequences; // N, P, H, T, S
    int64_t n_snapshots;
};

struct row {
    int64_t p, head, group, sequence;
    float * state;
};

// softplus
static float step_of(float dt) {
    return dt > 20.0f ? dt : log1pf(expf(dt));
}

// state = state*exp(z*A) + B*x*z; the result is sum of state*C.
static float scan_token(const struct scan * s, const struct row * r, int64_t t) {
    const float * dt = (const float *) tn_operand_row(&s->dt, t, r->sequence, 0);
    const float * x = (const float *) tn_operand_row(&s->x, r->head, t, r->sequence);
    const float * a = (const float *) tn_operand_row(&s->decay, r->head, 0, 0);
    const float * b = (const float *) tn_operand_row(&s->into, r->group, t, r->sequence);
    const float * c = (const float *) tn_operand_row(&s->out_of, r->group, t, r->sequence);
    const float z = step_of(dt[r->head]), xz = x[r->p] * z;
    const bool each = s->decay.ne[0] > 1;
    float sum = 0.0f, decay = 0.0f;
    for (int64_t n = 0; n < s->n; n++) {
        if (each || n == 0) decay = expf(z * a[n]);
        r->state[n] = r->state[n] * decay + b[n] * xz;
        sum += r->state[n] * c[n];
    }
    return sum;
}

static void scan_row(const struct scan * s, struct row * r) {
    const int64_t slot_size = s->n * s->rows * s->heads * s->sequences;
    const size_t size = (size_t) s->n * sizeof(float);
    r->group = r->head / (s->heads / s->into.ne[1]);
    r->state = s->snapshots + ((r->sequence * s->heads + r->head) * s->rows + r->p) * s->n;
    memcpy(r->state, tn_operand_row(&s->state, r->p, r->head, tn_index_get(&s->ids, r->sequence, 0, 0)),
           size);
    for (int64_t t = 0; t < s->tokens; t++) {
        s->y[((r->sequence * s->tokens + t) * s->heads + r->head) * s->rows + r->p] = scan_token(s, r, t);
        const int64_t slot = s->tokens - 1 - t;
        if (slot > 0 && slot < s->n_snapshots) memcpy(r->state + slot * slot_size, r->state, size);
    }
}

static void scan_part(const void * arg, const struct tn_cpu_part * part) {
    const struct scan * s = arg;
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t head = u / s->rows;
        struct row r = { .p = u % s->rows, .head = head % s->heads, .sequence = head / s->heads };
        scan_row(s, &r);
    }
}

static enum ggml_status scan_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    const int64_t * ne = node->src[INPUT]->ne;
    const struct scan s = {
        .state = tn_operand_of(node->src[STATE]),
        .x = tn_operand_of(node->src[INPUT]),
        .dt = tn_operand_of(node->src[STEP]),
        .decay = tn_operand_of(node->src[DECAY]),
        .into = tn_operand_of(node->src[INTO]),
        .out_of = tn_operand_of(node->src[OUT_OF]),
        .ids = tn_operand_of(node->src[IDS]),
        .y = node->data,
        .snapshots = (float *) node->data + ne[0] * ne[1] * ne[2] * ne[3],
        .n = node->src[STATE]->ne[0],
        .rows = ne[0],
        .heads = ne[1],
        .tokens = ne[2],
        .sequences = ne[3],
        .n_snapshots = tn_param_i32(node, 0),
    };
    TN_TRY(tn_index_check(&s.ids, s.state.ne[3], "src0", "states"));
    if (s.n == 0) { // outputs of no state
        memset(s.y, 0, ggml_nbytes(node));
        return GGML_STATUS_SUCCESS;
    }
    const int64_t per_state = s.decay.ne[0] > 1 ? 3 + EXP_COST : 3;
    const int64_t cost = s.n + s.tokens * (s.n * per_state + 3 * EXP_COST);
    tn_cpu_run_parts(run, s.rows * s.heads * s.sequences, cost, (struct tn_cpu_work){ scan_part, &s });
    return GGML_STATUS_SUCCESS;
}

// Layouts are the rule's matter (core).
static bool scan_supports(const struct ggml_tensor * node) {
    return tn_require_type(node, STATE, OUT_OF, GGML_TYPE_F32) && tn_require_f32_result(node);
}

const struct tn_cpu_op tn_cpu_op_ssm_conv = { .supports = conv_supports, .run = conv_run };
const struct tn_cpu_op tn_cpu_op_ssm_scan = { .supports = scan_supports, .run = scan_run };
