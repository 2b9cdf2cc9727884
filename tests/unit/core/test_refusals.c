// SPDX-License-Identifier: MIT
// What an application sees when it asks for the impossible: a poisoned tensor and a text that names the
// operator, the tensors and the rule; and that 64-bit sizes and strides are not among the impossible.
#include "harness.h"

#include "core/graph.h"
#include "ggml-ext.h"

#define GIB (INT64_C(1) << 30)

static struct ggml_context * context(void) {
    return ggml_init((struct ggml_init_params){ .mem_size = 1 << 18, .no_alloc = true });
}

static struct ggml_tensor * named(struct ggml_tensor * t, const char * name) {
    return ggml_set_name(t, name);
}

// All parts must be in the text.
static void refused(struct ggml_context * ctx, const struct ggml_tensor * t, const char * op,
                    const char * tensor, const char * rule) {
    assert_non_null(t);
    assert_false(ggml_ext_tensor_valid(t));
    assert_contains(ggml_ext_last_error(), op);
    assert_contains(ggml_ext_last_error(), tensor);
    assert_contains(ggml_ext_last_error(), rule);
    assert_non_null(ggml_ext_context_error(ctx));
}

static void shapes_that_do_not_fit(void ** state) {
    (void) state;
    struct ggml_context * ctx = context();
    struct ggml_tensor * a = named(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 6), "a");
    struct ggml_tensor * b = named(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 7, 6), "b");
    refused(ctx, ggml_add(ctx, a, b), "ggml_add: ", "src1 'b' f32 [7, 6, 1, 1]", "repeat");
    refused(ctx, ggml_mul_mat(ctx, a, b), "ggml_mul_mat: ", "src0 'a' f32 [8, 6, 1, 1]", "ne[0]");
    refused(ctx, ggml_reshape_2d(ctx, a, 5, 5), "ggml_reshape_2d: ", "'a'", "48");
    refused(ctx, ggml_concat(ctx, a, b, 1), "ggml_concat: ", "'b'", "ne[0]");
    refused(ctx, ggml_concat(ctx, a, a, 4), "ggml_concat: ", "'a'", "4");
    refused(ctx, ggml_permute(ctx, a, 0, 1, 1, 3), "ggml_permute: ", "'a'", "axis 1 is given twice");
    refused(ctx, ggml_permute(ctx, a, 0, 1, 2, 4), "ggml_permute: ", "'a'", "axis 4 must be 0 to 3");
    refused(ctx, ggml_get_rows(ctx, a, b), "ggml_get_rows: ", "'b'", "i32");
    refused(ctx, ggml_repeat(ctx, a, b), "ggml_repeat: ", "'a'", "[7, 6, 1, 1]");
    refused(ctx, ggml_soft_max_ext(ctx, a, b, 1.0f, 0.0f), "ggml_soft_max_ext: ", "'b'", "ne[0]");
    assert_contains(ggml_ext_context_error(ctx), "ggml_add: "); // the first one
    ggml_free(ctx);
}

static void views_beyond_the_end(void ** state) {
    (void) state;
    struct ggml_context * ctx = context();
    struct ggml_tensor * a = named(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 6), "a");
    assert_true(ggml_ext_tensor_valid(ggml_view_1d(ctx, a, 8, 160)));
    refused(ctx, ggml_view_1d(ctx, a, 8, 161), "ggml_view_1d: ", "'a' f32 [8, 6, 1, 1]", "ends beyond");
    refused(ctx, ggml_view_2d(ctx, a, 8, 7, 32, 0), "ggml_view_2d: ", "'a'", "224 bytes at offset 0");
    refused(ctx, ggml_view_2d(ctx, a, 8, 2, SIZE_MAX / 2, 0), "ggml_view_2d: ", "'a'", "2^6");
    refused(ctx, ggml_view_1d(ctx, a, 8, SIZE_MAX - 3), "ggml_view_1d: ", "'a'", "ends beyond");
    refused(ctx, ggml_view_1d(ctx, a, INT64_MAX, 0), "ggml_view_1d: ", "'a'", "too many");
    refused(ctx, ggml_view_1d(ctx, a, -1, 0), "ggml_view_1d: ", "'a'", "negative");
    struct ggml_tensor * part = ggml_view_1d(ctx, a, 8, 160);
    refused(ctx, ggml_view_1d(ctx, part, 8, 4), "ggml_view_1d: ", "(view)", "at offset 164 ends beyond");
    ggml_free(ctx);
}

static void counts_that_overflow(void ** state) {
    (void) state;
    struct ggml_context * ctx = context();
    struct ggml_tensor * a = named(ggml_new_tensor_3d(ctx, GGML_TYPE_F16, GIB, GIB, 1), "a");
    assert_true(ggml_ext_tensor_valid(a)); // 2^60 elements, 2^61 bytes
    refused(ctx, ggml_new_tensor_3d(ctx, GGML_TYPE_F16, GIB, GIB, 8), "ggml_new_tensor: ", "[1073741824,",
            "2^63");
    refused(ctx, ggml_repeat_4d(ctx, a, GIB, GIB, 8, 8), "ggml_repeat_4d: ", "'a'", "2^63");
    refused(ctx, ggml_cast(ctx, ggml_repeat_4d(ctx, a, GIB, GIB, 2, 1), GGML_TYPE_F32),
            "ggml_cast: ", "f16 [1073741824, 1073741824, 2, 1]", "2^63 bytes");
    refused(ctx, ggml_concat(ctx, a, ggml_new_tensor_3d(ctx, GGML_TYPE_F16, GIB, GIB, 3), 2),
            "ggml_concat: ", "'a'", "2^63 bytes");
    refused(ctx, ggml_pad(ctx, a, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX), "ggml_pad: ", "'a'", "2^6");
    ggml_free(ctx);
}

// As large as a model may become: nothing is cut to 32 bits, from the sizes to the strides of what is built
// on it.
static void strides_above_2_to_the_31(void ** state) {
    (void) state;
    struct ggml_context * ctx = context();
    struct ggml_tensor * a = named(ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 3 * GIB, 4, 2), "a");
    struct ggml_tensor * p = ggml_permute(ctx, a, 1, 0, 2, 3);
    assert_true(ggml_ext_tensor_valid(p));
    assert_int_equal(p->ne[1], 3 * GIB);
    assert_int_equal(p->nb[0], 12 * GIB);
    assert_int_equal(p->nb[2], 48 * GIB);
    assert_int_equal(ggml_nbytes(p), 96 * GIB);
    struct ggml_tensor * c = ggml_cont(ctx, p);
    assert_int_equal(c->nb[2], 48 * GIB);
    struct ggml_tensor * v = ggml_view_2d(ctx, a, GIB, 2, 48 * GIB, 40 * GIB);
    assert_int_equal(v->view_offs, 40 * GIB);
    assert_int_equal(v->nb[1], 48 * GIB);
    assert_true(ggml_ext_tensor_valid(ggml_sqr(ctx, c)));
    // ACC and SET keep strides and offset in 32 bits: what does not fit is refused, not cut.
    struct ggml_tensor * b = named(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 2), "b");
    refused(ctx, ggml_acc(ctx, a, b, a->nb[1], a->nb[2], a->nb[3], 0), "ggml_acc: ", "'b'",
            "nb1 of 12884901888 bytes");
    refused(ctx, ggml_set_1d(ctx, a, ggml_view_1d(ctx, b, 4, 0), (size_t) 3 * GIB),
            "ggml_set_1d: ", "'b (view)'", "the offset of 3221225472 bytes");
    ggml_free(ctx);
}

static void a_refused_part_refuses_the_whole(void ** state) {
    (void) state;
    struct ggml_context * ctx = context();
    struct ggml_tensor * a = named(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 6), "a");
    struct ggml_tensor * bad = ggml_mul_mat(ctx, a, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 9));
    struct ggml_tensor * t = ggml_soft_max(ctx, ggml_add(ctx, ggml_gelu(ctx, ggml_cont(ctx, bad)), a));
    assert_false(ggml_ext_tensor_valid(t));
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, t);
    assert_false(ggml_ext_graph_valid(g));
    assert_contains(ggml_ext_last_error(), "ggml_mul_mat: ");
    ggml_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_that_do_not_fit),
        cmocka_unit_test(views_beyond_the_end),
        cmocka_unit_test(counts_that_overflow),
        cmocka_unit_test(strides_above_2_to_the_31),
        cmocka_unit_test(a_refused_part_refuses_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
