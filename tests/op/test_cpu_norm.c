// SPDX-License-Identifier: MIT
// NORM RMS_NORM L2_NORM GROUP_NORM RMS_NORM_BACK on the CPU.
#include "cpu_check.h"

static const struct cpu_oracle close_to = { oracle_norm, 4 * 0x1p-24, 5e-7 };

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 }, { 7, 5, 3, 2 }, { 130, 3, 2, 1 }, { 1030, 3, 1, 1 }, { 3, 40, 1, 1 }, { 5, 0, 2, 1 },
};

static void rows(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * CPU_LAYOUTS; k += cpu_step(6 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum cpu_layout layout = (enum cpu_layout)(k / 6);
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, shapes[k % 6], layout, -3.0f, 5.0f);
        struct ggml_tensor * y[] = { ggml_norm(t.ctx, x, 1e-5f), ggml_rms_norm(t.ctx, x, 1e-6f),
                                     ggml_l2_norm(t.ctx, x, 1e-3f) };
        const enum ggml_op ops[] = { GGML_OP_NORM, GGML_OP_RMS_NORM, GGML_OP_L2_NORM };
        for (int j = 0; j < 3; j++) {
            assert_int_equal(y[j]->op, ops[j]);
            cpu_check(&t, y[j], close_to);
        }
        cpu_check(&t, ggml_rms_norm_inplace(t.ctx, x, 0.0f), close_to);
        cpu_test_free(&t);
    }
}

static void groups(void ** state) {
    (void) state;
    static const int64_t sizes[][4] = { { 5, 3, 8, 2 }, { 600, 2, 7, 1 }, { 1, 1, 3, 1 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 3 * 3 * CPU_LAYOUTS; k += cpu_step(3 * 3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int n_groups = (const int[]){ 1, 2, 3 }[k / 3 % 3];
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, sizes[k % 3], (enum cpu_layout)(k / 9), -3.0f, 5.0f);
        struct ggml_tensor * y = ggml_group_norm(t.ctx, x, n_groups, 1e-5f);
        assert_int_equal(y->op, GGML_OP_GROUP_NORM);
        cpu_check(&t, y, close_to);
        cpu_test_free(&t);
    }
}

static void gradients(void ** state) {
    (void) state;
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * 3 * CPU_LAYOUTS; k += cpu_step(6 * 3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum cpu_layout layout = (enum cpu_layout)(k / 18);
        struct ggml_tensor * g = cpu_source(&t, types[k / 6 % 3], shapes[k % 6], layout, -1.0f, 1.0f);
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, shapes[k % 6], (enum cpu_layout)((k + layout) % 4), -3.0f, 5.0f);
        struct ggml_tensor * y = ggml_rms_norm_back(t.ctx, g, x, 1e-3f);
        assert_int_equal(y->op, GGML_OP_RMS_NORM_BACK);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_rms_norm_back, 1e-6, 2e-7 });
        cpu_test_free(&t);
    }
}

// A large mean does not eat the variance: both are sums in double.
static void a_large_mean(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 4096, 2, 1, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, 1000.0f, 1001.0f);
    cpu_check(&t, ggml_norm(t.ctx, x, 1e-6f), (struct cpu_oracle){ oracle_norm, 1e-5, 1e-3 });
    cpu_test_free(&t);
}

static void bad_parameters_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, shapes[1], CPU_DENSE, 0.0f, 1.0f);
    cpu_refused(&t, ggml_norm(t.ctx, x, -1.0f), "negative");
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, shapes[1], CPU_DENSE, 0.0f, 9.0f);
    cpu_refused(&t, ggml_rms_norm(t.ctx, i, 1.0f), "i32");
    cpu_refused(&t, ggml_rms_norm_back(t.ctx, x, i, 1.0f), "i32");
    cpu_refused(&t, ggml_rms_norm_back(t.ctx, x, x, -1.0f), "negative");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(groups),
        cmocka_unit_test(gradients),
        cmocka_unit_test(a_large_mean),
        cmocka_unit_test(bad_parameters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
