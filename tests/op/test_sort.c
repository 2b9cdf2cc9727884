// SPDX-License-Identifier: MIT
// core/ops/sort.c: ARGSORT, its view of the first columns, TOP_K.
#include "op/op_check.h"

static void orders(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 7, 4, 5, 6);
    struct ggml_tensor * wide = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, (int64_t) INT32_MAX + 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_argsort(ctx, a, GGML_SORT_ORDER_ASC), GGML_OP_ARGSORT, GGML_TYPE_I32,
                .ne = { 7, 4, 5, 6 }, .src = { a }),
        OP_NODE(ggml_argsort(ctx, a, GGML_SORT_ORDER_DESC), GGML_OP_ARGSORT, GGML_TYPE_I32,
                .ne = { 7, 4, 5, 6 }, .params = { 1 }, .src = { a }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_argsort(ctx, wide, GGML_SORT_ORDER_ASC),
                     "ne0 must fit in 32 bits, it is 2147483648");
    OP_CHECK_REFUSED(ggml_argsort(ctx, a, (enum ggml_sort_order) 2), "order must be 0 or 1, it is 2");
    OP_CHECK_REFUSED(ggml_argsort(ctx, NULL, GGML_SORT_ORDER_ASC), "source 0 is NULL");
}

static void the_first_columns_of_an_order(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 7, 4, 5, 6);
    struct ggml_tensor * view = ggml_argsort_top_k(ctx, a, 3);
    assert_int_equal(view->op, GGML_OP_VIEW);
    assert_int_equal(view->type, GGML_TYPE_I32);
    assert_memory_equal(view->ne, ((int64_t[]){ 3, 4, 5, 6 }), sizeof(view->ne));
    assert_memory_equal(view->nb, ((size_t[]){ 4, 28, 112, 560 }), sizeof(view->nb));
    assert_int_equal(view->view_offs, 0);
    const struct op_node sorted = OP_NODE(view->src[0], GGML_OP_ARGSORT, GGML_TYPE_I32, .ne = { 7, 4, 5, 6 },
                                          .params = { 1 }, .src = { a });
    op_check_node(&sorted);
    assert_ptr_equal(view->view_src, sorted.t);
    OP_CHECK_REFUSED(ggml_argsort_top_k(ctx, a, 8), "k must be between 0 and ne0 = 7, it is 8");
    OP_CHECK_REFUSED(ggml_argsort_top_k(ctx, a, -1), "k must be between 0");
    OP_CHECK_REFUSED(ggml_argsort_top_k(ctx, NULL, 1), "source 0 is NULL");
}

static void the_largest(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 7, 4, 5, 6);
    const struct op_node nodes[] = {
        OP_NODE(ggml_top_k(ctx, a, 3), GGML_OP_TOP_K, GGML_TYPE_I32, .ne = { 3, 4, 5, 6 }, .src = { a }),
        OP_NODE(ggml_top_k(ctx, a, 7), GGML_OP_TOP_K, GGML_TYPE_I32, .ne = { 7, 4, 5, 6 }, .src = { a }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_top_k(ctx, a, 8), "k must be between 0 and ne0 = 7, it is 8");
    OP_CHECK_REFUSED(ggml_top_k(ctx, a, INT32_MIN), "k must be between 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(orders),
        OP_CHECK_TEST(the_first_columns_of_an_order),
        OP_CHECK_TEST(the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
