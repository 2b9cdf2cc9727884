// SPDX-License-Identifier: MIT
// SOFT_MAX, SOFT_MAX_BACK, DIAG_MASK_INF and DIAG_MASK_ZERO on the CPU.
#include "cpu_check.h"

static const struct cpu_oracle close_to = { oracle_softmax, 5e-6, 1e-12 };

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 }, { 7, 5, 3, 2 }, { 130, 3, 12, 1 }, { 1030, 3, 2, 1 }, { 64, 64, 4, 1 }, { 5, 0, 2, 1 },
};

static void masks_sinks_and_slopes(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * 8; k += cpu_step(6 * 8)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k % 6];
        const int kind = k / 6; // bit 0: mask, bit 1: f16 mask, bit 2: sinks
        const int64_t ne_mask[] = { ne[0], ne[1] + (kind & 2), ne[2] % 2 == 0 ? 2 : 1, ne[3] };
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -6.0f, 6.0f);
        struct ggml_tensor * m = !(kind & 1) ? NULL
                                             : cpu_source(&t, kind & 2 ? GGML_TYPE_F16 : GGML_TYPE_F32,
                                                          ne_mask, CPU_DENSE, -3.0f, 0.0f);
        struct ggml_tensor * y = ggml_soft_max_ext(t.ctx, x, m, 0.7f, m && k % 2 ? 8.0f : 0.0f);
        assert_int_equal(y->op, GGML_OP_SOFT_MAX);
        if (kind & 4) {
            const int64_t ne_sinks[] = { ne[2], 1, 1, 1 };
            ggml_soft_max_add_sinks(y, cpu_source(&t, GGML_TYPE_F32, ne_sinks, CPU_DENSE, -3.0f, 9.0f));
        }
        cpu_check(&t, y, close_to);
        cpu_check(&t, ggml_soft_max_inplace(t.ctx, x), close_to);
        cpu_test_free(&t);
    }
}

static void a_fully_masked_row_gives_zeros(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 20, 3, 2, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -6.0f, 6.0f);
    struct ggml_tensor * m = cpu_source(&t, GGML_TYPE_F16, ne, CPU_DENSE, -1.0f, 0.0f);
    for (int64_t i = 0; i < 20; i++) {
        cpu_put(m, (const int64_t[]){ i, 1, 0, 0 }, -INFINITY);
        if (i > 4) cpu_put(m, (const int64_t[]){ i, 2, 1, 0 }, -INFINITY);
    }
    struct ggml_tensor * y = ggml_soft_max_ext(t.ctx, x, m, 1.0f, 0.0f);
    cpu_check(&t, y, close_to);
    assert_true(cpu_get(y, 3, 1, 0, 0) == 0.0);
    assert_true(cpu_get(y, 3, 2, 1, 0) > 0.0);
    cpu_test_free(&t);
}

static void diagonals(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * CPU_LAYOUTS; k += cpu_step(6 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, shapes[k % 6], (enum cpu_layout)(k / 6), -6.0f, 6.0f);
        const struct cpu_oracle exact = { oracle_diag_mask, 0.0, 0.0 };
        struct ggml_tensor * y = ggml_diag_mask_inf(t.ctx, x, k % 3);
        struct ggml_tensor * z = ggml_diag_mask_zero(t.ctx, x, 600);
        assert_int_equal(y->op, GGML_OP_DIAG_MASK_INF);
        assert_int_equal(z->op, GGML_OP_DIAG_MASK_ZERO);
        cpu_check(&t, y, exact);
        cpu_check(&t, z, exact);
        cpu_check(&t, ggml_diag_mask_inf_inplace(t.ctx, x, 2), exact);
        cpu_test_free(&t);
    }
}

static void gradients(void ** state) {
    (void) state;
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    const uint64_t seed = test_seed();
    const struct cpu_oracle near = { oracle_softmax_back, 1e-6, 1e-7 };
    for (int k = 0; k < 6 * 3 * CPU_LAYOUTS; k += cpu_step(6 * 3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum cpu_layout layout = (enum cpu_layout)(k / 18);
        struct ggml_tensor * g = cpu_source(&t, types[k / 6 % 3], shapes[k % 6], layout, -1.0f, 1.0f);
        struct ggml_tensor * p =
            cpu_source(&t, GGML_TYPE_F32, shapes[k % 6], (enum cpu_layout)((k + layout) % 4), 0.0f, 0.1f);
        struct ggml_tensor * y = ggml_soft_max_ext_back(t.ctx, g, p, 0.3f, 0.0f);
        assert_int_equal(y->op, GGML_OP_SOFT_MAX_BACK);
        cpu_check(&t, y, near);
        cpu_check(&t, ggml_soft_max_ext_back_inplace(t.ctx, g, p, 2.0f, 8.0f), near);
        cpu_test_free(&t);
    }
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F16, shapes[1], CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, shapes[1], CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_soft_max(t.ctx, x), "f16");
    cpu_refused(&t, ggml_diag_mask_inf(t.ctx, i, 0), "i32");
    cpu_refused(&t, ggml_soft_max_ext_back(t.ctx, x, i, 1.0f, 0.0f), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_sinks_and_slopes),
        cmocka_unit_test(a_fully_masked_row_gives_zeros),
        cmocka_unit_test(diagonals),
        cmocka_unit_test(gradients),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
