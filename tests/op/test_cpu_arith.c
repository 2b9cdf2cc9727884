// SPDX-License-Identifier: MIT
// ADD SUB MUL DIV ADD1 SILU_BACK on the CPU: types, layouts, broadcasts, in place, empty.
#include "cpu_check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // add1 must go on working

typedef struct ggml_tensor * builder(struct ggml_context * ctx, struct ggml_tensor * a,
                                     struct ggml_tensor * b);

static const struct {
    enum ggml_op op;
    builder * build;
    builder * build_inplace;
} ops[] = {
    { GGML_OP_ADD, ggml_add, ggml_add_inplace },
    { GGML_OP_SUB, ggml_sub, ggml_sub_inplace },
    { GGML_OP_MUL, ggml_mul, ggml_mul_inplace },
    { GGML_OP_DIV, ggml_div, ggml_div_inplace },
};

// Half an ulp of the f32 in between, and then the result's own rounding.
static const struct cpu_oracle exact = { oracle_binary, 0x1p-24, 0.0 };

static const int64_t shapes[][2][4] = {
    { { 1, 1, 1, 1 }, { 1, 1, 1, 1 } },       { { 7, 5, 3, 2 }, { 7, 5, 3, 2 } },
    { { 64, 9, 1, 1 }, { 64, 1, 1, 1 } },     { { 12, 5, 4, 2 }, { 1, 5, 1, 2 } },
    { { 1030, 3, 1, 1 }, { 5, 1, 1, 1 } },    { { 1024, 2, 2, 1 }, { 512, 1, 2, 1 } },
    { { 513, 40, 1, 1 }, { 513, 40, 1, 1 } }, { { 4, 0, 2, 1 }, { 4, 0, 1, 1 } },
    { { 1, 700, 3, 1 }, { 1, 1, 3, 1 } },
};

static const enum ggml_type types[][2] = {
    { GGML_TYPE_F32, GGML_TYPE_F32 }, { GGML_TYPE_F16, GGML_TYPE_F16 },  { GGML_TYPE_BF16, GGML_TYPE_BF16 },
    { GGML_TYPE_F16, GGML_TYPE_F32 }, { GGML_TYPE_BF16, GGML_TYPE_F32 },
};

static void all_shapes_types_and_layouts(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (size_t k = 0; k < 4 * 9 * 5 * CPU_LAYOUTS; k += (size_t) cpu_step(4 * 9 * 5 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + k);
        const size_t op = k % 4, shape = k / 4 % 9, type = k / 36 % 5;
        const enum cpu_layout layout = (enum cpu_layout)(k / 180);
        struct ggml_tensor * a = cpu_source(&t, types[type][0], shapes[shape][0], layout, -2.0f, 2.0f);
        struct ggml_tensor * b = cpu_source(&t, types[type][1], shapes[shape][1],
                                            (enum cpu_layout)((layout + op) % CPU_LAYOUTS), 0.5f, 2.0f);
        struct ggml_tensor * y = ops[op].build(t.ctx, a, b);
        assert_int_equal(y->op, ops[op].op);
        cpu_check(&t, y, exact);
        cpu_check(&t, ops[op].build_inplace(t.ctx, a, b), exact);
        cpu_test_free(&t);
    }
}

static void a_sum_of_other_type(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F16, shapes[1][0], CPU_DENSE, -2.0f, 2.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, shapes[1][0], CPU_DENSE, -2.0f, 2.0f);
    cpu_check(&t, ggml_add_cast(t.ctx, a, b, GGML_TYPE_F32), exact);
    cpu_test_free(&t);
}

static void results_of_f32(void ** state) {
    (void) state;
    for (size_t k = 0; k < 4 * 9 * 2; k++) {
        struct cpu_test t = cpu_test_new(test_seed());
        const size_t op = k % 4, shape = k / 4 % 9, type = 3 + k / 36;
        struct ggml_tensor * a = cpu_source(&t, types[type][0], shapes[shape][0], CPU_DENSE, -2.0f, 2.0f);
        struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, shapes[shape][1], CPU_DENSE, 0.5f, 2.0f);
        struct ggml_tensor * y = cpu_as_f32(ops[op].build(t.ctx, a, b));
        if (op > 0 || memcmp(shapes[shape][0], shapes[shape][1], sizeof(shapes[0][0])) == 0)
            cpu_check(&t, y, exact);
        cpu_test_free(&t);
    }
}

// Rounding to q8_0: half a step of 1/127 of the largest value, which is below 4 here, and that of the scale
// to f16.
static void a_sum_of_quantised_rows(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 1088, 3, 2, 1 };
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_Q8_0, ne, CPU_DENSE, -2.0f, 2.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, ne, CPU_PERMUTED, -2.0f, 2.0f);
    cpu_check(&t, ggml_add(t.ctx, a, b),
              (struct cpu_oracle){ oracle_binary, 0x1p-11, 4.0 / 127 / 2 * 1.001 });
    cpu_check(&t, ggml_add_cast(t.ctx, a, b, GGML_TYPE_F32), exact);
    cpu_refused(&t, ggml_mul(t.ctx, a, b), "only f32, f16 and bf16");
    cpu_test_free(&t);
}

static void one_value_is_added(void ** state) {
    (void) state;
    const int64_t one[] = { 1, 1, 1, 1 };
    for (int k = 0; k < 9 * 5; k++) {
        struct cpu_test t = cpu_test_new(test_seed());
        const enum ggml_type * type = types[k / 9];
        struct ggml_tensor * a = cpu_source(&t, type[0], shapes[k % 9][0], CPU_DENSE, -2.0f, 2.0f);
        struct ggml_tensor * b = cpu_source(&t, type[1], one, CPU_DENSE, -2.0f, 2.0f);
        struct ggml_tensor * y = ggml_add1(t.ctx, a, b);
        assert_int_equal(y->op, GGML_OP_ADD1);
        cpu_check(&t, y, exact);
        cpu_check(&t, ggml_add1_inplace(t.ctx, a, b), exact);
        cpu_test_free(&t);
    }
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 1088, 3, 2, 1 };
    struct ggml_tensor * q = cpu_source(&t, GGML_TYPE_Q8_0, ne, CPU_DENSE, -2.0f, 2.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, one, CPU_DENSE, -2.0f, 2.0f);
    cpu_check(&t, ggml_add1(t.ctx, q, b),
              (struct cpu_oracle){ oracle_binary, 0x1p-11, 4.0 / 127 / 2 * 1.001 });
    cpu_test_free(&t);
}

static void gradients_of_silu(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 9 * 3 * CPU_LAYOUTS; k += cpu_step(9 * 3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum ggml_type type = types[k / 9 % 3][0];
        const int64_t * ne = shapes[k % 9][0];
        struct ggml_tensor * g = cpu_source(&t, type, ne, (enum cpu_layout)(k / 27), -2.0f, 2.0f);
        struct ggml_tensor * x = cpu_source(&t, type, ne, (enum cpu_layout)((k + k / 27) % 4), -9.0f, 9.0f);
        struct ggml_tensor * y = ggml_silu_back(t.ctx, g, x);
        assert_int_equal(y->op, GGML_OP_SILU_BACK);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_silu_back, 1e-6, 5e-7 });
        cpu_test_free(&t);
    }
    struct cpu_test t = cpu_test_new(seed);
    const int64_t wide[] = { 300, 1, 1, 1 };
    struct ggml_tensor * g = cpu_source(&t, GGML_TYPE_F32, wide, CPU_DENSE, -2.0f, 2.0f);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, wide, CPU_DENSE, -300.0f, 300.0f);
    cpu_check(&t, ggml_silu_back(t.ctx, g, x), (struct cpu_oracle){ oracle_silu_back, 1e-6, 5e-7 });
    cpu_test_free(&t);
}

static void integers_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_I32, shapes[1][0], CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_add(t.ctx, a, a), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_shapes_types_and_layouts),
        cmocka_unit_test(a_sum_of_other_type),
        cmocka_unit_test(results_of_f32),
        cmocka_unit_test(a_sum_of_quantised_rows),
        cmocka_unit_test(one_value_is_added),
        cmocka_unit_test(gradients_of_silu),
        cmocka_unit_test(integers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
