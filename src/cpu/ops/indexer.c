// SPDX-License-Identifier: MIT
// lightning_indexer: how much each token wants each key: sum over heads of weight * max(0, q*k), plus mask.
//
// An item is 32 keys of a sequence for 16 tokens. Keys are decoded once; the heads of a token are packed 8
// side by side (kernels/gemm_float). Heads are added in order.
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "cpu/kernels/gemm_float/gemm_float.h"
#include "cpu/op.h"
#include "cpu/operand.h"
#include "cpu/require.h"

enum { KEYS = 32, TOKENS = 16 };

struct indexer {
    struct tn_operand y, q, k, weights, mask;
    int64_t n_key_blocks, n_token_blocks;
};

struct item {
    int64_t m0, n_keys, t0, sequence;
    float * keys;  // [32][D]
    float * panel; // [D][8]
    float * row;   // [D]
    float sums[KEYS];
};

static void load_row(const struct tn_operand * x, const char * row, float * to) {
    for (int64_t i = 0; i < x->ne[0]; i += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, x->ne[0] - i);
        const float * v = tn_operand_load(x, row, i, n, to + i);
        if (v != to + i) memcpy(to + i, v, (size_t) n * sizeof(float));
    }
}

// Up to 16 heads of token t from head h0 on.
static void load_heads(const struct indexer * s, struct item * it, int64_t t, int64_t h0, int64_t n_heads) {
    const int64_t d = s->q.ne[0];
    memset(it->panel, 0, (size_t) (d * TN_GEMM_COLS) * sizeof(float));
    for (int64_t c = 0; c < n_heads; c++) {
        load_row(&s->q, tn_operand_row(&s->q, h0 + c, t, it->sequence), it->row);
        for (int64_t i = 0; i < d; i++)
            it->panel[i * TN_GEMM_COLS + c] = it->row[i];
    }
}

static float weight_at(const struct indexer * s, int64_t h, int64_t t, int64_t sequence) {
    return *(const float *) (tn_operand_row(&s->weights, t, 0, sequence) + (size_t) h * s->weights.nb[0]);
}

// A NaN stays one.
static float above_zero(float x) {
    return x < 0.0f ? 0.0f : x;
}

static void add_heads(const struct indexer * s, struct item * it, int64_t t, int64_t h0) {
    const int64_t d = s->q.ne[0], n_heads = tn_min_i64(TN_GEMM_COLS, s->q.ne[1] - h0);
    load_heads(s, it, t, h0, n_heads);
    for (int64_t k = 0; k < it->n_keys; k += TN_GEMM_ROWS) {
        const float * rows[TN_GEMM_ROWS];
        float out[TN_GEMM_ROWS * TN_GEMM_COLS];
        for (int64_t r = 0; r < TN_GEMM_ROWS; r++)
            rows[r] = it->keys + tn_min_i64(k + r, it->n_keys - 1) * d;
        const struct tn_gemm_size size = { (int) tn_min_i64(TN_GEMM_ROWS, it->n_keys - k), (int) n_heads };
        tn_gemm_float_tile(d, &size, rows, it->panel, out);
        for (int64_t r = 0; r < TN_GEMM_ROWS && k + r < it->n_keys; r++) {
            for (int64_t c = 0; c < n_heads; c++)
                it->sums[k + r] +=
                    weight_at(s, h0 + c, t, it->sequence) * above_zero(out[r * TN_GEMM_COLS + c]);
        }
    }
}

static void index_token(const struct indexer * s, struct item * it, int64_t t) {
    float buf[KEYS];
    memset(it->sums, 0, sizeof(it->sums));
    for (int64_t h0 = 0; h0 < s->q.ne[1]; h0 += TN_GEMM_COLS)
        add_heads(s, it, t, h0);
    const char * mask = tn_operand_row(&s->mask, t, 0, it->sequence % s->mask.ne[3]);
    const float * add = tn_operand_load(&s->mask, mask, it->m0, it->n_keys, buf);
    float * y = (float *) tn_operand_row(&s->y, t, 0, it->sequence) + it->m0;
    for (int64_t k = 0; k < it->n_keys; k++)
        y[k] = it->sums[k] + add[k];
}

static void run_item(const struct indexer * s, struct item * it) {
    const int64_t end = tn_min_i64(it->t0 + TOKENS, s->q.ne[2]);
    for (int64_t k = 0; k < it->n_keys; k++)
        load_row(&s->k, tn_operand_row(&s->k, 0, it->m0 + k, it->sequence), it->keys + k * s->k.ne[0]);
    for (int64_t t = it->t0; t < end; t++)
        index_token(s, it, t);
}

static void run_part(const void * arg, const struct tn_cpu_part * part) {
    const struct indexer * s = arg;
    struct item it;
    it.keys = (float *) part->scratch;
    it.panel = it.keys + KEYS * s->q.ne[0];
    it.row = it.panel + TN_GEMM_COLS * s->q.ne[0];
    for (int64_t u = part->begin; u < part->end; u++) {
        const int64_t rest = u / s->n_key_blocks;
        it.m0 = u % s->n_key_blocks * KEYS;
        it.n_keys = tn_min_i64(KEYS, s->y.ne[0] - it.m0);
        it.t0 = rest % s->n_token_blocks * TOKENS;
        it.sequence = rest / s->n_token_blocks;
        run_item(s, &it);
    }
}

static struct tn_cpu_scratch indexer_scratch(const struct ggml_tensor * node) {
    const size_t n = KEYS + TN_GEMM_COLS + 1;
    const size_t d = (size_t) tn_max_i64(node->src[0]->ne[0], 1);
    return (struct tn_cpu_scratch){ .per_thread = n * d * sizeof(float) };
}

static enum ggml_status indexer_run(struct tn_cpu_run * run, struct ggml_tensor * node) {
    struct indexer s = {
        .y = tn_operand_of(node),
        .q = tn_operand_of(node->src[0]),
        .k = tn_operand_of(node->src[1]),
        .weights = tn_operand_of(node->src[2]),
        .mask = tn_operand_of(node->src[3]),
    };
    s.n_key_blocks = tn_ceil_div(s.y.ne[0], KEYS);
    s.n_token_blocks = tn_ceil_div(s.y.ne[1], TOKENS);
    const int64_t n = s.n_key_blocks * s.n_token_blocks * s.y.ne[3];
    const int64_t cost = KEYS * tn_min_i64(TOKENS, s.y.ne[1]) * s.q.ne[0] * s.q.ne[1] / 4;
    tn_cpu_run_parts(run, n, cost, (struct tn_cpu_work){ run_part, &s });
    return GGML_STATUS_SUCCESS;
}

static bool indexer_supports(const struct ggml_tensor * node) {
    const struct ggml_tensor * k = node->src[1];
    if (!tn_require_type(node, 0, 0, GGML_TYPE_F32) || !tn_require_type(node, 2, 2, GGML_TYPE_F32))
        return false;
    if (!tn_require_type(node, 3, 3, GGML_TYPE_F16) || !tn_require_f32_result(node)) return false;
    if (!tn_operand_can_load(k->type) || k->type == GGML_TYPE_I32)
        return tn_refuse("src1: there is no decoder of %s", ggml_type_name(k->type));
    return tn_operand_is_dense(k) || !ggml_is_quantized(k->type) ||
           tn_refuse("src1: quantised rows must be contiguous");
}

const struct tn_cpu_op tn_cpu_op_lightning_indexer = { .supports = indexer_supports,
                                                       .scratch = indexer_scratch,
                                                       .run = indexer_run };
