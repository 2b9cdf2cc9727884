// SPDX-License-Identifier: MIT
// ARANGE and TIMESTEP_EMBEDDING on the CPU.
#include "cpu_check.h"

static void steps(void ** state) {
    (void) state;
    static const float rows[][3] = { { 0, 5, 1 }, { 0, 1300, 1 }, { -2.5f, 3, 0.25f }, { 7, 8, 2 } };
    for (int k = 0; k < 4; k++) {
        struct cpu_test t = cpu_test_new(1);
        struct ggml_tensor * y = ggml_arange(t.ctx, rows[k][0], rows[k][1], rows[k][2]);
        assert_int_equal(y->op, GGML_OP_ARANGE);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_arange, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void embeddings(void ** state) {
    (void) state;
    static const int dims[] = { 1, 2, 7, 256, 1300 };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * 2; k += cpu_step(5 * 2)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne[] = { k < 5 ? 1 : 9, 1, 1, 1 };
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, 0.0f, 1000.0f);
        struct ggml_tensor * y = ggml_timestep_embedding(t.ctx, x, dims[k % 5], 10000);
        assert_int_equal(y->op, GGML_OP_TIMESTEP_EMBEDDING);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_timestep, 1e-7, 1e-7 });
        cpu_test_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps),
        cmocka_unit_test(embeddings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
