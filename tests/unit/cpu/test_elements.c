// SPDX-License-Identifier: MIT
// Single elements: every type, strides, conversion as in C, refusals.
#include "harness.h"

#include "ggml-cpu.h"
#include "ggml-ext.h"

static struct ggml_context * new_context(void) {
    return ggml_init((struct ggml_init_params){ .mem_size = 1 << 16 });
}

static const enum ggml_type types[] = { GGML_TYPE_I8,  GGML_TYPE_I16,  GGML_TYPE_I32,
                                        GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32 };

static void every_type(void ** state) {
    (void) state;
    for (int k = 0; k < 6; k++) {
        struct ggml_context * ctx = new_context();
        struct ggml_tensor * t = ggml_new_tensor_3d(ctx, types[k], 3, 4, 2);
        assert_ptr_equal(ggml_set_i32(t, -7), t);
        for (int i = 0; i < 24; i++) {
            assert_int_equal(ggml_get_i32_1d(t, i), -7);
            ggml_set_i32_1d(t, i, i - 12);
        }
        assert_int_equal(ggml_get_i32_nd(t, 1, 2, 1, 0), 1 + 3 * (2 + 4) - 12);
        ggml_set_f32_nd(t, 1, 2, 1, 0, 2.75f);
        assert_true(ggml_get_f32_nd(t, 1, 2, 1, 0) == (k < 3 ? 2.0f : 2.75f));
        assert_true(ggml_get_f32_1d(t, 19) == ggml_get_f32_nd(t, 1, 2, 1, 0));
        assert_int_equal(ggml_get_i32_1d(t, 19), 2);
        ggml_set_f32_1d(t, 0, -1.5f);
        assert_int_equal(ggml_get_i32_nd(t, 0, 0, 0, 0), -1);
        ggml_set_i32_nd(t, 2, 3, 1, 0, 5);
        assert_true(ggml_get_f32_1d(t, 23) == 5.0f);
        ggml_set_f32(t, 3.0f);
        assert_int_equal(ggml_get_i32_1d(t, 17), 3);
        ggml_free(ctx);
    }
}

static void strides_are_respected(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    struct ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 3, 4);
    for (int i = 0; i < 12; i++)
        ggml_set_i32_1d(t, i, i);
    struct ggml_tensor * turned = ggml_transpose(ctx, t);
    assert_int_equal(ggml_get_i32_1d(turned, 1), 3);
    assert_int_equal(ggml_get_i32_nd(turned, 3, 2, 0, 0), 11);
    struct ggml_tensor * column = ggml_view_2d(ctx, t, 1, 4, t->nb[1], 4);
    ggml_set_i32(column, 99);
    for (int i = 0; i < 12; i++)
        assert_int_equal(ggml_get_i32_1d(t, i), i % 3 == 1 ? 99 : i);
    ggml_free(ctx);
}

static void new_tensors_of_one_element(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    assert_int_equal(ggml_get_i32_1d(ggml_new_i32(ctx, 16777217), 0), 16777217);
    assert_true(ggml_get_f32_1d(ggml_new_f32(ctx, 0.1f), 0) == 0.1f);
    ggml_set_no_alloc(ctx, true);
    ggml_new_f32(ctx, 1.0f);
    assert_contains(ggml_ext_last_error(), "no data");
    ggml_free(ctx);
}

static void what_is_not_there_reads_as_zero(void ** state) {
    (void) state;
    struct ggml_context * ctx = new_context();
    struct ggml_tensor * t = ggml_set_i32(ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 4), 8);
    assert_int_equal(ggml_get_i32_1d(t, 4), 0);
    assert_contains(ggml_ext_last_error(), "outside");
    assert_int_equal(ggml_get_i32_1d(t, -1), 0);
    ggml_set_i32_1d(t, 4, 1);
    ggml_set_i32_nd(t, 0, 1, 0, 0, 1);
    assert_int_equal(ggml_get_i32_nd(t, 0, 0, 0, 1), 0);
    assert_true(ggml_get_f32_1d(NULL, 0) == 0.0f);
    struct ggml_tensor * q = ggml_new_tensor_1d(ctx, GGML_TYPE_Q8_0, 32);
    assert_true(ggml_get_f32_1d(q, 0) == 0.0f);
    assert_contains(ggml_ext_last_error(), "i8");
    ggml_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),
        cmocka_unit_test(strides_are_respected),
        cmocka_unit_test(new_tensors_of_one_element),
        cmocka_unit_test(what_is_not_there_reads_as_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
