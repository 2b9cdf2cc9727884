// SPDX-License-Identifier: MIT
// REPEAT and REPEAT_BACK: nodes, refusals, gradients.
#include "op/op_grad.h"

static void nodes_of_repeats(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_new_tensor_4d(ctx, GGML_TYPE_I16, 3, 1, 2, 1);
    struct ggml_tensor * like = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 6, 5, 2, 4);
    struct ggml_tensor * empty = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 0, 5, 2, 4);
    const struct op_node nodes[] = {
        { .t = ggml_repeat(ctx, a, like),
          .op = GGML_OP_REPEAT,
          .type = GGML_TYPE_I16,
          .ne = { 6, 5, 2, 4 },
          .src = { a } },
        { .t = ggml_repeat_4d(ctx, a, 9, 1, 4, 7),
          .op = GGML_OP_REPEAT,
          .type = GGML_TYPE_I16,
          .ne = { 9, 1, 4, 7 },
          .src = { a } },
        { .t = ggml_repeat(ctx, a, empty),
          .op = GGML_OP_REPEAT,
          .type = GGML_TYPE_I16,
          .ne = { 0, 5, 2, 4 },
          .src = { a } },
        { .t = ggml_repeat_back(ctx, like, a),
          .op = GGML_OP_REPEAT_BACK,
          .type = GGML_TYPE_F32,
          .ne = { 3, 1, 2, 1 },
          .src = { like } },
    };
    OP_CHECK_NODES(nodes);
}

static void refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 3, 1, 2, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 6, 5, 3, 4);
    OP_CHECK_REFUSED(ggml_repeat(ctx, a, b), "every size of [3, 1, 2, 1] must divide that of [6, 5, 3, 4]");
    OP_CHECK_REFUSED(ggml_repeat_4d(ctx, a, 3, 1, 3, 1),
                     "every size of [3, 1, 2, 1] must divide that of [3, 1, 3, 1]");
    OP_CHECK_REFUSED(ggml_repeat_4d(ctx, a, 3, -1, 2, 1), "ne[1] is negative");
    OP_CHECK_REFUSED(ggml_repeat_4d(ctx, a, 3, INT64_MAX / 2, 2, 4), "2^63");
    OP_CHECK_REFUSED(ggml_repeat_back(ctx, b, a),
                     "every size of [3, 1, 2, 1] must divide that of [6, 5, 3, 4]");
    OP_CHECK_REFUSED(ggml_repeat(ctx, op_leaf(ctx, "", 0, 1, 1, 1), a), "every size of [0, 1, 1, 1]");
    OP_CHECK_REFUSED(ggml_repeat(ctx, a, NULL), "is NULL");
    OP_CHECK_REFUSED(ggml_repeat_back(ctx, a, NULL), "is NULL");
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 3, 1, 2, 1);
    struct ggml_tensor * b = op_param(ctx, "b", 6, 5, 2, 1);
    struct op_grad d = op_backward(ctx, ggml_repeat(ctx, a, b));
    OP_GRAD(d, a, "REPEAT_BACK(g)");
    d = op_backward(ctx, ggml_repeat_back(ctx, b, a));
    OP_GRAD(d, b, "REPEAT(g)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(nodes_of_repeats),
        OP_CHECK_TEST(refusals),
        OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("repeat", tests, NULL, NULL);
}
