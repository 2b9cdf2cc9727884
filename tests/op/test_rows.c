// SPDX-License-Identifier: MIT
// GET_ROWS GET_ROWS_BACK SET_ROWS: nodes, refusals, gradients.
#include "op/op_grad.h"

static struct ggml_tensor * indices(struct ggml_context * ctx, enum ggml_type type, int64_t ne0, int64_t ne1,
                                    int64_t ne2, int64_t ne3) {
    return ggml_new_tensor_4d(ctx, type, ne0, ne1, ne2, ne3);
}

static void get_rows(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * q = ggml_new_tensor_4d(ctx, GGML_TYPE_Q6_K, 256, 9, 3, 2);
    struct ggml_tensor * whole = ggml_new_tensor_4d(ctx, GGML_TYPE_I32, 5, 9, 3, 2);
    struct ggml_tensor * ids = indices(ctx, GGML_TYPE_I32, 4, 3, 2, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_get_rows(ctx, q, ids), GGML_OP_GET_ROWS, GGML_TYPE_F32, .ne = { 256, 4, 3, 2 },
                .src = { q, ids }),
        OP_NODE(ggml_get_rows(ctx, whole, ids), GGML_OP_GET_ROWS, GGML_TYPE_I32, .ne = { 5, 4, 3, 2 },
                .src = { whole, ids }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_get_rows(ctx, q, op_leaf(ctx, "", 4, 3, 2, 1)), "src1 must be i32, it is f32");
    OP_CHECK_REFUSED(ggml_get_rows(ctx, q, indices(ctx, GGML_TYPE_I32, 4, 1, 2, 1)),
                     "src0 ne[2] = 3 must equal src1 ne[1] = 1");
    OP_CHECK_REFUSED(ggml_get_rows(ctx, q, indices(ctx, GGML_TYPE_I32, 4, 3, 1, 1)),
                     "src0 ne[3] = 2 must equal src1 ne[2] = 1");
    OP_CHECK_REFUSED(ggml_get_rows(ctx, q, indices(ctx, GGML_TYPE_I32, 4, 3, 2, 2)),
                     "src1 ne[3] must be 1, it is 2");
    OP_CHECK_REFUSED(ggml_get_rows(ctx, NULL, ids), "source 0 is NULL");
}

static void get_rows_back(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * g = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 8, 4);
    struct ggml_tensor * ids = indices(ctx, GGML_TYPE_I32, 4, 1, 1, 1);
    struct ggml_tensor * like = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 8, 9);
    const struct op_node node = OP_NODE(ggml_get_rows_back(ctx, g, ids, like), GGML_OP_GET_ROWS_BACK,
                                        GGML_TYPE_F32, .ne = { 8, 9, 1, 1 }, .src = { g, ids });
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_get_rows_back(ctx, g, ids, op_leaf(ctx, "", 7, 9, 1, 1)),
                     "src0 must have rows of 7 elements");
    OP_CHECK_REFUSED(ggml_get_rows_back(ctx, g, ids, op_leaf(ctx, "", 8, 9, 2, 1)),
                     "the result must be a matrix");
    OP_CHECK_REFUSED(ggml_get_rows_back(ctx, op_leaf(ctx, "", 8, 4, 3, 1), ids, like),
                     "src0 ne[2] must be 1, it is 3");
    OP_CHECK_REFUSED(ggml_get_rows_back(ctx, g, indices(ctx, GGML_TYPE_I32, 4, 2, 1, 1), like),
                     "src1 ne[1] must be 1");
    OP_CHECK_REFUSED(ggml_get_rows_back(ctx, g, indices(ctx, GGML_TYPE_I64, 4, 1, 1, 1), like),
                     "src1 must be i32");
    OP_CHECK_REFUSED(ggml_get_rows_back(ctx, g, indices(ctx, GGML_TYPE_I32, 3, 1, 1, 1), like),
                     "src0 ne[1] = 4 must equal src1 ne[0] = 3");
    OP_CHECK_REFUSED(ggml_get_rows_back(ctx, g, ids, NULL), "is NULL");
}

static void set_rows(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_4d(ctx, GGML_TYPE_Q8_0, 64, 20, 4, 6), "a");
    struct ggml_tensor * b = op_leaf(ctx, "b", 64, 5, 4, 6);
    struct ggml_tensor * wide = indices(ctx, GGML_TYPE_I64, 5, 2, 3, 1);
    struct ggml_tensor * narrow = indices(ctx, GGML_TYPE_I32, 5, 1, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_set_rows(ctx, a, b, wide), GGML_OP_SET_ROWS, GGML_TYPE_Q8_0, .ne = { 64, 20, 4, 6 },
                .src = { b, wide, a }, .base = a, .name = "a (view)"),
        OP_NODE(ggml_set_rows(ctx, a, b, narrow), GGML_OP_SET_ROWS, GGML_TYPE_Q8_0, .ne = { 64, 20, 4, 6 },
                .src = { b, narrow, a }, .base = a, .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, op_leaf(ctx, "", 32, 5, 4, 6), wide),
                     "src2 ne[0] = 64 must equal src0 ne[0] = 32");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, op_leaf(ctx, "", 64, 5, 2, 6), wide),
                     "src2 ne[2] = 4 must equal src0 ne[2] = 2");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, op_leaf(ctx, "", 64, 5, 4, 3), wide),
                     "src2 ne[3] = 6 must equal src0 ne[3] = 3");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, b, indices(ctx, GGML_TYPE_I64, 4, 1, 1, 1)),
                     "src0 ne[1] = 5 must equal src1 ne[0] = 4");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, b, indices(ctx, GGML_TYPE_I64, 5, 3, 1, 1)),
                     "src1 ne[1] = 3 must divide src0 ne[2] = 4");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, b, indices(ctx, GGML_TYPE_I64, 5, 1, 4, 1)),
                     "src1 ne[2] = 4 must divide src0 ne[3] = 6");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, b, indices(ctx, GGML_TYPE_I64, 5, 1, 1, 2)),
                     "src1 ne[3] must be 1, it is 2");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, b, op_leaf(ctx, "", 5, 1, 1, 1)),
                     "the indices, must be i64 or i32, it is f32");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, a, op_strided_tensor(ctx, GGML_TYPE_F32, 64, 5, 4, 6), wide),
                     "src0 must have contiguous rows");
    struct ggml_tensor * t = op_strided_tensor(ctx, GGML_TYPE_F32, 64, 20, 4, 6);
    OP_CHECK_REFUSED(ggml_set_rows(ctx, t, b, wide), "src2 must have contiguous rows");
    OP_CHECK_REFUSED(ggml_set_rows(ctx, NULL, b, wide), "source 2 is NULL");
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 9, 1, 1);
    struct ggml_tensor * ids = ggml_set_name(indices(ctx, GGML_TYPE_I32, 3, 1, 1, 1), "ids");
    const struct op_grad d = op_backward(ctx, ggml_get_rows(ctx, a, ids));
    OP_GRAD(d, a, "GET_ROWS_BACK(g, ids)");
    struct ggml_tensor * cache = op_leaf(ctx, "cache", 4, 20, 1, 1);
    struct ggml_tensor * where = indices(ctx, GGML_TYPE_I64, 9, 1, 1, 1);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_set_rows(ctx, cache, a, where)), "SET_ROWS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(get_rows),
        OP_CHECK_TEST(get_rows_back),
        OP_CHECK_TEST(set_rows),
        OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
