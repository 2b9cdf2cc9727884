// SPDX-License-Identifier: MIT
// GLU on the CPU: every gate, halves of a row and two tensors, swapped, all float types.
#include "cpu_check.h"

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static double parameter(const struct ggml_tensor * node, int word) {
    float f;
    memcpy(&f, &node->op_params[word], sizeof(f));
    return (double) f;
}

static double gate(const struct ggml_tensor * node, double x, double y) {
    const double limit = parameter(node, 3);
    const double low = fmin(x, limit), bound = fmax(-limit, fmin(limit, y));
    switch (ggml_get_glu_op(node)) {
    case GGML_GLU_OP_REGLU: return fmax(x, 0.0) * y;
    case GGML_GLU_OP_GEGLU:
        return 0.5 * x * (1.0 + tanh(sqrt(2.0 / M_PI) * x * (1.0 + 0.044715 * x * x))) * y;
    case GGML_GLU_OP_SWIGLU: return x * sigmoid(x) * y;
    case GGML_GLU_OP_SWIGLU_OAI: return low * sigmoid(parameter(node, 2) * low) * (bound + 1.0);
    case GGML_GLU_OP_GEGLU_ERF: return 0.5 * x * erfc(-x / sqrt(2.0)) * y;
    case GGML_GLU_OP_GEGLU_QUICK: return x * sigmoid(1.702 * x) * y;
    case GGML_GLU_OP_SWIGLU_CLAMP: return low * sigmoid(low) * bound;
    default: fail_msg("no oracle"); return 0.0;
    }
}

static double oracle(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    if (b) return gate(node, cpu_get(a, i[0], i[1], i[2], i[3]), cpu_get(b, i[0], i[1], i[2], i[3]));
    const double first = cpu_get(a, i[0], i[1], i[2], i[3]);
    const double second = cpu_get(a, i[0] + node->ne[0], i[1], i[2], i[3]);
    return node->op_params[1] ? gate(node, second, first) : gate(node, first, second);
}

static const struct cpu_oracle close_to = { oracle, 3e-6, 1e-6 };

static const int64_t shapes[][4] = {
    { 2, 1, 1, 1 }, { 14, 5, 3, 2 }, { 1300, 3, 1, 2 }, { 4, 300, 1, 1 }, { 6, 0, 1, 1 }
};
static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };

static void every_gate(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * 3 * GGML_GLU_OP_COUNT; k += cpu_step(5 * 3 * GGML_GLU_OP_COUNT)) {
        const enum ggml_glu_op op = (enum ggml_glu_op)(k % GGML_GLU_OP_COUNT);
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum ggml_type type = types[k / GGML_GLU_OP_COUNT % 3];
        const int64_t * ne = shapes[k / GGML_GLU_OP_COUNT / 3];
        struct ggml_tensor * a = cpu_source(&t, type, ne, CPU_DENSE, -4.0f, 4.0f);
        struct ggml_tensor * b = cpu_source(&t, type, ne, CPU_DENSE, -4.0f, 4.0f);
        if (op == GGML_GLU_OP_SWIGLU_OAI) {
            cpu_check(&t, ggml_swiglu_oai(t.ctx, a, b, 1.7f, 2.0f), close_to);
        } else if (op == GGML_GLU_OP_SWIGLU_CLAMP) {
            cpu_check(&t, ggml_swiglu_clamp(t.ctx, a, b, 1.5f), close_to);
            cpu_check(&t, ggml_swiglu_clamp(t.ctx, a, NULL, 1.5f), close_to);
        } else {
            struct ggml_tensor * y = ggml_glu_split(t.ctx, a, b, op);
            assert_int_equal(y->op, GGML_OP_GLU);
            cpu_check(&t, y, close_to);
            cpu_check(&t, ggml_glu(t.ctx, a, op, false), close_to);
            cpu_check(&t, ggml_glu(t.ctx, a, op, true), close_to);
        }
        cpu_test_free(&t);
    }
}

static void rows_with_gaps(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 20, 6, 1, 1 };
    struct ggml_tensor * base = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -4.0f, 4.0f);
    struct ggml_tensor * half = ggml_view_2d(t.ctx, base, 10, 6, base->nb[1], 5 * sizeof(float));
    struct ggml_tensor * y = ggml_swiglu(t.ctx, half);
    if (ggml_ext_tensor_valid(y)) cpu_check(&t, y, close_to);
    cpu_refused(&t, ggml_reglu(t.ctx, cpu_source(&t, GGML_TYPE_I32, ne, CPU_DENSE, 0, 9)), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gate),
        cmocka_unit_test(rows_with_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
