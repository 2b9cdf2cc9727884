// SPDX-License-Identifier: MIT
// mul_mat.
#include "op/oracle/oracle.h"

enum { BLOCK = 256, WORD_ACC = 0, WORD_SRC1 = 3 };

// Weights in blocks may be multiplied with activations in blocks of eight bits, unless the node wants more.
static bool may_round(const struct ggml_tensor * node) {
    if (oracle_original) node = oracle_original;
    const enum ggml_type b = node->src[1]->type;
    const int32_t acc = node->op_params[WORD_ACC], src1 = node->op_params[WORD_SRC1];
    if (!ggml_is_quantized(node->src[0]->type)) return false;
    if (b != GGML_TYPE_F32 && b != GGML_TYPE_F16 && b != GGML_TYPE_BF16) return false;
    return acc != GGML_PREC_F32 &&
           (src1 == GGML_PREC_DEFAULT || src1 == GGML_PREC_Q8 || src1 == GGML_PREC_Q4);
}

// Half a step of a code of eight bits, and the rounding of the scale, in a block that holds element k.
static double half_step(const struct ggml_tensor * b, int64_t k, const int64_t * column) {
    double largest = 0.0;
    for (int64_t i = k - k % BLOCK; i < k - k % BLOCK + BLOCK && i < b->ne[0]; i++)
        largest = fmax(largest, fabs(cpu_get(b, i, column[0], column[1], column[2])));
    return largest * 0.0046;
}

double oracle_dot(const struct ggml_tensor * node, const int64_t * row, const int64_t * column) {
    const struct ggml_tensor *a = node->src[0], *b = node->src[1];
    const bool rounds = may_round(node);
    double sum = 0.0, step = 0.0;
    for (int64_t k = 0; k < a->ne[0]; k++) {
        if (rounds && k % BLOCK == 0) step = half_step(b, k, column);
        const double weight = cpu_get(a, k, row[0], row[1], row[2]);
        sum += oracle_term(weight * cpu_get(b, k, column[0], column[1], column[2]));
        oracle_terms.rounding += fabs(weight) * step;
    }
    return sum;
}

double oracle_mul_mat(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *a = node->src[0], *b = node->src[1];
    const int64_t row[] = { i[0], i[2] / (b->ne[2] / a->ne[2]), i[3] / (b->ne[3] / a->ne[3]) };
    return oracle_dot(node, row, i + 1);
}
