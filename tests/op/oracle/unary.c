// SPDX-License-Identifier: MIT
// Maps of one argument.
#include "op/oracle/oracle.h"

static double xielu(const struct ggml_tensor * node, double x) {
    const double n = oracle_param(node, 1), p = oracle_param(node, 2), b = oracle_param(node, 3),
                 eps = oracle_param(node, 4);
    return x > 0.0 ? p * x * x + b * x : n * (expm1(fmin(x, eps)) - x) + b * x;
}

static double unary(const struct ggml_tensor * node, double x) {
    switch (ggml_get_unary_op(node)) {
    case GGML_UNARY_OP_ABS: return fabs(x);
    case GGML_UNARY_OP_SGN: return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
    case GGML_UNARY_OP_NEG: return -x;
    case GGML_UNARY_OP_STEP: return x > 0.0 ? 1.0 : 0.0;
    case GGML_UNARY_OP_TANH: return tanh(x);
    case GGML_UNARY_OP_ELU: return x > 0.0 ? x : expm1(x);
    case GGML_UNARY_OP_RELU: return x > 0.0 ? x : 0.0;
    case GGML_UNARY_OP_SIGMOID: return oracle_sigmoid(x);
    case GGML_UNARY_OP_GELU: return x * oracle_sigmoid(2.0 * sqrt(2.0 / M_PI) * x * (1.0 + 0.044715 * x * x));
    case GGML_UNARY_OP_GELU_QUICK: return x * oracle_sigmoid(1.702 * x);
    case GGML_UNARY_OP_SILU: return x * oracle_sigmoid(x);
    case GGML_UNARY_OP_HARDSWISH: return x * fmin(1.0, fmax(0.0, (x + 3.0) / 6.0));
    case GGML_UNARY_OP_HARDSIGMOID: return fmin(1.0, fmax(0.0, (x + 3.0) / 6.0));
    case GGML_UNARY_OP_EXP: return exp(x);
    case GGML_UNARY_OP_EXPM1: return expm1(x);
    case GGML_UNARY_OP_SOFTPLUS: return log1p(exp(x));
    case GGML_UNARY_OP_GELU_ERF: return 0.5 * x * erfc(-x / sqrt(2.0));
    case GGML_UNARY_OP_XIELU: return xielu(node, x);
    case GGML_UNARY_OP_FLOOR: return floor(x);
    case GGML_UNARY_OP_CEIL: return ceil(x);
    case GGML_UNARY_OP_ROUND: return round(x);
    case GGML_UNARY_OP_TRUNC: return trunc(x);
    default: fail_msg("no oracle of %s", ggml_op_desc(node)); return 0.0;
    }
}

double oracle_map(const struct ggml_tensor * node, const int64_t * i) {
    const double x = cpu_get(node->src[0], i[0], i[1], i[2], i[3]);
    switch (node->op) {
    case GGML_OP_SQR: return x * x;
    case GGML_OP_SQRT: return sqrt(x);
    case GGML_OP_LOG: return log(x);
    case GGML_OP_SIN: return sin(x);
    case GGML_OP_COS: return cos(x);
    case GGML_OP_SCALE: return oracle_param(node, 0) * x + oracle_param(node, 1);
    case GGML_OP_CLAMP: return fmax(oracle_param(node, 0), fmin(oracle_param(node, 1), x));
    case GGML_OP_LEAKY_RELU: return x > 0.0 ? x : oracle_param(node, 0) * x;
    case GGML_OP_FILL: return oracle_param(node, 0);
    case GGML_OP_UNARY: return unary(node, x);
    default: fail_msg("no oracle of %s", ggml_op_desc(node)); return 0.0;
    }
}
