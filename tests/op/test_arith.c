// SPDX-License-Identifier: MIT
// ADD SUB MUL DIV ADD1 ADD_ID ACC SCALE: nodes, refusals, gradients.
#include "op/op_grad.h"

typedef struct ggml_tensor * (*binary_t)(struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *);

static const struct {
    binary_t make, make_inplace;
    enum ggml_op op;
    const char *name, *name_inplace;
} binaries[] = {
    { ggml_add, ggml_add_inplace, GGML_OP_ADD, "ggml_add: ", "ggml_add_inplace: " },
    { ggml_sub, ggml_sub_inplace, GGML_OP_SUB, "ggml_sub: ", "ggml_sub_inplace: " },
    { ggml_mul, ggml_mul_inplace, GGML_OP_MUL, "ggml_mul: ", "ggml_mul_inplace: " },
    { ggml_div, ggml_div_inplace, GGML_OP_DIV, "ggml_div: ", "ggml_div_inplace: " },
};

// b is repeated in every dimension, a may have any type and strides.
static void binary_nodes(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 6, 4, 2, 3), "a");
    struct ggml_tensor * b = op_leaf(ctx, "b", 3, 1, 2, 1);
    struct ggml_tensor * p = op_strided_tensor(ctx, GGML_TYPE_F16, 6, 4, 2, 3);
    for (size_t i = 0; i < TN_COUNT(binaries); i++) {
        const struct op_node nodes[] = {
            { .t = binaries[i].make(ctx, a, b),
              .op = binaries[i].op,
              .type = GGML_TYPE_F16,
              .ne = { 6, 4, 2, 3 },
              .src = { a, b } },
            { .t = binaries[i].make(ctx, p, b),
              .op = binaries[i].op,
              .type = GGML_TYPE_F16,
              .ne = { 6, 4, 2, 3 },
              .src = { p, b } },
            { .t = binaries[i].make_inplace(ctx, a, b),
              .op = binaries[i].op,
              .type = GGML_TYPE_F16,
              .ne = { 6, 4, 2, 3 },
              .src = { a, b },
              .base = a,
              .name = "a (view)" },
            { .t = binaries[i].make_inplace(ctx, p, b),
              .op = binaries[i].op,
              .type = GGML_TYPE_F16,
              .ne = { 6, 4, 2, 3 },
              .src = { p, b },
              .base = p,
              .name = " (view)" },
        };
        OP_CHECK_NODES(nodes);
    }
}

static void binary_refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 6, 4, 2, 3);
    static const int64_t wrong[][4] = {
        { 4, 4, 2, 3 }, { 6, 3, 2, 3 }, { 6, 4, 4, 3 }, { 6, 4, 2, 2 }, { 0, 4, 2, 3 }
    };
    for (size_t i = 0; i < TN_COUNT(binaries); i++) {
        for (size_t j = 0; j < TN_COUNT(wrong); j++) {
            struct ggml_tensor * b = ggml_new_tensor(ctx, GGML_TYPE_F32, 4, wrong[j]);
            op_check_refused(binaries[i].make(ctx, a, b), binaries[i].name,
                             "src1 must repeat to the shape of src0", __LINE__);
            op_check_refused(binaries[i].make_inplace(ctx, a, b), binaries[i].name_inplace,
                             "every size must divide", __LINE__);
        }
    }
}

static void add_cast(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * q = ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 3);
    struct ggml_tensor * h = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 64, 3);
    struct ggml_tensor * f = op_leaf(ctx, "f", 64, 3, 1, 1);
    struct ggml_tensor * row = op_leaf(ctx, "row", 64, 1, 1, 1);
    struct ggml_tensor * one = op_leaf(ctx, "one", 1, 3, 1, 1);
    const struct op_node nodes[] = {
        { .t = ggml_add_cast(ctx, q, f, GGML_TYPE_F32),
          .op = GGML_OP_ADD,
          .type = GGML_TYPE_F32,
          .ne = { 64, 3, 1, 1 },
          .src = { q, f } },
        { .t = ggml_add_cast(ctx, h, row, GGML_TYPE_F32),
          .op = GGML_OP_ADD,
          .type = GGML_TYPE_F32,
          .ne = { 64, 3, 1, 1 },
          .src = { h, row } },
        { .t = ggml_add_cast(ctx, q, f, GGML_TYPE_Q4_0),
          .op = GGML_OP_ADD,
          .type = GGML_TYPE_Q4_0,
          .ne = { 64, 3, 1, 1 },
          .src = { q, f } },
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_add_cast(ctx, f, f, GGML_TYPE_F16),
                     "src0 must be quantised, f16 or bf16, it is f32");
    OP_CHECK_REFUSED(ggml_add_cast(ctx, f, f, GGML_TYPE_F32),
                     "src0 must be quantised, f16 or bf16, it is f32");
    OP_CHECK_REFUSED(ggml_add_cast(ctx, h, one, GGML_TYPE_F32), "src1 ne[0] = 1 must equal src0 ne[0] = 64");
    OP_CHECK_REFUSED(ggml_add_cast(ctx, h, one, GGML_TYPE_F16), "src1 ne[0] = 1 must equal src0 ne[0] = 64");
    OP_CHECK_REFUSED(ggml_add_cast(ctx, h, f, (enum ggml_type) 999), "999");
}

static void add_id(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 8, 3, 5, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 8, 10, 1, 1);
    struct ggml_tensor * ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 3, 5);
    const struct op_node node = { .t = ggml_add_id(ctx, a, b, ids),
                                  .op = GGML_OP_ADD_ID,
                                  .type = GGML_TYPE_F32,
                                  .ne = { 8, 3, 5, 1 },
                                  .src = { a, b, ids } };
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_add_id(ctx, a, op_leaf(ctx, "", 7, 10, 1, 1), ids),
                     "src0 ne[0] = 8 must equal src1 ne[0] = 7");
    OP_CHECK_REFUSED(ggml_add_id(ctx, a, b, ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 4, 5)),
                     "src0 ne[1] = 3 must equal src2 ne[0] = 4");
    OP_CHECK_REFUSED(ggml_add_id(ctx, a, b, ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 3, 4)),
                     "src0 ne[2] = 5 must equal src2 ne[1] = 4");
    OP_CHECK_REFUSED(ggml_add_id(ctx, a, b, op_leaf(ctx, "", 3, 5, 1, 1)), "src2 must be i32, it is f32");
    OP_CHECK_REFUSED(ggml_add_id(ctx, a, b, NULL), "source 2 is NULL");
}

// The deprecated builder, whose warning this file turns off.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void add1(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 8, 3, 5, 2);
    struct ggml_tensor * one = op_leaf(ctx, "one", 1, 1, 1, 1);
    struct ggml_tensor * slice =
        ggml_view_4d(ctx, a, 4, 3, 5, 2, a->nb[1], a->nb[2], a->nb[3], 0); // rows at one distance
    struct ggml_tensor * gaps = ggml_view_4d(ctx, a, 8, 2, 5, 2, a->nb[1], a->nb[2], a->nb[3], 0);
    const struct op_node nodes[] = {
        { .t = ggml_add1(ctx, a, one), .op = GGML_OP_ADD1, .ne = { 8, 3, 5, 2 }, .src = { a, one } },
        { .t = ggml_add1(ctx, slice, one), .op = GGML_OP_ADD1, .ne = { 4, 3, 5, 2 }, .src = { slice, one } },
        { .t = ggml_add1_inplace(ctx, a, one),
          .op = GGML_OP_ADD1,
          .ne = { 8, 3, 5, 2 },
          .src = { a, one },
          .base = a,
          .name = "a (view)" },
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_add1(ctx, a, op_leaf(ctx, "", 2, 1, 1, 1)), "src1 ne[0] must be 1, it is 2");
    OP_CHECK_REFUSED(ggml_add1(ctx, a, op_leaf(ctx, "", 1, 1, 1, 3)), "src1 ne[3] must be 1, it is 3");
    OP_CHECK_REFUSED(ggml_add1(ctx, gaps, one), "src0 must have contiguous rows at one distance");
    OP_CHECK_REFUSED(ggml_add1_inplace(ctx, ggml_transpose(ctx, a), one), "contiguous rows");
}

static void acc_nodes(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 8, 6, 2, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 4, 3, 1, 1);
    const struct op_node nodes[] = {
        { .t = ggml_acc(ctx, a, b, 32, 192, 384, 208),
          .op = GGML_OP_ACC,
          .ne = { 8, 6, 2, 1 },
          .params = { 32, 192, 384, 208, 0 },
          .src = { a, b } },
        { .t = ggml_acc_inplace(ctx, a, b, 32, 192, 384, 304),
          .op = GGML_OP_ACC,
          .ne = { 8, 6, 2, 1 },
          .params = { 32, 192, 384, 304, 1 },
          .src = { a, b },
          .base = a,
          .name = "a (view)" },
        // a stride that is never taken may be anything
        { .t = ggml_acc(ctx, a, b, 32, (size_t) 1 << 40, SIZE_MAX, 0),
          .op = GGML_OP_ACC,
          .ne = { 8, 6, 2, 1 },
          .params = { 32, INT32_MAX, INT32_MAX, 0, 0 },
          .src = { a, b } },
    };
    OP_CHECK_NODES(nodes);
}

static void acc_refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 8, 6, 2, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 4, 3, 1, 1);
    struct ggml_tensor * h = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 4, 3);
    OP_CHECK_REFUSED(ggml_acc(ctx, h, b, 8, 8, 8, 0), "src0 must be f32, it is f16");
    OP_CHECK_REFUSED(ggml_acc(ctx, a, h, 32, 192, 384, 0), "src1 must be f32, it is f16");
    OP_CHECK_REFUSED(ggml_acc(ctx, op_strided_tensor(ctx, GGML_TYPE_F32, 8, 6, 2, 1), b, 32, 192, 384, 0),
                     "src0 must be contiguous");
    OP_CHECK_REFUSED(ggml_acc(ctx, b, a, 16, 48, 48, 0),
                     "src1 has 96 elements, it must not have more than src0, 12");
    // the last byte of the region is 2*32 + 16 bytes behind its offset; a has 384
    OP_CHECK_REFUSED(ggml_acc(ctx, a, b, 32, 192, 384, 308),
                     "the region of 80 bytes at offset 308 must lie inside");
    OP_CHECK_REFUSED(ggml_acc_inplace(ctx, a, b, 192, 192, 384, 0), "the result of 384 bytes");
    OP_CHECK_REFUSED(ggml_acc(ctx, a, b, (size_t) 1 << 31, 0, 0, 0),
                     "nb1 of 2147483648 bytes must be below 2^31");
    OP_CHECK_REFUSED(ggml_acc(ctx, a, op_leaf(ctx, "", 4, 3, 2, 1), 32, SIZE_MAX, 0, 0), "nb2 of");
    OP_CHECK_REFUSED(ggml_acc(ctx, a, b, 32, 192, 384, (size_t) 1 << 32), "the offset of 4294967296 bytes");
    OP_CHECK_REFUSED(ggml_acc_inplace(ctx, a, NULL, 32, 192, 384, 0), "source 1 is NULL");
}

static void scale(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_3d(ctx, GGML_TYPE_BF16, 8, 3, 5), "a");
    struct ggml_tensor * gaps = ggml_view_3d(ctx, a, 8, 2, 5, a->nb[1], a->nb[2], 0);
    const struct op_node nodes[] = {
        { .t = ggml_scale(ctx, a, 1.5f),
          .op = GGML_OP_SCALE,
          .type = GGML_TYPE_BF16,
          .ne = { 8, 3, 5, 1 },
          .params = { op_f32(1.5f), 0 },
          .src = { a } },
        { .t = ggml_scale_bias(ctx, a, -2.0f, 0.25f),
          .op = GGML_OP_SCALE,
          .type = GGML_TYPE_BF16,
          .ne = { 8, 3, 5, 1 },
          .params = { op_f32(-2.0f), op_f32(0.25f) },
          .src = { a } },
        { .t = ggml_scale_inplace(ctx, a, 3.0f),
          .op = GGML_OP_SCALE,
          .type = GGML_TYPE_BF16,
          .ne = { 8, 3, 5, 1 },
          .params = { op_f32(3.0f), 0 },
          .src = { a },
          .base = a,
          .name = "a (view)" },
        { .t = ggml_scale_bias_inplace(ctx, a, 3.0f, 1.0f),
          .op = GGML_OP_SCALE,
          .type = GGML_TYPE_BF16,
          .ne = { 8, 3, 5, 1 },
          .params = { op_f32(3.0f), op_f32(1.0f) },
          .src = { a },
          .base = a,
          .name = "a (view)" },
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_scale(ctx, gaps, 1.0f), "src0 must have contiguous rows at one distance");
    OP_CHECK_REFUSED(ggml_scale_inplace(ctx, ggml_transpose(ctx, a), 1.0f),
                     "strides are [16, 2, 48, 240] bytes");
    OP_CHECK_REFUSED(ggml_scale_bias(ctx, NULL, 1.0f, 0.0f), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_scale_bias_inplace(ctx, gaps, 1.0f, 0.0f), "contiguous rows");
}

static void gradients_of_equal_shapes(void ** state) {
    struct ggml_context * ctx = *state;
    static const char * const wanted[TN_COUNT(binaries)][2] = {
        { "g", "g" },
        { "g", "NEG(g)" },
        { "MUL(g, b)", "MUL(a, g)" },
        { "DIV(g, b)", "NEG(MUL(g, DIV(y, b)))" },
    };
    for (size_t i = 0; i < TN_COUNT(binaries); i++) {
        struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
        struct ggml_tensor * b = op_param(ctx, "b", 4, 3, 1, 1);
        const struct op_grad d = op_backward(ctx, binaries[i].make(ctx, a, b));
        OP_GRAD(d, a, wanted[i][0]);
        OP_GRAD(d, b, wanted[i][1]);
    }
}

// The gradient of a repeated operand is summed over the repeats; a constant gets none.
static void gradients_of_repeats(void ** state) {
    struct ggml_context * ctx = *state;
    static const char * const wanted[TN_COUNT(binaries)] = { "REPEAT_BACK(g)", "NEG(REPEAT_BACK(g))",
                                                             "REPEAT_BACK(MUL(a, g))",
                                                             "NEG(REPEAT_BACK(MUL(g, DIV(y, b))))" };
    for (size_t i = 0; i < TN_COUNT(binaries); i++) {
        struct ggml_tensor * a = op_leaf(ctx, "a", 4, 3, 1, 1);
        struct ggml_tensor * b = op_param(ctx, "b", 4, 1, 1, 1);
        const struct op_grad d = op_backward(ctx, binaries[i].make(ctx, a, b));
        OP_GRAD(d, a, NULL);
        OP_GRAD(d, b, wanted[i]);
    }
}

static void other_gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
    struct ggml_tensor * one = op_param(ctx, "one", 1, 1, 1, 1);
    struct op_grad d = op_backward(ctx, ggml_add1(ctx, a, one));
    OP_GRAD(d, a, "g");
    OP_GRAD(d, one, "REPEAT_BACK(MEAN(g))"); // the mean over a row, not the sum

    d = op_backward(ctx, ggml_scale_bias(ctx, a, 3.0f, 1.0f));
    OP_GRAD(d, a, "SCALE(g)");
    assert_int_equal(ggml_graph_get_grad(d.graph, a)->op_params[0], op_f32(3.0f));
    assert_int_equal(ggml_graph_get_grad(d.graph, a)->op_params[1], 0); // the bias is gone

    struct ggml_tensor * b = op_param(ctx, "b", 2, 2, 1, 1);
    d = op_backward(ctx, ggml_acc(ctx, a, b, 16, 48, 48, 4));
    OP_GRAD(d, a, "g");
    OP_GRAD(d, b, "CONT(VIEW(g))");
    const struct ggml_tensor * view = ggml_graph_get_grad(d.graph, b)->src[0];
    assert_int_equal(view->nb[1], 16);
    assert_int_equal(view->view_offs, 4);

    struct ggml_tensor * ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 3, 1);
    d = op_backward(ctx, ggml_add_id(ctx, a, op_leaf(ctx, "rows", 4, 9, 1, 1), ids));
    OP_GRAD_REFUSED(d, "ADD_ID");
    d = op_backward(ctx, ggml_add_inplace(ctx, a, a));
    OP_GRAD_REFUSED(d, "in-place");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(binary_nodes),
        OP_CHECK_TEST(binary_refusals),
        OP_CHECK_TEST(add_cast),
        OP_CHECK_TEST(add_id),
        OP_CHECK_TEST(add1),
        OP_CHECK_TEST(acc_nodes),
        OP_CHECK_TEST(acc_refusals),
        OP_CHECK_TEST(scale),
        OP_CHECK_TEST(gradients_of_equal_shapes),
        OP_CHECK_TEST(gradients_of_repeats),
        OP_CHECK_TEST(other_gradients),
    };
    return cmocka_run_group_tests_name("arith", tests, NULL, NULL);
}
