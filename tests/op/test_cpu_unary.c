// SPDX-License-Identifier: MIT
// Maps of one argument on the CPU: every function against libm's double, all float types, all layouts, in
// place.
#include "cpu_check.h"

// A few ulp of f32; the absolute part is for results near a zero of the function.
static const struct cpu_oracle close_to = { oracle_map, 2e-6, 4e-7 };

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 },   { 7, 5, 3, 2 }, { 130, 3, 1, 2 }, { 1030, 4, 2, 1 },
    { 512, 9, 1, 1 }, { 0, 3, 1, 1 }, { 3, 900, 1, 1 },
};

static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };

static struct ggml_tensor * build(struct cpu_test * t, int which, struct ggml_tensor * x) {
    if (which == GGML_UNARY_OP_XIELU) return ggml_xielu(t->ctx, x, 0.8f, 1.1f, 0.5f, -0.3f);
    return ggml_unary(t->ctx, x, (enum ggml_unary_op) which);
}

static void every_unary_function(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int which = 0; which < GGML_UNARY_OP_COUNT; which++) {
        for (int k = 0; k < 7 * 3; k += cpu_step(7 * 3)) {
            struct cpu_test t = cpu_test_new(seed + (uint64_t) (which * 100 + k));
            struct ggml_tensor * x =
                cpu_source(&t, types[k % 3], shapes[k / 3], (enum cpu_layout)((k + which) % 3), -8.0f, 8.0f);
            struct ggml_tensor * y = build(&t, which, x);
            assert_int_equal(y->op, GGML_OP_UNARY);
            cpu_check(&t, y, close_to);
            cpu_check(&t, ggml_unary_inplace(t.ctx, x, GGML_UNARY_OP_NEG), close_to);
            cpu_test_free(&t);
        }
    }
}

static void operators_that_are_maps(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 7 * 3 * CPU_LAYOUTS; k += cpu_step(7 * 3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_context * c = t.ctx;
        const enum cpu_layout layout = (enum cpu_layout)(k / 21);
        struct ggml_tensor * x = cpu_source(&t, types[k % 3], shapes[k / 3 % 7], layout, 0.1f, 8.0f);
        struct ggml_tensor * dense = cpu_source(&t, types[k % 3], shapes[k / 3 % 7], CPU_DENSE, -8.0f, 8.0f);
        struct ggml_tensor * y[] = {
            ggml_sqr(c, x),
            ggml_sqrt(c, x),
            ggml_log(c, x),
            ggml_sin(c, x),
            ggml_cos(c, x),
            ggml_clamp(c, x, 1.0f, 5.0f),
            ggml_leaky_relu(c, dense, 0.1f, false),
            ggml_scale_bias(c, dense, -1.5f, 0.25f),
        };
        static const enum ggml_op ops[] = { GGML_OP_SQR, GGML_OP_SQRT,  GGML_OP_LOG,        GGML_OP_SIN,
                                            GGML_OP_COS, GGML_OP_CLAMP, GGML_OP_LEAKY_RELU, GGML_OP_SCALE };
        for (int j = 0; j < 8; j++) {
            assert_int_equal(y[j]->op, ops[j]);
            cpu_check(&t, y[j], close_to);
        }
        if (types[k % 3] != GGML_TYPE_BF16) {
            struct ggml_tensor * filled = ggml_fill(c, dense, 3.0f);
            assert_int_equal(filled->op, GGML_OP_FILL);
            cpu_check(&t, filled, close_to);
        }
        cpu_check(&t, ggml_scale_inplace(c, dense, 0.5f), close_to);
        cpu_check(&t, ggml_sqr_inplace(c, x), close_to);
        cpu_test_free(&t);
    }
}

// Half floats need not be rounded again.
static void results_of_f32(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 7 * 2; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum ggml_type type = types[1 + k / 7];
        struct ggml_tensor * x = cpu_source(&t, type, shapes[k % 7], (enum cpu_layout)(k % 3), 0.5f, 8.0f);
        struct ggml_context * c = t.ctx;
        struct ggml_tensor * y[] = { ggml_sqr(c, x), ggml_sqrt(c, x), ggml_log(c, x), ggml_sin(c, x),
                                     ggml_cos(c, x), ggml_abs(c, x),  ggml_exp(c, x) };
        for (int j = 0; j < 7; j++)
            cpu_as_f32(y[j]); // before any of them is given memory
        for (int j = 0; j < 7; j++)
            cpu_check(&t, y[j], close_to);
        cpu_test_free(&t);
    }
}

// Far from zero nothing overflows into NaN, and small results keep their digits.
static void large_arguments(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 300, 1, 1, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -80.0f, 80.0f);
    const enum ggml_unary_op ops[] = { GGML_UNARY_OP_SILU,       GGML_UNARY_OP_GELU,
                                       GGML_UNARY_OP_GELU_QUICK, GGML_UNARY_OP_SIGMOID,
                                       GGML_UNARY_OP_SOFTPLUS,   GGML_UNARY_OP_TANH };
    for (size_t i = 0; i < 6; i++)
        cpu_check(&t, ggml_unary(t.ctx, x, ops[i]), (struct cpu_oracle){ oracle_map, 2e-5, 1e-20 });
    cpu_test_free(&t);
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_I32, shapes[1], CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_sqr(t.ctx, x), "i32");
    struct ggml_tensor * y =
        ggml_silu(t.ctx, cpu_source(&t, GGML_TYPE_F32, shapes[1], CPU_DENSE, 0.0f, 1.0f));
    y->op_params[0] = GGML_UNARY_OP_COUNT;
    assert_false(ggml_backend_supports_op(t.backend, y));
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unary_function),    cmocka_unit_test(operators_that_are_maps),
        cmocka_unit_test(results_of_f32),          cmocka_unit_test(large_arguments),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
