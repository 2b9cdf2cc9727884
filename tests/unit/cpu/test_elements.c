// SPDX-License-Identifier: MIT
// cpu/elements.c: reading and writing single elements.
#include "harness.h"

#include <math.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"

static struct ggml_context * new_context(bool no_alloc) {
    struct ggml_context * ctx =
        ggml_init((struct ggml_init_params){ .mem_size = 1 << 20, .no_alloc = no_alloc });
    assert_non_null(ctx);
    return ctx;
}

static const enum ggml_type types[] = { GGML_TYPE_I8,  GGML_TYPE_I16,  GGML_TYPE_I32,
                                        GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32 };

static void every_type_keeps_small_numbers(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(false);
    for (int k = 0; k < 6; k++) {
        struct ggml_tensor * t = ggml_new_tensor_4d(ctx, types[k], 3, 4, 2, 2);
        assert_ptr_equal(ggml_set_i32(t, 7), t);
        for (int i = 0; i < 48; i++)
            assert_int_equal(ggml_get_i32_1d(t, i), 7);
        for (int i = 0; i < 48; i++)
            ggml_set_i32_1d(t, i, i - 24);
        for (int i = 0; i < 48; i++) {
            assert_int_equal(ggml_get_i32_nd(t, i % 3, i / 3 % 4, i / 12 % 2, i / 24), i - 24);
            assert_float_equal(ggml_get_f32_1d(t, i), (float) (i - 24), 0.0f);
        }
        ggml_set_f32_nd(t, 2, 3, 1, 0, -5.75f);
        const bool whole = types[k] <= GGML_TYPE_I32 && types[k] >= GGML_TYPE_I8;
        assert_float_equal(ggml_get_f32_nd(t, 2, 3, 1, 0), whole ? -5.0f : -5.75f, 0.0f);
        assert_int_equal(ggml_get_i32_nd(t, 2, 3, 1, 0), -5);
        ggml_set_f32_1d(t, 23, 6.5f);
        ggml_set_i32_nd(t, 0, 0, 0, 1, 99);
        assert_int_equal(ggml_get_i32_1d(t, 23), 6);
        assert_int_equal(ggml_get_i32_1d(t, 24), 99);
        assert_ptr_equal(ggml_set_f32(t, -2.5f), t);
        assert_float_equal(ggml_get_f32_1d(t, 47), whole ? -2.0f : -2.5f, 0.0f);
    }
    ggml_free(ctx);
}

// A permuted part of a larger tensor: nothing beside its elements is touched.
static void strides_are_respected(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(false);
    struct ggml_tensor * base = ggml_set_f32(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 5, 6), 1.0f);
    struct ggml_tensor * part = ggml_view_2d(ctx, base, 3, 4, base->nb[1], base->nb[1] + sizeof(float));
    struct ggml_tensor * t = ggml_transpose(ctx, part);
    ggml_set_f32(t, 0.0f);
    ggml_set_f32_1d(t, 1, 2.0f); // column 0, row 1 of the part
    float sum = 0.0f;
    for (int i = 0; i < 30; i++)
        sum += ((float *) base->data)[i];
    assert_float_equal(sum, 30.0f - 12.0f + 2.0f, 0.0f);
    assert_float_equal(((float *) base->data)[2 * 5 + 1], 2.0f, 0.0f);
    assert_float_equal(ggml_get_f32_nd(t, 1, 0, 0, 0), 2.0f, 0.0f);
    ggml_free(ctx);
}

static void what_does_not_fit_saturates(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(false);
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    static const float values[] = { 3e9f, -3e9f, NAN, 2147483520.0f };
    static const int32_t expected[] = { INT32_MAX, INT32_MIN, 0, 2147483520 };
    for (int i = 0; i < 4; i++) {
        ggml_set_f32_1d(t, i, values[i]);
        assert_int_equal(ggml_get_i32_1d(t, i), expected[i]);
    }
    struct ggml_tensor * n = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 1);
    ggml_set_i32_1d(n, 0, 16777217); // no f32
    assert_int_equal(ggml_get_i32_1d(n, 0), 16777217);
    ggml_free(ctx);
}

static void new_scalars(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(false);
    struct ggml_tensor * i = ggml_new_i32(ctx, -16777217);
    struct ggml_tensor * f = ggml_new_f32(ctx, 0.1f);
    assert_int_equal(i->type, GGML_TYPE_I32);
    assert_int_equal(f->type, GGML_TYPE_F32);
    assert_true(ggml_is_scalar(i) && ggml_is_scalar(f));
    assert_int_equal(*(int32_t *) i->data, -16777217);
    assert_float_equal(*(float *) f->data, 0.1f, 0.0f);
    ggml_free(ctx);
    ctx = new_context(true);
    assert_false(ggml_ext_tensor_valid(ggml_new_f32(ctx, 1.0f)));
    assert_contains(ggml_ext_last_error(), "ggml_new_f32");
    assert_contains(ggml_ext_last_error(), "no_alloc");
    assert_false(ggml_ext_tensor_valid(ggml_new_i32(NULL, 1)));
    ggml_free(ctx);
}

static void refusals(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context(false);
    struct ggml_tensor * t = ggml_set_i32(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3), 5);
    assert_int_equal(ggml_get_i32_1d(t, 6), 0);
    assert_string_equal(ggml_ext_last_error(), "ggml_get_i32_1d, tensor '': index 6 of 6 elements");
    assert_int_equal(ggml_get_i32_1d(t, -1), 0);
    assert_contains(ggml_ext_last_error(), "index -1");
    assert_float_equal(ggml_get_f32_nd(t, 1, 3, 0, 0), 0.0f, 0.0f);
    assert_contains(ggml_ext_last_error(), "dimension 1, which has 3");
    ggml_set_f32_nd(t, 0, 0, 0, -1, 9.0f);
    assert_contains(ggml_ext_last_error(), "dimension 3");
    for (int i = 0; i < 6; i++)
        assert_float_equal(ggml_get_f32_1d(t, i), 5.0f, 0.0f);
    struct ggml_tensor * q = ggml_new_tensor_1d(ctx, GGML_TYPE_Q8_0, 32);
    assert_ptr_equal(ggml_set_f32(q, 1.0f), q);
    assert_contains(ggml_ext_last_error(), "q8_0");
    assert_null(ggml_set_f32(NULL, 1.0f));
    assert_float_equal(ggml_get_f32_1d(NULL, 0), 0.0f, 0.0f);
    assert_contains(ggml_ext_last_error(), "NULL");
    struct ggml_tensor * empty = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 0, 3);
    assert_ptr_equal(ggml_set_i32(empty, 1), empty);
    assert_int_equal(ggml_get_i32_1d(empty, 0), 0);
    assert_contains(ggml_ext_last_error(), "0 elements");
    ggml_free(ctx);
    ctx = new_context(true);
    t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    ggml_set_f32(t, 1.0f);
    assert_contains(ggml_ext_last_error(), "not allocated");
    ggml_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_keeps_small_numbers),
        cmocka_unit_test(strides_are_respected),
        cmocka_unit_test(what_does_not_fit_saturates),
        cmocka_unit_test(new_scalars),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
