// SPDX-License-Identifier: MIT
// GLU on the CPU: every gate, halves of a row and two tensors, swapped, all float types.
#include "cpu_check.h"

static const struct cpu_oracle close_to = { oracle_glu, 3e-6, 1e-6 };

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
