// SPDX-License-Identifier: MIT
// core/build.c and op.c: sources, refusals and their texts, in-place results, names of operators and
// functions.
#include "harness.h"

#include "base/error.h"
#include "core/build.h"
#include "core/context.h"
#include "core/op.h"
#include "ggml-ext.h"

struct fixture {
    struct ggml_context * ctx;
    struct ggml_tensor *a, *b;
};

static struct fixture fixture(void) {
    struct fixture f = { .ctx =
                             ggml_init((struct ggml_init_params){ .mem_size = 1 << 16, .no_alloc = true }) };
    f.a = ggml_set_name(ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 4, 3), "a");
    f.b = ggml_set_name(ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 3), "b");
    return f;
}

static void a_refusal_names_operator_tensors_and_rule(void ** state) {
    (void) state;
    struct fixture f = fixture();
    const struct ggml_tensor * t = ggml_add(f.ctx, f.a, f.b);
    assert_false(ggml_ext_tensor_valid(t));
    assert_contains(ggml_ext_last_error(), "ggml_add: ");
    assert_contains(ggml_ext_last_error(), "must repeat to the shape of src0");
    assert_contains(ggml_ext_last_error(), "(src0 'a' f32 [4, 3, 1, 1], src1 'b' f32 [3, 1, 1, 1])");
    assert_string_equal(ggml_ext_context_error(f.ctx), ggml_ext_last_error());
    ggml_free(f.ctx);
}

static void null_sources_are_refused(void ** state) {
    (void) state;
    struct fixture f = fixture();
    assert_false(ggml_ext_tensor_valid(ggml_add(f.ctx, NULL, f.b)));
    assert_contains(ggml_ext_last_error(), "ggml_add: source 0 is NULL");
    assert_false(ggml_ext_tensor_valid(ggml_mul(f.ctx, f.a, NULL)));
    assert_contains(ggml_ext_last_error(), "ggml_mul: source 1 is NULL");
    assert_false(ggml_ext_tensor_valid(ggml_mul_inplace(f.ctx, NULL, NULL)));
    assert_contains(ggml_ext_last_error(), "ggml_mul_inplace: source 0 is NULL"); // the first reason counts
    assert_false(ggml_ext_tensor_valid(ggml_add(NULL, f.a, f.a)));
    assert_contains(ggml_ext_last_error(), "ggml_add: the context is NULL");
    ggml_free(f.ctx);
}

static void poison_spreads(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * bad = ggml_add(f.ctx, f.a, f.b);
    struct ggml_context * other =
        ggml_init((struct ggml_init_params){ .mem_size = 1 << 12, .no_alloc = true });
    struct ggml_tensor * t = ggml_mul(other, f.a, bad);
    assert_false(ggml_ext_tensor_valid(t));
    assert_contains(ggml_ext_context_error(other),
                    "ggml_mul: source 1 was refused before: ggml_add: src1 must repeat");
    assert_false(ggml_ext_tensor_valid(ggml_dup_tensor(other, t)));
    assert_false(ggml_ext_tensor_valid(ggml_view_tensor(other, t)));
    ggml_free(other);
    ggml_free(f.ctx);
}

static void in_place_results_share_memory_and_strides(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct ggml_tensor * t = ggml_add_inplace(f.ctx, f.a, f.a);
    assert_ptr_equal(t->view_src, f.a);
    assert_int_equal(t->view_offs, 0);
    assert_string_equal(t->name, "a (view)");
    assert_true(ggml_are_same_stride(t, f.a));
    assert_int_equal(t->op, GGML_OP_ADD);
    struct ggml_tensor * u = ggml_mul_inplace(f.ctx, t, f.a);
    assert_ptr_equal(u->view_src, f.a);
    assert_string_equal(u->name, "a (view) (view)");
    ggml_free(f.ctx);
}

static void sources_beyond_the_first(void ** state) {
    (void) state;
    struct fixture f = fixture();
    struct tn_build b = tn_build_start(f.ctx, "some_builder", GGML_OP_ADD, 1, f.a);
    tn_build_optional(&b, 1, NULL);
    assert_null(b.node.src[1]);
    tn_build_optional(&b, 1, f.a);
    tn_build_name(&b, "%s-%d", "n", 3);
    struct ggml_tensor * t = tn_build_finish(&b);
    assert_true(ggml_ext_tensor_valid(t));
    assert_ptr_equal(t->src[1], f.a);
    assert_string_equal(t->name, "n-3");
    b = tn_build_start(f.ctx, "some_builder", GGML_OP_ADD, 2, f.a, f.a);
    tn_build_refuse(&b, "first %d", 1);
    tn_build_refuse(&b, "second");
    assert_false(ggml_ext_tensor_valid(tn_build_finish(&b)));
    assert_contains(ggml_ext_last_error(), "some_builder: first 1 (src0 'a'");
    tn_error_set("something in a part");
    assert_false(ggml_ext_tensor_valid(tn_build_poison(f.ctx, "composite")));
    assert_string_equal(ggml_ext_last_error(), "composite: something in a part");
    ggml_free(f.ctx);
}

static void a_refusal_takes_nothing_from_the_pool(void ** state) {
    (void) state;
    struct fixture f = fixture();
    const size_t used = ggml_used_mem(f.ctx);
    for (int i = 0; i < 1000; i++)
        assert_false(ggml_ext_tensor_valid(ggml_add(f.ctx, f.a, f.b)));
    assert_int_equal(ggml_used_mem(f.ctx), used);
    ggml_free(f.ctx);
}

static void names_of_operators_and_functions(void ** state) {
    (void) state;
    assert_string_equal(ggml_op_name(GGML_OP_NONE), "NONE");
    assert_string_equal(ggml_op_name(GGML_OP_ADD), "ADD");
    assert_string_equal(ggml_op_symbol(GGML_OP_ADD), "x+y");
    assert_string_equal(ggml_op_symbol(GGML_OP_NONE), "none");
    for (int i = -1; i <= GGML_OP_COUNT; i++) {
        assert_non_null(ggml_op_name((enum ggml_op) i));
        assert_non_null(ggml_op_symbol((enum ggml_op) i));
    }
    assert_null(tn_op_get(GGML_OP_COUNT));
    assert_null(tn_op_get((enum ggml_op) - 1));
    assert_true(tn_op_is_view(GGML_OP_NONE));
    assert_false(tn_op_is_view(GGML_OP_ADD));
    for (int i = 0; i < GGML_UNARY_OP_COUNT; i++)
        assert_true(ggml_unary_op_name((enum ggml_unary_op) i)[0] >= 'A');
    for (int i = 0; i < GGML_GLU_OP_COUNT; i++)
        assert_true(ggml_glu_op_name((enum ggml_glu_op) i)[0] >= 'A');
    assert_string_equal(ggml_unary_op_name(GGML_UNARY_OP_GELU_QUICK), "GELU_QUICK");
    assert_string_equal(ggml_unary_op_name(GGML_UNARY_OP_TRUNC), "TRUNC");
    assert_string_equal(ggml_glu_op_name(GGML_GLU_OP_SWIGLU_CLAMP), "SWIGLU_CLAMP");
    assert_contains(ggml_unary_op_name(GGML_UNARY_OP_COUNT), "unknown");
    assert_contains(ggml_glu_op_name((enum ggml_glu_op) - 1), "unknown");
}

static void the_function_of_a_tensor(void ** state) {
    (void) state;
    struct ggml_tensor t = { .op = GGML_OP_UNARY, .op_params = { GGML_UNARY_OP_SILU } };
    assert_int_equal(ggml_get_unary_op(&t), GGML_UNARY_OP_SILU);
    assert_int_equal(ggml_get_glu_op(&t), GGML_GLU_OP_COUNT);
    assert_string_equal(ggml_op_desc(&t), "SILU");
    t.op_params[0] = 12345;
    assert_contains(ggml_op_desc(&t), "unknown");
    t = (struct ggml_tensor){ .op = GGML_OP_GLU, .op_params = { GGML_GLU_OP_GEGLU } };
    assert_int_equal(ggml_get_glu_op(&t), GGML_GLU_OP_GEGLU);
    assert_int_equal(ggml_get_unary_op(&t), GGML_UNARY_OP_COUNT);
    assert_string_equal(ggml_op_desc(&t), "GEGLU");
    t.op = GGML_OP_MUL;
    assert_string_equal(ggml_op_desc(&t), "MUL");
    assert_string_equal(ggml_op_desc(NULL), "NONE");
    assert_int_equal(ggml_get_unary_op(NULL), GGML_UNARY_OP_COUNT);
    assert_int_equal(ggml_get_glu_op(NULL), GGML_GLU_OP_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_names_operator_tensors_and_rule),
        cmocka_unit_test(null_sources_are_refused),
        cmocka_unit_test(poison_spreads),
        cmocka_unit_test(in_place_results_share_memory_and_strides),
        cmocka_unit_test(sources_beyond_the_first),
        cmocka_unit_test(a_refusal_takes_nothing_from_the_pool),
        cmocka_unit_test(names_of_operators_and_functions),
        cmocka_unit_test(the_function_of_a_tensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
