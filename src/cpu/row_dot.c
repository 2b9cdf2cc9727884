// SPDX-License-Identifier: MIT
// The table of dot products of rows.
#include "cpu/row_dot.h"

#include <stddef.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "cpu/kernels/dot_float/dot_float.h"
#include "cpu/kernels/dot_fp4/dot_fp4.h"
#include "cpu/kernels/dot_iq/dot_iq.h"
#include "cpu/kernels/dot_k/dot_k.h"
#include "cpu/kernels/dot_legacy/dot_legacy.h"
#include "cpu/operand.h"

#define DOT(name, X, Y, dot)                                                                                 \
    static double name(int64_t n, const void * x, const void * y) {                                          \
        const X * a = x;                                                                                     \
        const Y * b = y;                                                                                     \
        double sum = 0.0;                                                                                    \
        for (int64_t i = 0; i < n; i += TN_TILE)                                                             \
            sum += (double) dot(tn_min_i64(TN_TILE, n - i), a + i, b + i);                                   \
        return sum;                                                                                          \
    }
DOT(dot_f32, float, float, tn_dot_float)
DOT(dot_f16, uint16_t, uint16_t, tn_dot_float_f16_f16)
DOT(dot_bf16, uint16_t, uint16_t, tn_dot_float_bf16_bf16)
DOT(dot_f16_f32, uint16_t, float, tn_dot_float_f16)
DOT(dot_bf16_f32, uint16_t, float, tn_dot_float_bf16)

// Blocks are multiplied by an inline function that chooses the version: a function of our own for each.
#define TN_ROW(id, partner, function)                                                                        \
    static double dot_of_##id(int64_t n, const void * x, const void * y) {                                   \
        return function(n, x, y);                                                                            \
    }
#include "cpu/traits.def"
#undef TN_ROW

static const struct tn_row_dot rows[GGML_TYPE_COUNT] = {
#define TN_ROW(id, partner, function) [GGML_TYPE_##id] = { GGML_TYPE_##id, GGML_TYPE_##partner, dot_of_##id },
#include "cpu/traits.def"
#undef TN_ROW
};

// Halves with f32, which the interface does not offer.
static const struct tn_row_dot f16_f32 = { GGML_TYPE_F16, GGML_TYPE_F32, dot_f16_f32 };
static const struct tn_row_dot bf16_f32 = { GGML_TYPE_BF16, GGML_TYPE_F32, dot_bf16_f32 };

const struct tn_row_dot * tn_row_dot_find(enum ggml_type x, enum ggml_type y) {
    if (rows[x].run && rows[x].y == y) return &rows[x];
    if (y == GGML_TYPE_F32 && x == GGML_TYPE_F16) return &f16_f32;
    if (y == GGML_TYPE_F32 && x == GGML_TYPE_BF16) return &bf16_f32;
    return NULL;
}

enum ggml_type tn_row_dot_partner(enum ggml_type x) {
    return rows[x].run ? rows[x].y : GGML_TYPE_COUNT;
}

static const struct tn_row_dot_2x2 rows_2x2[GGML_TYPE_COUNT] = {
    [GGML_TYPE_Q4_0] = { tn_dot_legacy_q4_0_q8_0_2x2 },
    [GGML_TYPE_Q8_0] = { tn_dot_legacy_q8_0_q8_0_2x2 },
    [GGML_TYPE_Q4_K] = { tn_dot_k_q4_k_q8_k_2x2 },
    [GGML_TYPE_Q6_K] = { tn_dot_k_q6_k_q8_k_2x2 },
};

const struct tn_row_dot_2x2 * tn_row_dot_find_2x2(const struct tn_row_dot * dot) {
    const struct tn_row_dot_2x2 * fours = &rows_2x2[dot->x];
    return fours->run ? fours : NULL;
}
