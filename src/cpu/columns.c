// SPDX-License-Identifier: MIT
// Packed activations: a head, the row as f32, and the row in blocks if it can be in blocks.
#include "cpu/columns.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "core/op.h"
#include "core/params.h"
#include "quant/code.h"
#include "quant/type.h"

enum { HEAD = 64, ALIGNMENT = 64 };

// What the product with the blocks is multiplied by; 0: there are none.
struct head {
    double factor;
};

// Blocks of eight bits are what "the back end chooses" means here. A node that asks for f32 sums is not
// given less anywhere.
static bool allows_eight_bits(const struct ggml_tensor * node) {
    const struct tn_op * op = tn_op_get(node->op);
    const int32_t acc = tn_param_i32(node, op->prec_acc - 1), src = tn_param_i32(node, op->prec_src1 - 1);
    return acc != GGML_PREC_F32 && (src == GGML_PREC_DEFAULT || src == GGML_PREC_Q8 || src == GGML_PREC_Q4);
}

static size_t blocks_at(const struct tn_columns * c) {
    return HEAD + tn_align_up((size_t) c->n * sizeof(float), ALIGNMENT);
}

static bool is_in_place(const struct tn_row_dot * dot, const struct ggml_tensor * b) {
    return dot && dot->y == b->type && tn_operand_is_dense(b);
}

struct tn_columns tn_columns_of(const struct ggml_tensor * node) {
    const struct ggml_tensor *a = node->src[0], *b = node->src[1];
    struct tn_columns c = { .n = b->ne[0] };
    const enum ggml_type partner = tn_row_dot_partner(a->type);
    if (tn_operand_is_dense(a)) c.dot = tn_row_dot_find(a->type, b->type);
    c.in_place = is_in_place(c.dot, b);
    if (!c.in_place && tn_operand_is_dense(a)) {
        c.rounds = ggml_is_quantized(a->type) && tn_operand_is_float(b->type) && allows_eight_bits(node);
        c.dot = tn_row_dot_find(a->type, c.rounds ? partner : GGML_TYPE_F32);
        c.rounds = c.rounds && c.dot; // q8_1 and q8_K as weights have no partner
    }
    if (c.dot) c.dot_2x2 = tn_row_dot_find_2x2(c.dot);
    if (c.in_place) return c;
    c.size = blocks_at(&c);
    if (c.rounds) c.size += tn_align_up(ggml_row_size(partner, c.n), ALIGNMENT);
    return c;
}

struct tn_columns tn_columns_of_f32(const struct ggml_tensor * node) {
    const struct ggml_tensor * b = node->src[1];
    struct tn_columns c = { .n = b->ne[0] };
    c.in_place = b->type == GGML_TYPE_F32 && tn_operand_is_dense(b);
    if (!c.in_place) c.size = blocks_at(&c);
    return c;
}

// 2^e with which the magnitude comes to 512 .. 1024.
static int exponent(float magnitude) {
    int e;
    frexpf(magnitude, &e);
    return 10 - e;
}

static void round_to_blocks(const struct tn_columns * c, const float * x, char * column) {
    struct head * h = (struct head *) column;
    char * blocks = column + blocks_at(c);
    float magnitude = 0.0f;
    for (int64_t k = 0; k < c->n; k += TN_TILE) {
        const float m = tn_code_max_abs(x + k, (int) tn_min_i64(TN_TILE, c->n - k));
        magnitude = m <= magnitude ? magnitude : m; // a NaN stays
        if (!(magnitude <= FLT_MAX)) return;
    }
    const int e = magnitude > 0.0f ? exponent(magnitude) : 0;
    const double scale = ldexp(1.0, e);
    h->factor = ldexp(1.0, -e);
    float scaled[TN_TILE];
    for (int64_t k = 0; k < c->n; k += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, c->n - k);
        for (int64_t i = 0; i < n; i++)
            scaled[i] = (float) ((double) x[k + i] * scale);
        tn_type_get(c->dot->y)->encode_ref(scaled, blocks + ggml_row_size(c->dot->y, k), n);
    }
}

void tn_columns_pack(const struct tn_columns * c, const struct tn_operand * b, const char * row, char * to) {
    float * x = (float *) (to + HEAD);
    for (int64_t k = 0; k < c->n; k += TN_TILE) {
        const int64_t n = tn_min_i64(TN_TILE, c->n - k);
        const float * v = tn_operand_load(b, row, k, n, x + k);
        if (v != x + k) memcpy(x + k, v, (size_t) n * sizeof(float));
    }
    ((struct head *) to)->factor = 0.0;
    if (c->rounds && !c->is_ref) round_to_blocks(c, x, to);
}

bool tn_columns_has_dot(const struct tn_columns * c, const char * column) {
    return c->dot && (!c->rounds || ((const struct head *) column)->factor != 0.0);
}

// What weights are multiplied with, and what the product is multiplied by then.
static const char * operand_of(const struct tn_columns * c, const char * column, double * factor) {
    *factor = c->in_place || !c->rounds ? 1.0 : ((const struct head *) column)->factor;
    if (c->in_place) return column;
    return column + (c->rounds ? blocks_at(c) : HEAD);
}

double tn_columns_dot(const struct tn_columns * c, const char * weights, const char * column) {
    double factor;
    const char * y = operand_of(c, column, &factor);
    return factor * c->dot->run(c->n, weights, y);
}

void tn_columns_dot_2x2(const struct tn_columns * c, const char * const weights[2],
                        const char * const columns[2], double sums[4]) {
    double factors[2];
    const void * const y[2] = { operand_of(c, columns[0], &factors[0]),
                                operand_of(c, columns[1], &factors[1]) };
    c->dot_2x2->run(c->n, (const void * [2]){ weights[0], weights[1] }, y, sums);
    for (int i = 0; i < 4; i++)
        sums[i] *= factors[i % 2];
}

const float * tn_columns_f32(const struct tn_columns * c, const char * column) {
    return (const float *) (c->in_place ? column : column + HEAD);
}
