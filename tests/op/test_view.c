// SPDX-License-Identifier: MIT
// RESHAPE VIEW PERMUTE TRANSPOSE: nodes, names, offsets through chains, refusals, gradients.
#include "op/op_grad.h"

static void reshape(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_3d(ctx, GGML_TYPE_Q8_0, 64, 3, 2), "a");
    struct ggml_tensor * like = op_leaf(ctx, "like", 32, 2, 6, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_reshape(ctx, a, like), GGML_OP_RESHAPE, GGML_TYPE_Q8_0, .ne = { 32, 2, 6, 1 },
                .src = { a }, .base = a, .name = "a (reshaped)", .nb = { 34, 34, 68, 408 }),
        OP_NODE(ggml_reshape_1d(ctx, a, 384), GGML_OP_RESHAPE, GGML_TYPE_Q8_0, .ne = { 384, 1, 1, 1 },
                .src = { a }, .base = a, .name = "a (reshaped)", .nb = { 34, 408, 408, 408 }),
        OP_NODE(ggml_reshape_2d(ctx, a, 128, 3), GGML_OP_RESHAPE, GGML_TYPE_Q8_0, .ne = { 128, 3, 1, 1 },
                .src = { a }, .base = a, .name = "a (reshaped)", .nb = { 34, 136, 408, 408 }),
        OP_NODE(ggml_reshape_3d(ctx, a, 32, 4, 3), GGML_OP_RESHAPE, GGML_TYPE_Q8_0, .ne = { 32, 4, 3, 1 },
                .src = { a }, .base = a, .name = "a (reshaped)", .nb = { 34, 34, 136, 408 }),
        OP_NODE(ggml_reshape_4d(ctx, a, 64, 1, 2, 3), GGML_OP_RESHAPE, GGML_TYPE_Q8_0, .ne = { 64, 1, 2, 3 },
                .src = { a }, .base = a, .name = "a (reshaped)", .nb = { 34, 68, 68, 136 }),
    };
    OP_CHECK_NODES(nodes);
}

static void reshape_refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 4, 3, 2, 1);
    struct ggml_tensor * q = ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 2);
    OP_CHECK_REFUSED(ggml_reshape_1d(ctx, a, 23), "must have the same number of elements: 24 and 23");
    OP_CHECK_REFUSED(ggml_reshape(ctx, a, q), "must have the same number of elements: 24 and 128");
    OP_CHECK_REFUSED(ggml_reshape_2d(ctx, op_strided_tensor(ctx, GGML_TYPE_F32, 4, 3, 1, 1), 3, 4),
                     "src0 must be contiguous");
    OP_CHECK_REFUSED(ggml_reshape_2d(ctx, q, 16, 8), "16");
    OP_CHECK_REFUSED(ggml_reshape_3d(ctx, a, -4, -6, 1), "ne[0] is negative");
    OP_CHECK_REFUSED(ggml_reshape_4d(ctx, a, (int64_t) 1 << 62, 4, 1, 24), "2^63 or more");
    OP_CHECK_REFUSED(ggml_reshape(ctx, a, NULL), "is NULL");
    OP_CHECK_REFUSED(ggml_reshape(ctx, NULL, a), "source 0 is NULL");
}

// A view's offset stands in op_params as 64 bits.
static void check_view(const struct ggml_tensor * t, struct ggml_tensor * src, size_t offset,
                       const size_t nb[4]) {
    size_t stored;
    memcpy(&stored, t->op_params, sizeof(stored));
    if (tn_tensor_is_poisoned(t)) fail_msg("refused: %s", tn_error_text());
    assert_int_equal(t->op, GGML_OP_VIEW);
    assert_ptr_equal(t->src[0], src);
    assert_int_equal(stored, offset);
    assert_ptr_equal(t->view_src, src->view_src ? src->view_src : src);
    assert_int_equal(t->view_offs, offset + src->view_offs);
    for (int d = 0; d < 4; d++)
        assert_int_equal(t->nb[d], nb[d]);
    op_check_rule(t);
}

static void view(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 8, 6, 4, 2);
    struct ggml_tensor * t = ggml_view_1d(ctx, a, 5, 12);
    check_view(t, a, 12, (const size_t[]){ 4, 20, 20, 20 });
    assert_string_equal(t->name, "a (view)");
    assert_int_equal(t->ne[0], 5);
    t = ggml_view_2d(ctx, a, 5, 3, 64, 8);
    check_view(t, a, 8, (const size_t[]){ 4, 64, 192, 192 });
    assert_int_equal(t->ne[1], 3);
    t = ggml_view_3d(ctx, a, 5, 3, 2, 64, 384, 0);
    check_view(t, a, 0, (const size_t[]){ 4, 64, 384, 768 });
    assert_int_equal(t->ne[2], 2);
    t = ggml_view_4d(ctx, a, 1, 2, 3, 2, 32, 192, 768, 348);
    check_view(t, a, 348, (const size_t[]){ 4, 32, 192, 768 });
    assert_int_equal(t->ne[3], 2);
    // a view of a view hangs on the first tensor; it may leave the inner view but not the base
    struct ggml_tensor * inner = ggml_view_1d(ctx, a, 4, 100);
    t = ggml_view_2d(ctx, inner, 8, 2, 32, 20);
    check_view(t, inner, 20, (const size_t[]){ 4, 32, 64, 64 });
    assert_int_equal(t->view_offs, 120);
    assert_string_equal(t->name, "a (view) (view)");
    // rows of whole blocks
    struct ggml_tensor * q = ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 128, 4);
    check_view(ggml_view_2d(ctx, q, 64, 3, q->nb[1], 36), q, 36, (const size_t[]){ 18, 72, 216, 216 });
    check_view(ggml_view_1d(ctx, q, 32, 0), q, 0, (const size_t[]){ 18, 18, 18, 18 });
}

static void view_of_data(void ** state) {
    (void) state;
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ .mem_size = 1 << 16 });
    struct ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 64);
    struct ggml_tensor * t = ggml_transpose(ctx, ggml_reshape_2d(ctx, ggml_view_1d(ctx, a, 32, 64), 8, 4));
    assert_ptr_equal(t->data, (char *) a->data + 64);
    assert_ptr_equal(t->view_src, a);
    assert_int_equal(t->view_offs, 64);
    ggml_free(ctx);
}

static void view_refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 8, 6, 1, 1); // 192 bytes
    struct ggml_tensor * inner = ggml_view_1d(ctx, a, 4, 176);
    struct ggml_tensor * q = ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 128, 4);
    assert_false(tn_tensor_is_poisoned(ggml_view_1d(ctx, a, 47, 4)));
    OP_CHECK_REFUSED(ggml_view_1d(ctx, a, 48, 4),
                     "a view of 192 bytes at offset 4 ends beyond 'a' f32 [8, 6, 1, 1] of 192");
    OP_CHECK_REFUSED(ggml_view_1d(ctx, inner, 5, 0), "ends beyond 'a'");
    OP_CHECK_REFUSED(ggml_view_1d(ctx, inner, 4, SIZE_MAX - 100), "overflows");
    OP_CHECK_REFUSED(ggml_view_1d(ctx, a, 1, SIZE_MAX - 2), "ends beyond");
    OP_CHECK_REFUSED(ggml_view_2d(ctx, a, 8, 7, 32, 0), "a view of 224 bytes at offset 0 ends beyond");
    OP_CHECK_REFUSED(ggml_view_2d(ctx, a, 8, 2, SIZE_MAX / 2, 0), "strides reach 2^63 bytes or more");
    OP_CHECK_REFUSED(ggml_view_2d(ctx, a, 8, 4, SIZE_MAX / 2, 0), "nb[2] is 2^64 bytes or more");
    OP_CHECK_REFUSED(ggml_view_3d(ctx, a, 1, 2, 2, 4, SIZE_MAX, 0), "nb[3] is 2^64 bytes or more");
    OP_CHECK_REFUSED(ggml_view_4d(ctx, a, 1, 1, 1, 3, 4, 4, SIZE_MAX / 2, 0), "2^63 bytes or more");
    OP_CHECK_REFUSED(ggml_view_2d(ctx, a, -1, 4, 4, 0), "ne[0] is negative");
    OP_CHECK_REFUSED(ggml_view_4d(ctx, a, INT64_MAX, 2, 1, 1, 0, 0, 0, 0), "2^63 or more");
    OP_CHECK_REFUSED(ggml_view_1d(ctx, q, 33, 0), "33");
    OP_CHECK_REFUSED(ggml_view_3d(ctx, NULL, 1, 1, 1, 4, 4, 0), "source 0 is NULL");
    // nothing is read through an empty view
    assert_false(tn_tensor_is_poisoned(ggml_view_1d(ctx, a, 0, 1000)));
}

static void permute(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 2, 3, 5, 7);
    const struct op_node nodes[] = {
        OP_NODE(ggml_permute(ctx, a, 2, 0, 3, 1), GGML_OP_PERMUTE, GGML_TYPE_F32, .ne = { 3, 7, 2, 5 },
                .params = { 2, 0, 3, 1 }, .src = { a }, .base = a, .name = "a (permuted)",
                .nb = { 8, 120, 4, 24 }),
        OP_NODE(ggml_permute(ctx, a, 0, 1, 2, 3), GGML_OP_PERMUTE, GGML_TYPE_F32, .ne = { 2, 3, 5, 7 },
                .params = { 0, 1, 2, 3 }, .src = { a }, .base = a, .name = "a (permuted)"),
        OP_NODE(ggml_transpose(ctx, a), GGML_OP_TRANSPOSE, GGML_TYPE_F32, .ne = { 3, 2, 5, 7 }, .src = { a },
                .base = a, .name = "a (transposed)", .nb = { 8, 4, 24, 120 }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_permute(ctx, a, 0, 1, 2, 4), "axis 4 must be 0 to 3");
    OP_CHECK_REFUSED(ggml_permute(ctx, a, -1, 1, 2, 3), "axis -1 must be 0 to 3");
    OP_CHECK_REFUSED(ggml_permute(ctx, a, 0, 1, 0, 3), "axis 0 is given twice");
    OP_CHECK_REFUSED(ggml_permute(ctx, NULL, 0, 1, 2, 3), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_transpose(ctx, NULL), "source 0 is NULL");
}

// Strides of 2^31 bytes and more.
static void large_tensors(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 1 << 20, 1 << 10, 8, 4); // 2^32 bytes a matrix
    const struct op_node node =
        OP_NODE(ggml_permute(ctx, a, 3, 2, 1, 0), GGML_OP_PERMUTE, GGML_TYPE_F32,
                .ne = { 4, 8, 1 << 10, 1 << 20 }, .params = { 3, 2, 1, 0 }, .src = { a }, .base = a,
                .name = "a (permuted)", .nb = { (size_t) 1 << 35, (size_t) 1 << 32, 1 << 22, 4 });
    op_check_node(&node);
    const size_t offset = (size_t) 3 << 35;
    check_view(ggml_view_1d(ctx, a, 16, offset), a, offset, (const size_t[]){ 4, 64, 64, 64 });
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 2, 1);
    struct op_grad d = op_backward(ctx, ggml_reshape_2d(ctx, a, 6, 4));
    OP_GRAD(d, a, "RESHAPE(g)");
    d = op_backward(ctx, ggml_permute(ctx, a, 2, 0, 1, 3));
    OP_GRAD(d, a, "CONT(PERMUTE(g))");
    const int32_t back[] = { 1, 2, 0, 3 };
    assert_memory_equal(ggml_graph_get_grad(d.graph, a)->src[0]->op_params, back, sizeof(back));
    d = op_backward(ctx, ggml_transpose(ctx, a));
    OP_GRAD(d, a, "CONT(TRANSPOSE(g))");
    d = op_backward(ctx, ggml_view_2d(ctx, a, 2, 2, 48, 20));
    OP_GRAD(d, a, "ACC(FILL(a), g)");
    const int32_t region[] = { 48, 96, 96, 20, 0 };
    assert_memory_equal(ggml_graph_get_grad(d.graph, a)->op_params, region, sizeof(region));
}

static void gradients_that_do_not_exist(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 2, 1);
    struct ggml_tensor * t = ggml_transpose(ctx, a);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_view_1d(ctx, t, 4, 0)), "not contiguous has no gradient");
    OP_GRAD_REFUSED(op_backward(ctx, ggml_view_1d(ctx, a, 4, 2)), "between elements has no gradient");
    OP_GRAD_REFUSED(op_backward(ctx, ggml_view_2d(ctx, a, 2, 2, 10, 0)), "between elements has no gradient");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(reshape),
        OP_CHECK_TEST(reshape_refusals),
        OP_CHECK_TEST(view),
        OP_CHECK_TEST(view_of_data),
        OP_CHECK_TEST(view_refusals),
        OP_CHECK_TEST(permute),
        OP_CHECK_TEST(large_tensors),
        OP_CHECK_TEST(gradients),
        OP_CHECK_TEST(gradients_that_do_not_exist),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
