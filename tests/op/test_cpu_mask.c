// SPDX-License-Identifier: MIT
// DIAG and TRI on the CPU.
#include "cpu_check.h"

static void diagonals_of_every_plain_type(void ** state) {
    (void) state;
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32,
                                            GGML_TYPE_I8,  GGML_TYPE_I16, GGML_TYPE_I64,  GGML_TYPE_F64 };
    static const int64_t shapes[][4] = { { 1, 1, 1, 1 }, { 7, 1, 3, 2 }, { 600, 1, 1, 1 }, { 4, 1, 0, 1 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 8 * 4 * CPU_LAYOUTS; k += cpu_step(8 * 4 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x =
            cpu_source(&t, types[k % 8], shapes[k / 8 % 4], (enum cpu_layout)(k / 32), -50.0f, 50.0f);
        struct ggml_tensor * y = ggml_diag(t.ctx, x);
        assert_int_equal(y->op, GGML_OP_DIAG);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_diag, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void triangles(void ** state) {
    (void) state;
    static const int64_t shapes[][4] = { { 1, 1, 1, 1 }, { 9, 9, 3, 2 }, { 520, 520, 1, 1 }, { 5, 5, 0, 1 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 16; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, shapes[k / 4], CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * y = ggml_tri(t.ctx, x, (enum ggml_tri_type)(k % 4));
        assert_int_equal(y->op, GGML_OP_TRI);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_tri, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 32, 1, 1, 1 }, square[] = { 4, 4, 1, 1 };
    cpu_refused(&t, ggml_diag(t.ctx, cpu_source(&t, GGML_TYPE_Q4_0, ne, CPU_DENSE, 0, 1)), "q4_0");
    cpu_refused(&t, ggml_tri(t.ctx, cpu_source(&t, GGML_TYPE_I32, square, CPU_DENSE, 0, 1), 0), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagonals_of_every_plain_type),
        cmocka_unit_test(triangles),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
