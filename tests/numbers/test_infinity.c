// SPDX-License-Identifier: MIT
// Infinity, and NaN where nan.def cannot say it in a letter, as docs/numbers.md has it: what stores make of
// numbers out of range, where functions end, what a NaN in the middle of a row or of a sequence leaves alone.
#include "numbers/every_op.h"

#include "cpu/kernels.h"

// --- stores

static void halves(void ** state) {
    static const float values[] = { 65504.0f, 65519.0f, 65520.0f, -1e30f, 6e-8f, -3.1e-5f, 2e-8f, -INFINITY };
    static const uint16_t in_f16[] = { 0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x0001, 0x8208, 0x0000, 0xfc00 };
    static const float wide[] = { 3.38e38f, 3.4e38f, -3.4e38f, 1e-40f, -1e-40f, 3e-41f, INFINITY, 1.0f };
    static const uint16_t in_bf16[] = { 0x7f7e, 0x7f80, 0xff80, 0x0001, 0x8001, 0x0000, 0x7f80, 0x3f80 };
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor *x = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 8),
                       *w = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 8);
    struct ggml_tensor *f16 = ggml_cast(t.ctx, x, GGML_TYPE_F16), *bf16 = ggml_cast(t.ctx, w, GGML_TYPE_BF16);
    (void) state;
    cpu_allocate(&t);
    memcpy(x->data, values, sizeof(values));
    memcpy(w->data, wide, sizeof(wide));
    cpu_run(&t, f16);
    cpu_run(&t, bf16);
    assert_memory_equal(f16->data, in_f16, sizeof(in_f16));
    assert_memory_equal(bf16->data, in_bf16, sizeof(in_bf16));
    cpu_test_free(&t);
}

// The largest number that a convolution of an image of 1e5 with a kernel of ones gives.
static float largest_of(enum ggml_type kernel, bool is_direct) {
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * a = every_source(&t, kernel, 3, 3, 1, 1);
    struct ggml_tensor * b = every_f32(&t, 8, 8, 1, 1);
    for (int64_t i = 0, at[4] = { 0 }; i < 9; i++, cpu_next(a, at))
        cpu_put(a, at, 1.0);
    for (int64_t i = 0; i < 64; i++)
        ((float *) b->data)[i] = 1e5f;
    struct ggml_tensor * y = (is_direct ? ggml_conv_2d_direct : ggml_conv_2d)(t.ctx, a, b, 1, 1, 1, 1, 1, 1);
    cpu_allocate(&t);
    assert_int_equal(cpu_compute(y, 2), GGML_STATUS_SUCCESS);
    float max = 0.0f;
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(y); i++, cpu_next(y, at))
        max = fmaxf(max, (float) cpu_get(y, at[0], at[1], at[2], at[3]));
    cpu_test_free(&t);
    return max;
}

static void columns_of_half_floats(void ** state) {
    (void) state;
    assert_true(largest_of(GGML_TYPE_F16, false) == INFINITY);
    assert_true(largest_of(GGML_TYPE_F16, true) == 9e5f);
    assert_true(largest_of(GGML_TYPE_F32, true) == 9e5f);
    assert_true(largest_of(GGML_TYPE_BF16, false) == 9e5f);
}

// --- by element

// Functions go to their limits, -infinity times a gate that is shut is NaN.
static void functions_at_infinity(void ** state) {
    static const struct {
        enum ggml_unary_op op;
        float low, high;
    } functions[] = {
        { GGML_UNARY_OP_TANH, -1.0f, 1.0f },        { GGML_UNARY_OP_ELU, -1.0f, INFINITY },
        { GGML_UNARY_OP_SIGMOID, 0.0f, 1.0f },      { GGML_UNARY_OP_GELU, NAN, INFINITY },
        { GGML_UNARY_OP_GELU_ERF, NAN, INFINITY },  { GGML_UNARY_OP_GELU_QUICK, NAN, INFINITY },
        { GGML_UNARY_OP_SILU, NAN, INFINITY },      { GGML_UNARY_OP_HARDSIGMOID, 0.0f, 1.0f },
        { GGML_UNARY_OP_EXP, 0.0f, INFINITY },      { GGML_UNARY_OP_EXPM1, -1.0f, INFINITY },
        { GGML_UNARY_OP_SOFTPLUS, 0.0f, INFINITY }, { GGML_UNARY_OP_HARDSWISH, NAN, INFINITY },
    };
    (void) state;
    for (int k = 0; k < 2 * EVERY_COUNT(functions); k++) {
        struct cpu_test t = cpu_test_new(1);
        struct ggml_tensor * x = every_f32(&t, 70, 1, 1, 1);
        struct ggml_tensor * y = ggml_unary(t.ctx, x, functions[k / 2].op);
        for (int i = 0; i < 70; i++)
            ((float *) x->data)[i] = i % 2 ? INFINITY : -INFINITY;
        tn_kernels_select(k % 2 ? UINT64_MAX : 0);
        cpu_run(&t, y);
        tn_kernels_select(UINT64_MAX);
        for (int i = 0; i < 70; i++) {
            const float v = ((float *) y->data)[i],
                        want = i % 2 ? functions[k / 2].high : functions[k / 2].low;
            if (isnan(want) ? !isnan(v) : v != want)
                fail_msg("%s: %g, not %g", ggml_op_desc(y), (double) v, (double) want);
        }
        cpu_test_free(&t);
    }
}

// --- sums and products

static void infinity_added_up(void ** state) {
    (void) state;
    for (int k = 0; k < 3; k++) { // alone, with another of the other sign, times 0
        struct cpu_test t = cpu_test_new((unsigned) k);
        struct ggml_tensor *a = every_f32(&t, 300, 4, 1, 1), *b = every_f32(&t, 300, 9, 1, 1);
        cpu_put(b, (const int64_t[]){ 100, 3, 0, 0 }, INFINITY);
        if (k == 1) cpu_put(b, (const int64_t[]){ 200, 3, 0, 0 }, -INFINITY);
        for (int64_t i = 0; i < 300 * 4; i++)
            ((float *) a->data)[i] = k == 2 && i % 300 == 100 ? 0.0f : 0.5f;
        struct ggml_tensor *y = ggml_mul_mat(t.ctx, a, b), *sums = ggml_sum_rows(t.ctx, b);
        cpu_run(&t, y);
        cpu_run(&t, sums);
        for (int64_t i = 0; i < 4 * 9; i++) {
            const float v = ((float *) y->data)[i];
            assert_true(i / 4 != 3 ? isfinite(v) : k == 0 ? v == INFINITY : isnan(v));
        }
        const float sum = ((float *) sums->data)[3];
        assert_true(k == 1 ? isnan(sum) : sum == INFINITY);
        cpu_test_free(&t);
    }
}

static void a_group_with_infinity_is_nan(void ** state) {
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = every_f32(&t, 9, 7, 6, 2);
    struct ggml_tensor * y = ggml_group_norm(t.ctx, x, 3, 1e-5f);
    (void) state;
    cpu_put(x, (const int64_t[]){ 4, 5, 3, 1 }, INFINITY);
    cpu_run(&t, y);
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(y); i++, cpu_next(y, at))
        assert_int_equal(isnan(cpu_get(y, at[0], at[1], at[2], at[3])), at[2] / 2 == 1 && at[3] == 1);
    cpu_test_free(&t);
}

// A key of +infinity makes a query NaN that looks at it in that direction; a value that has no weight is not
// looked at.
static void attention(void ** state) {
    (void) state;
    for (int k = 0; k < 2; k++) {
        struct cpu_test t = cpu_test_new(1);
        struct ggml_tensor *q = every_f32(&t, 16, 2, 1, 1), *keys = every_f32(&t, 16, 40, 1, 1);
        struct ggml_tensor * v = every_f32(&t, 16, 40, 1, 1);
        for (int i = 0; i < 16; i++) {
            ((float *) q->data)[i] = 1.0f; // the second query looks the other way
            ((float *) q->data)[16 + i] = -1.0f;
        }
        cpu_put(keys, (const int64_t[]){ 3, 17, 0, 0 }, INFINITY);
        if (k) cpu_put(v, (const int64_t[]){ 5, 17, 0, 0 }, NAN);
        struct ggml_tensor * y = ggml_flash_attn_ext(t.ctx, q, keys, v, NULL, 0.2f, 0.0f, 0.0f);
        cpu_run(&t, y);
        for (int i = 0; i < 32; i++)
            assert_int_equal(isnan(((float *) y->data)[i]), i < 16);
        cpu_test_free(&t);
    }
}

// --- NaN

static void rope_turns_both_channels_of_a_pair(void ** state) {
    (void) state;
    for (int mode = 0; mode <= GGML_ROPE_TYPE_NEOX; mode += GGML_ROPE_TYPE_NEOX) {
        struct cpu_test t = cpu_test_new(1);
        struct ggml_tensor * x = every_f32(&t, 64, 3, 2, 1);
        struct ggml_tensor * y = ggml_rope(t.ctx, x, every_index(&t, 2, 1, 1, 100), 32, mode);
        cpu_put(x, (const int64_t[]){ 4, 1, 1, 0 }, NAN);
        cpu_run(&t, y);
        const int64_t partner = mode ? 4 + 16 : 5;
        for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(y); i++, cpu_next(y, at)) {
            const bool is_pair = (at[0] == 4 || at[0] == partner) && at[1] == 1 && at[2] == 1;
            assert_int_equal(isnan(cpu_get(y, at[0], at[1], at[2], at[3])), is_pair);
        }
        cpu_test_free(&t);
    }
}

// A value of one token: what came before is as it was, its channel is NaN from there on, others are not.
static void recurrences_keep_it(void ** state) {
    enum { N = 8, HEADS = 2, TOKENS = 6, AT = 2 };
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * in[5];
    (void) state;
    for (int i = 0; i < 5; i++)
        in[i] = every_f32(&t, N, HEADS, i == 3 ? 1 : TOKENS, 1);
    struct ggml_tensor * old = every_f32(&t, N * N * HEADS, 1, 1, 1);
    struct ggml_tensor * y =
        ggml_rwkv_wkv6(t.ctx, in[0], in[1], in[2], ggml_reshape_2d(t.ctx, in[3], N, HEADS), in[4], old);
    cpu_put(in[1], (const int64_t[]){ 3, 1, AT, 0 }, NAN);
    cpu_run(&t, y);
    for (int64_t i = 0; i < N * HEADS * TOKENS; i++) {
        const bool is_hit = i % N == 3 && i / N % HEADS == 1 && i / N / HEADS >= AT;
        assert_int_equal(isnan(((float *) y->data)[i]), is_hit);
    }
    for (int64_t i = 0; i < N * N * HEADS; i++) {
        const bool is_hit = i % N == 3 && i / N / N == 1;
        assert_int_equal(isnan(((float *) y->data)[N * HEADS * TOKENS + i]), is_hit);
    }
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves),
        cmocka_unit_test(columns_of_half_floats),
        cmocka_unit_test(functions_at_infinity),
        cmocka_unit_test(infinity_added_up),
        cmocka_unit_test(a_group_with_infinity_is_nan),
        cmocka_unit_test(attention),
        cmocka_unit_test(rope_turns_both_channels_of_a_pair),
        cmocka_unit_test(recurrences_keep_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
