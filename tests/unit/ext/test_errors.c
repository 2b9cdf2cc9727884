// SPDX-License-Identifier: MIT
// ext/errors.c: what an application asks about refusals.
#include "harness.h"

#include "base/error.h"
#include "ggml-ext.h"

static void nothing_has_failed_yet(void ** state) {
    (void) state;
    assert_string_equal(ggml_ext_last_error(), "");
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 18, .no_alloc = true });
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, ggml_sqr(ctx, t));
    assert_true(ggml_ext_tensor_valid(t));
    assert_true(ggml_ext_graph_valid(g));
    assert_null(ggml_ext_context_error(ctx));
    assert_string_equal(ggml_ext_last_error(), "");
    ggml_free(ctx);
}

static void the_first_error_of_a_context_and_the_last_of_a_thread(void ** state) {
    (void) state;
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 18, .no_alloc = true });
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, -4);
    assert_false(ggml_ext_tensor_valid(t));
    assert_false(ggml_ext_tensor_valid(ggml_new_tensor(ctx, GGML_TYPE_F32, 9, t->ne)));
    assert_contains(ggml_ext_context_error(ctx), "negative");
    assert_contains(ggml_ext_last_error(), "n_dims is 9");
    struct ggml_context * other =
        ggml_init((struct ggml_init_params){ .mem_size = 1 << 10, .no_alloc = true });
    assert_null(ggml_ext_context_error(other));
    ggml_free(other);
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    assert_true(ggml_ext_graph_valid(g)); // a refusal does not stop the context
    ggml_build_forward_expand(g, t);
    assert_false(ggml_ext_graph_valid(g));
    ggml_free(ctx);
}

static void null_is_not_valid(void ** state) {
    (void) state;
    assert_false(ggml_ext_tensor_valid(NULL));
    assert_false(ggml_ext_graph_valid(NULL));
    assert_null(ggml_ext_context_error(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_failed_yet),
        cmocka_unit_test(the_first_error_of_a_context_and_the_last_of_a_thread),
        cmocka_unit_test(null_is_not_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
