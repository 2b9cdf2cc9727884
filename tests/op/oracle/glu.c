// SPDX-License-Identifier: MIT
// Gated units.
#include "op/oracle/oracle.h"

static double gate(const struct ggml_tensor * node, double x, double y) {
    const double limit = oracle_param(node, 3);
    const double low = fmin(x, limit), bound = fmax(-limit, fmin(limit, y));
    switch (ggml_get_glu_op(node)) {
    case GGML_GLU_OP_REGLU: return fmax(x, 0.0) * y;
    case GGML_GLU_OP_GEGLU:
        return 0.5 * x * (1.0 + tanh(sqrt(2.0 / M_PI) * x * (1.0 + 0.044715 * x * x))) * y;
    case GGML_GLU_OP_SWIGLU: return x * oracle_sigmoid(x) * y;
    case GGML_GLU_OP_SWIGLU_OAI: return low * oracle_sigmoid(oracle_param(node, 2) * low) * (bound + 1.0);
    case GGML_GLU_OP_GEGLU_ERF: return 0.5 * x * erfc(-x / sqrt(2.0)) * y;
    case GGML_GLU_OP_GEGLU_QUICK: return x * oracle_sigmoid(1.702 * x) * y;
    case GGML_GLU_OP_SWIGLU_CLAMP: return low * oracle_sigmoid(low) * bound;
    default: fail_msg("no oracle"); return 0.0;
    }
}

double oracle_glu(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    if (b) return gate(node, cpu_get(a, i[0], i[1], i[2], i[3]), cpu_get(b, i[0], i[1], i[2], i[3]));
    const double first = cpu_get(a, i[0], i[1], i[2], i[3]);
    const double second = cpu_get(a, i[0] + node->ne[0], i[1], i[2], i[3]);
    return node->op_params[1] ? gate(node, second, first) : gate(node, first, second);
}
