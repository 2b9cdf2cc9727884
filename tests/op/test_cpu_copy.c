// SPDX-License-Identifier: MIT
// DUP CPY CONT REPEAT CONCAT on the CPU: what only moves elements must keep their bits. REPEAT_BACK sums.
#include "cpu_check.h"

static const struct cpu_oracle exact_copy = { oracle_copy, 0.0, 0.0 };

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 }, { 32, 5, 3, 2 }, { 7, 6, 5, 2 }, { 1056, 3, 1, 2 }, { 64, 4, 0, 1 }, { 3, 700, 1, 1 },
};

static const enum ggml_type plain[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32,
                                        GGML_TYPE_I16, GGML_TYPE_I8,  GGML_TYPE_I64,  GGML_TYPE_F64 };

static void equal_types_in_every_layout(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 8 * 6 * CPU_LAYOUTS; k += cpu_step(8 * 6 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum ggml_type type = plain[k % 8];
        const int64_t * ne = shapes[k / 8 % 6];
        struct ggml_tensor * x = cpu_source(&t, type, ne, (enum cpu_layout)(k / 48), -100.0f, 100.0f);
        struct ggml_tensor * into =
            cpu_source(&t, type, ne, (enum cpu_layout)((k + k / 48) % CPU_LAYOUTS), 0, 1);
        struct ggml_tensor * flat = ggml_new_tensor_1d(t.ctx, type, ggml_nelements(x));
        struct ggml_tensor * y = ggml_cont(t.ctx, x);
        assert_int_equal(y->op, GGML_OP_CONT);
        cpu_check(&t, y, exact_copy);
        y = ggml_dup(t.ctx, x);
        assert_int_equal(y->op, GGML_OP_DUP);
        cpu_check(&t, y, exact_copy);
        cpu_check(&t, ggml_cpy(t.ctx, x, into), exact_copy);
        y = ggml_cpy(t.ctx, x, flat);
        assert_int_equal(y->op, GGML_OP_CPY);
        cpu_check(&t, y, exact_copy);
        cpu_check(&t, ggml_cpy(t.ctx, flat, into), exact_copy);
        cpu_test_free(&t);
    }
}

static const enum ggml_type conversions[][2] = {
    { GGML_TYPE_F32, GGML_TYPE_F16 },  { GGML_TYPE_F32, GGML_TYPE_BF16 }, { GGML_TYPE_F32, GGML_TYPE_I32 },
    { GGML_TYPE_F16, GGML_TYPE_F32 },  { GGML_TYPE_F16, GGML_TYPE_BF16 }, { GGML_TYPE_F16, GGML_TYPE_I32 },
    { GGML_TYPE_BF16, GGML_TYPE_F32 }, { GGML_TYPE_BF16, GGML_TYPE_F16 }, { GGML_TYPE_I32, GGML_TYPE_F32 },
};

static void conversions_round_once(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 9 * 6 * CPU_LAYOUTS; k += cpu_step(9 * 6 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k / 9 % 6];
        struct ggml_tensor * x =
            cpu_source(&t, conversions[k % 9][0], ne, (enum cpu_layout)(k / 54), -100.0f, 100.0f);
        struct ggml_tensor * into =
            cpu_source(&t, conversions[k % 9][1], ne, (enum cpu_layout)((k + k / 54) % 4), 0, 1);
        cpu_check(&t, ggml_cpy(t.ctx, x, into), exact_copy);
        cpu_check(&t, ggml_cast(t.ctx, x, conversions[k % 9][1]), exact_copy);
        cpu_test_free(&t);
    }
}

// Every type with a decoder; a destination row need not be a whole number of blocks.
static void quantised_rows_are_decoded(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct ggml_type_traits * traits = ggml_get_type_traits((enum ggml_type) type);
        if (!traits->is_quantized || !traits->to_float) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) type);
        const int64_t ne[] = { 768, 3, 2, 1 };
        struct ggml_tensor * x = cpu_source(&t, (enum ggml_type) type, ne, CPU_PERMUTED, -2.0f, 2.0f);
        cpu_check(&t, ggml_cast(t.ctx, x, GGML_TYPE_F32), exact_copy);
        struct ggml_tensor * odd = ggml_new_tensor_2d(t.ctx, GGML_TYPE_F32, 48, 96);
        cpu_check(&t, ggml_cpy(t.ctx, x, odd), exact_copy);
        cpu_check(&t, ggml_cont(t.ctx, x), exact_copy);
        cpu_test_free(&t);
    }
}

// Encoding from a turned source with rows that are no whole blocks.
static void rows_are_encoded(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 48, 64, 2, 1 };
    // Half a step, and the rounding of the scale to f16.
    const struct cpu_oracle near_to = { oracle_copy, 0x1p-11, 2.0 / 127 / 2 * 1.001 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_TURNED, -2.0f, 2.0f);
    struct ggml_tensor * into = ggml_new_tensor_2d(t.ctx, GGML_TYPE_Q8_0, 96, 64);
    cpu_check(&t, ggml_cpy(t.ctx, x, into), near_to);
    struct ggml_tensor * half = cpu_source(&t, GGML_TYPE_F16, ne, CPU_DENSE, -2.0f, 2.0f);
    cpu_check(&t, ggml_cpy(t.ctx, half, into), near_to);
    cpu_test_free(&t);
}

static void what_cannot_be_converted_is_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_Q8_0, shapes[1], CPU_DENSE, -2.0f, 2.0f);
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, shapes[1], CPU_DENSE, -2.0f, 2.0f);
    cpu_refused(&t, ggml_cast(t.ctx, x, GGML_TYPE_F16), "q8_0 to f16");
    cpu_refused(&t, ggml_cast(t.ctx, i, GGML_TYPE_F16), "i32 to f16");
    cpu_test_free(&t);
}

// Out of range and NaN have a defined result.
static void conversion_to_integers_saturates(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 6);
    struct ggml_tensor * y = ggml_cast(t.ctx, x, GGML_TYPE_I32);
    cpu_allocate(&t);
    const float values[] = { 3e9f, -3e9f, NAN, INFINITY, -2.9f, 2147483520.0f };
    memcpy(x->data, values, sizeof(values));
    cpu_run(&t, y);
    const int32_t expected[] = { INT32_MAX, INT32_MIN, 0, INT32_MAX, -2, 2147483520 };
    assert_memory_equal(y->data, expected, sizeof(expected));
    cpu_test_free(&t);
}

static void repeats(void ** state) {
    (void) state;
    static const int64_t times[][4] = { { 1, 1, 1, 1 }, { 3, 2, 1, 2 }, { 5, 1, 4, 1 }, { 1, 7, 1, 1 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * 4 * CPU_LAYOUTS; k += cpu_step(6 * 4 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k % 6];
        const int64_t * n = times[k / 6 % 4];
        struct ggml_tensor * x = cpu_source(&t, plain[k % 5], ne, (enum cpu_layout)(k / 24), -9.0f, 9.0f);
        struct ggml_tensor * y =
            ggml_repeat_4d(t.ctx, x, ne[0] * n[0], ne[1] * n[1], ne[2] * n[2], ne[3] * n[3]);
        assert_int_equal(y->op, GGML_OP_REPEAT);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_repeat, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void repeats_are_summed(void ** state) {
    (void) state;
    static const int64_t times[][4] = { { 1, 1, 1, 1 }, { 3, 2, 1, 2 }, { 5, 1, 4, 1 }, { 90, 7, 1, 1 } };
    static const int64_t sizes[][4] = { { 1, 1, 1, 1 }, { 7, 6, 1, 2 }, { 530, 2, 3, 1 }, { 4, 0, 2, 1 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * 4 * CPU_LAYOUTS * 2; k += cpu_step(4 * 4 * CPU_LAYOUTS * 2)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = sizes[k % 4];
        const int64_t * n = times[k / 4 % 4];
        const int64_t whole[] = { ne[0] * n[0], ne[1] * n[1], ne[2] * n[2], ne[3] * n[3] };
        struct ggml_tensor * x =
            cpu_source(&t, plain[k / 64], whole, (enum cpu_layout)(k / 16 % 4), -1.0f, 1.0f);
        struct ggml_tensor * like = ggml_new_tensor_4d(t.ctx, GGML_TYPE_F32, ne[0], ne[1], ne[2], ne[3]);
        struct ggml_tensor * y = ggml_repeat_back(t.ctx, x, like);
        assert_int_equal(y->op, GGML_OP_REPEAT_BACK);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_repeat_back, 0x1p-24, 1e-9 });
        cpu_test_free(&t);
    }
}

// A source without elements sums up to zeros.
static void the_sum_of_nothing(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = ggml_new_tensor_2d(t.ctx, GGML_TYPE_F32, 0, 5);
    struct ggml_tensor * y = ggml_repeat_back(t.ctx, x, ggml_new_tensor_2d(t.ctx, GGML_TYPE_F32, 3, 5));
    cpu_check(&t, y, (struct cpu_oracle){ oracle_repeat_back, 0.0, 0.0 });
    struct ggml_tensor * i = ggml_new_tensor_1d(t.ctx, GGML_TYPE_I32, 4);
    cpu_refused(&t, ggml_repeat_back(t.ctx, i, i), "i32");
    cpu_test_free(&t);
}

static void joins(void ** state) {
    (void) state;
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I8, GGML_TYPE_I64,
                                            GGML_TYPE_Q8_0 };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * 4 * 4 * CPU_LAYOUTS; k += cpu_step(5 * 4 * 4 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int dim = k / 5 % 4;
        const int64_t * ne = shapes[(const int[]){ 1, 3, 4, 1 }[k / 20 % 4]];
        int64_t other[] = { ne[0], ne[1], ne[2], ne[3] };
        other[dim] = dim == 0 ? 64 : 3;
        const enum cpu_layout layout = (enum cpu_layout)(k / 80);
        struct ggml_tensor * a = cpu_source(&t, types[k % 5], ne, layout, -9.0f, 9.0f);
        struct ggml_tensor * b =
            cpu_source(&t, types[k % 5], other, (enum cpu_layout)((layout + 1) % 4), -9.0f, 9.0f);
        struct ggml_tensor * y = ggml_concat(t.ctx, a, b, dim);
        assert_int_equal(y->op, GGML_OP_CONCAT);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_concat, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_types_in_every_layout),
        cmocka_unit_test(conversions_round_once),
        cmocka_unit_test(quantised_rows_are_decoded),
        cmocka_unit_test(rows_are_encoded),
        cmocka_unit_test(what_cannot_be_converted_is_refused),
        cmocka_unit_test(conversion_to_integers_saturates),
        cmocka_unit_test(repeats),
        cmocka_unit_test(repeats_are_summed),
        cmocka_unit_test(the_sum_of_nothing),
        cmocka_unit_test(joins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
