// SPDX-License-Identifier: MIT
// core/tensor.c: new tensors and views, names, flags, data; sizes and views that are refused.
#include "harness.h"

#include "base/error.h"
#include "core/context.h"
#include "core/tensor.h"
#include "ggml-backend.h"
#include "ggml-ext.h"

static struct ggml_context * context(bool no_alloc) {
    return ggml_init((struct ggml_init_params){ .mem_size = 1 << 16, .no_alloc = no_alloc });
}

static void a_new_tensor_is_an_empty_leaf(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(false);
    const struct ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 3, 2);
    assert_int_equal(t->type, GGML_TYPE_F16);
    assert_int_equal(t->op, GGML_OP_NONE);
    assert_int_equal(t->flags, 0);
    assert_null(t->src[0]);
    assert_null(t->view_src);
    assert_null(t->buffer);
    assert_null(t->extra);
    assert_string_equal(t->name, "");
    assert_int_equal(t->ne[2], 1);
    assert_int_equal(t->ne[3], 1);
    assert_ptr_equal(t->data, t + 1);
    assert_int_equal(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1, 2, 3, 4)->ne[3], 4);
    assert_int_equal(ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 1, 2, 3)->ne[2], 3);
    ggml_set_no_alloc(ctx, true);
    assert_null(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)->data);
    struct ggml_tensor * dup = ggml_dup_tensor(ctx, t);
    assert_int_equal(dup->type, GGML_TYPE_F16);
    assert_true(ggml_are_same_shape(t, dup));
    assert_null(dup->view_src);
    struct ggml_tensor * empty = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 0, 5);
    assert_true(ggml_ext_tensor_valid(empty));
    assert_int_equal(ggml_nbytes(empty), 0);
    ggml_free(ctx);
}

static void refused(struct ggml_context * ctx, const struct ggml_tensor * t, const char * text) {
    assert_non_null(t);
    assert_false(ggml_ext_tensor_valid(t));
    assert_contains(ggml_ext_last_error(), text);
    assert_true(ggml_used_mem(ctx) < (1 << 16));
}

static void sizes_and_types_that_are_refused(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(true);
    const int64_t ne[4] = { 4, 4, 4, 4 };
    refused(ctx, ggml_new_tensor(ctx, GGML_TYPE_F32, 0, ne), "ggml_new_tensor: n_dims is 0");
    refused(ctx, ggml_new_tensor(ctx, GGML_TYPE_F32, 5, ne), "n_dims is 5");
    refused(ctx, ggml_new_tensor(ctx, GGML_TYPE_F32, 1, NULL), "with sizes");
    refused(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, -4), "ne[0] is negative");
    refused(ctx, ggml_new_tensor_1d(ctx, (enum ggml_type) 4, 32), "ggml_new_tensor: ");
    refused(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_COUNT, 32), "ggml_new_tensor: ");
    refused(ctx, ggml_new_tensor_1d(ctx, (enum ggml_type) - 1, 32), "ggml_new_tensor: ");
    refused(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_Q4_0, 33), "ggml_new_tensor: ");
    refused(ctx, ggml_new_tensor_4d(ctx, GGML_TYPE_I8, 1 << 16, 1 << 16, 1 << 16, 1 << 15),
            "number of elements is 2^63 or more");
    refused(ctx, ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1 << 16, 1 << 16, 1 << 16, 1 << 13),
            "2^63 bytes or more");
    refused(ctx, ggml_dup_tensor(ctx, NULL), "ggml_dup_tensor: ");
    refused(ctx, ggml_view_tensor(ctx, NULL), "ggml_view_tensor: ");
    refused(ctx, ggml_dup_tensor(ctx, &ctx->poison.tensor),
            "was refused before: ggml_new_tensor: n_dims is 0");
    assert_contains(ggml_ext_context_error(ctx), "n_dims is 0");
    struct ggml_tensor * t = ggml_new_tensor_4d(ctx, GGML_TYPE_I8, 1 << 16, 1 << 16, 1 << 16, (1 << 15) - 1);
    assert_true(ggml_ext_tensor_valid(t)); // fits as long as it has no data
    ggml_set_no_alloc(ctx, false);
    refused(ctx, ggml_dup_tensor(ctx, t), "the context is full");
    ggml_free(ctx);
}

static void views_never_chain(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(false);
    struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 8), "t");
    struct ggml_tensor * v = ggml_view_tensor(ctx, t);
    assert_string_equal(v->name, "t (view)");
    assert_int_equal(v->op, GGML_OP_NONE);
    assert_ptr_equal(v->view_src, t);
    assert_ptr_equal(v->data, t->data);
    assert_true(ggml_is_view(v));
    const int64_t ne[4] = { 4, 2, 1, 1 };
    struct ggml_tensor * w = tn_tensor_new(ctx, GGML_TYPE_F32, ne, t->nb, v, 16);
    struct ggml_tensor * x = tn_tensor_new(ctx, GGML_TYPE_F32, ne, t->nb, w, 32);
    assert_ptr_equal(x->view_src, t);
    assert_int_equal(x->view_offs, 48);
    assert_ptr_equal(x->data, (char *) t->data + 48);
    ggml_free(ctx);
}

static void a_view_must_end_inside_its_base(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(true);
    struct ggml_tensor * t = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 8), "base");
    const int64_t ne[4] = { 4, 2, 1, 1 }, none[4] = { 0, 2, 1, 1 };
    struct ggml_tensor * last = tn_tensor_new(ctx, GGML_TYPE_F32, ne, t->nb, t, 96);
    assert_non_null(last);
    assert_null(last->data);
    assert_null(tn_tensor_new(ctx, GGML_TYPE_F32, ne, t->nb, t, 97));
    assert_contains(tn_error_text(),
                    "a view of 32 bytes at offset 97 ends beyond 'base' f32 [4, 8, 1, 1] of 128 bytes");
    assert_null(tn_tensor_new(ctx, GGML_TYPE_F32, ne, t->nb, last, 1)); // offsets add up
    assert_null(tn_tensor_new(ctx, GGML_TYPE_F32, ne, t->nb, last, SIZE_MAX));
    assert_contains(tn_error_text(), "overflows");
    assert_null(tn_tensor_new(ctx, GGML_TYPE_F32, ne, t->nb, t, SIZE_MAX - 8));
    assert_contains(tn_error_text(), "ends beyond");
    const size_t wide[4] = { 4, SIZE_MAX - 16, 0, 0 };
    assert_null(tn_tensor_new(ctx, GGML_TYPE_F32, ne, wide, t, 0));
    assert_contains(tn_error_text(), "2^63 bytes or more");
    assert_non_null(tn_tensor_new(ctx, GGML_TYPE_F32, none, t->nb, t, 128)); // nothing fits everywhere
    ggml_free(ctx);
}

static void strides_above_2_to_the_31(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(true);
    struct ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, INT64_C(3) << 31, 5);
    const int64_t ne[4] = { 5, INT64_C(3) << 31, 1, 1 };
    const size_t nb[4] = { t->nb[1], 4, t->nb[3], t->nb[3] };
    struct ggml_tensor * p = tn_tensor_new(ctx, GGML_TYPE_F32, ne, nb, t, 0);
    assert_non_null(p);
    assert_int_equal(p->nb[0], INT64_C(3) << 33);
    assert_int_equal(ggml_nbytes(p), ggml_nbytes(t));
    assert_int_equal(ggml_nbytes(p), INT64_C(15) << 33);
    assert_null(tn_tensor_new(ctx, GGML_TYPE_F32, ne, nb, t, 4));
    ggml_free(ctx);
}

static void names_are_cut(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(true);
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    char longer[GGML_MAX_NAME + 10];
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    assert_ptr_equal(ggml_set_name(t, longer), t);
    assert_int_equal(strlen(ggml_get_name(t)), GGML_MAX_NAME - 1);
    ggml_set_name(t, "abc");
    ggml_format_name(t, "%s/%d", t->name, 7);
    assert_string_equal(ggml_get_name(t), "abc/7");
    ggml_format_name(t, "%s%s", longer, "y");
    assert_int_equal(strlen(ggml_get_name(t)), GGML_MAX_NAME - 1);
    ggml_set_name(t, NULL);
    assert_string_equal(ggml_get_name(t), "");
    assert_null(ggml_set_name(NULL, "x"));
    assert_null(ggml_format_name(NULL, "%d", 1));
    assert_string_equal(ggml_get_name(NULL), "");
    struct ggml_tensor * bad = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, -1);
    ggml_set_name(bad, "all that was refused shares one tensor");
    assert_string_equal(ggml_get_name(bad), "");
    ggml_free(ctx);
}

static void flags_and_their_conditions(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(true);
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), "a");
    struct ggml_tensor * sum = ggml_set_name(ggml_add(ctx, a, a), "sum");
    struct ggml_tensor * view = ggml_add_inplace(ctx, sum, a);
    ggml_set_input(a);
    ggml_set_param(a);
    assert_int_equal(a->flags, GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_PARAM);
    ggml_set_output(view);
    assert_int_equal(view->flags, GGML_TENSOR_FLAG_OUTPUT);
    assert_int_equal(sum->flags, GGML_TENSOR_FLAG_OUTPUT);
    tn_error_clear();
    ggml_set_input(sum);
    assert_contains(ggml_ext_last_error(), "ggml_set_input: 'sum' f32 [4, 1, 1, 1] of operator ADD");
    ggml_set_param(sum);
    assert_contains(ggml_ext_last_error(), "ggml_set_param: 'sum'");
    ggml_set_loss(sum);
    assert_contains(ggml_ext_last_error(),
                    "ggml_set_loss: 'sum' f32 [4, 1, 1, 1] of operator ADD: one value of type f32");
    assert_int_equal(sum->flags, GGML_TENSOR_FLAG_OUTPUT);
    struct ggml_tensor * half = ggml_new_tensor_1d(ctx, GGML_TYPE_F16, 1);
    ggml_set_loss(half);
    assert_int_equal(half->flags, 0);
    struct ggml_tensor * one = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    struct ggml_tensor * loss = ggml_add(ctx, one, one);
    ggml_set_loss(loss);
    assert_int_equal(loss->flags, GGML_TENSOR_FLAG_LOSS);
    ggml_set_input(ggml_view_tensor(ctx, a));
    assert_null(strstr(ggml_ext_last_error(), "(view)"));
    ggml_set_input(NULL);
    ggml_set_output(NULL);
    ggml_set_param(NULL);
    ggml_set_loss(NULL);
    struct ggml_tensor * bad = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, -1);
    ggml_set_input(bad);
    ggml_set_output(bad);
    assert_int_equal(bad->flags, TN_TENSOR_POISONED);
    ggml_free(ctx);
}

static void data(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(false);
    struct ggml_tensor * f = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor * i = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 4);
    assert_ptr_equal(ggml_get_data(f), f->data);
    assert_ptr_equal(ggml_get_data_f32(f), f->data);
    assert_ptr_equal(ggml_get_data(i), i->data);
    assert_null(ggml_get_data_f32(i));
    assert_null(ggml_get_data(NULL));
    assert_null(ggml_get_data_f32(NULL));
    ggml_free(ctx);
}

static void zeroing(void ** state) {
    (void) state;
    struct ggml_context * ctx = context(false);
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    memset(t->data, 1, 32);
    struct ggml_tensor * part =
        tn_tensor_new(ctx, GGML_TYPE_F32, (const int64_t[4]){ 3, 1, 1, 1 }, t->nb, t, 8);
    assert_ptr_equal(ggml_set_zero(part), part);
    for (int i = 0; i < 32; i++)
        assert_int_equal(((char *) t->data)[i], i < 8 || i >= 20);
    char memory[128];
    memset(memory, 1, sizeof(memory));
    ggml_set_no_alloc(ctx, true);
    struct ggml_tensor * placed = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    tn_error_clear();
    ggml_set_zero(placed);
    assert_contains(ggml_ext_last_error(), "ggml_set_zero: '' f32 [4, 1, 1, 1] has no data");
    placed->buffer =
        ggml_backend_cpu_buffer_from_ptr((char *) (((uintptr_t) memory + 63) & ~(uintptr_t) 63), 64);
    placed->data = (char *) ggml_backend_buffer_get_base(placed->buffer) + 32;
    struct ggml_tensor * view = ggml_view_tensor(ctx, placed);
    ggml_set_zero(view);
    for (int i = -32; i < 32; i++)
        assert_int_equal(((char *) placed->data)[i], i < 0 || i >= 16);
    ggml_backend_buffer_free(placed->buffer);
    tn_error_clear();
    assert_null(ggml_set_zero(NULL));
    ggml_set_zero(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 0));
    assert_string_equal(ggml_ext_last_error(), "");
    ggml_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_tensor_is_an_empty_leaf),
        cmocka_unit_test(sizes_and_types_that_are_refused),
        cmocka_unit_test(views_never_chain),
        cmocka_unit_test(a_view_must_end_inside_its_base),
        cmocka_unit_test(strides_above_2_to_the_31),
        cmocka_unit_test(names_are_cut),
        cmocka_unit_test(flags_and_their_conditions),
        cmocka_unit_test(data),
        cmocka_unit_test(zeroing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
