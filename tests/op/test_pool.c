// SPDX-License-Identifier: MIT
// core/ops/pool.c: POOL_1D, POOL_2D, POOL_2D_BACK.
#include "op/op_grad.h"

#include <math.h>

static void one_dimension(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 28, 4, 2, 3);
    struct ggml_tensor * half = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 11, 5);
    const enum ggml_op_pool max = GGML_OP_POOL_MAX;
    const struct op_node nodes[] = {
        OP_NODE(ggml_pool_1d(ctx, a, max, 2, 2, 0), GGML_OP_POOL_1D, GGML_TYPE_F32, .ne = { 14, 4, 2, 3 },
                .params = { 0, 2, 2, 0 }, .src = { a }),
        OP_NODE(ggml_pool_1d(ctx, half, GGML_OP_POOL_AVG, 4, 3, 2), GGML_OP_POOL_1D, GGML_TYPE_F32,
                .ne = { 4, 5, 1, 1 }, .params = { 1, 4, 3, 2 }, .src = { half }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_pool_1d(ctx, a, (enum ggml_op_pool) 2, 2, 2, 0),
                     "kind of pooling must be 0 or 1, it is 2");
    OP_CHECK_REFUSED(ggml_pool_1d(ctx, a, max, 0, 1, 0), "kernel must not be empty");
    OP_CHECK_REFUSED(ggml_pool_1d(ctx, a, max, -3, 1, 0), "kernel must not be empty");
    OP_CHECK_REFUSED(ggml_pool_1d(ctx, a, max, 2, 0, 0), "stride of dimension 0");
    OP_CHECK_REFUSED(ggml_pool_1d(ctx, a, max, 2, 1, -1), "padding of dimension 0");
    OP_CHECK_REFUSED(ggml_pool_1d(ctx, a, max, 29, 2, 0), "output of dimension 0 must be positive");
}

static void two_dimensions(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 17, 8, 4, 2);
    const struct op_node nodes[] = {
        OP_NODE(ggml_pool_2d(ctx, a, GGML_OP_POOL_MAX, 2, 3, 3, 2, 1, 0), GGML_OP_POOL_2D, GGML_TYPE_F32,
                .ne = { 6, 3, 4, 2 }, .params = { 0, 2, 3, 3, 2, 1, 0 }, .src = { a }),
        // a padding of a half makes room for one more window in dimension 0, and is kept as 0
        OP_NODE(ggml_pool_2d(ctx, a, GGML_OP_POOL_AVG, 2, 3, 2, 2, 0.5f, 1.5f), GGML_OP_POOL_2D,
                GGML_TYPE_F32, .ne = { 9, 5, 4, 2 }, .params = { 1, 2, 3, 2, 2, 0, 1 }, .src = { a }),
    };
    OP_CHECK_NODES(nodes);
}

static void two_dimensions_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 17, 8, 4, 2);
    const enum ggml_op_pool avg = GGML_OP_POOL_AVG;
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, a, (enum ggml_op_pool) - 1, 2, 2, 2, 2, 0, 0), "kind of pooling");
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, a, avg, 0, 2, 2, 2, 0, 0),
                     "kernel and stride of dimension 0 must be above 0");
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, a, avg, 2, 2, 2, 0, 0, 0),
                     "kernel and stride of dimension 1 must be above 0");
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, a, avg, 2, 2, 2, 2, -0.5f, 0),
                     "padding of dimension 0 must not be negative");
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, a, avg, 2, 2, 2, 2, 0, NAN),
                     "padding of dimension 1 must not be negative");
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, a, avg, 2, 2, 2, 2, 0, INFINITY), "fit in 32 bits, it is inf");
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, a, avg, 18, 2, 2, 2, 0, 0),
                     "output of dimension 0 must be positive: a window of 18");
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, a, avg, 2, INT32_MAX, 2, 2, 0, 0),
                     "output of dimension 1 must be positive");
    OP_CHECK_REFUSED(ggml_pool_2d(ctx, NULL, avg, 2, 2, 2, 2, 0, 0), "source 0 is NULL");
}

static void backwards(void ** state) {
    struct ggml_context * ctx = *state;
    const enum ggml_op_pool max = GGML_OP_POOL_MAX;
    struct ggml_tensor * a = op_f32_tensor(ctx, 17, 8, 4, 2);
    struct ggml_tensor * g = op_f32_tensor(ctx, 6, 3, 4, 2);
    const struct op_node node =
        OP_NODE(ggml_pool_2d_back(ctx, g, a, max, 2, 3, 3, 2, 1, 0), GGML_OP_POOL_2D_BACK, GGML_TYPE_F32,
                .ne = { 17, 8, 4, 2 }, .params = { 0, 2, 3, 3, 2, 1, 0 }, .src = { g, a });
    op_check_node(&node);
    struct ggml_tensor * channels = op_f32_tensor(ctx, 6, 3, 3, 2);
    struct ggml_tensor * wide = op_f32_tensor(ctx, 8, 3, 4, 2);
    OP_CHECK_REFUSED(ggml_pool_2d_back(ctx, channels, a, max, 2, 3, 3, 2, 1, 0),
                     "src0 must be [any, any, 4, 2]");
    OP_CHECK_REFUSED(ggml_pool_2d_back(ctx, wide, a, max, 2, 3, 3, 2, 1, 0),
                     "dimension 0 has 6 windows, not 8");
    OP_CHECK_REFUSED(ggml_pool_2d_back(ctx, g, a, (enum ggml_op_pool) 7, 2, 3, 3, 2, 1, 0),
                     "kind of pooling");
    OP_CHECK_REFUSED(ggml_pool_2d_back(ctx, g, a, max, 2, 3, 0, 2, 1, 0), "kernel and stride of dimension 0");
}

static void the_gradient(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 17, 8, 4, 2);
    const struct op_grad d = op_backward(ctx, ggml_pool_2d(ctx, a, GGML_OP_POOL_AVG, 2, 3, 2, 2, 0.5f, 1.5f));
    OP_GRAD(d, a, "POOL_2D_BACK(g, a)");
    const int32_t words[] = { 1, 2, 3, 2, 2, 0, 1 };
    assert_memory_equal(ggml_graph_get_grad(d.graph, a)->op_params, words, sizeof(words));
    struct ggml_tensor * row = ggml_pool_1d(ctx, a, GGML_OP_POOL_MAX, 2, 2, 0);
    OP_GRAD_REFUSED(op_backward(ctx, row), "POOL_1D");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(one_dimension), OP_CHECK_TEST(two_dimensions), OP_CHECK_TEST(two_dimensions_refused),
        OP_CHECK_TEST(backwards),     OP_CHECK_TEST(the_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
