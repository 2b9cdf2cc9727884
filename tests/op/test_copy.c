// SPDX-License-Identifier: MIT
// DUP CPY CONT SET: nodes and names, refusals, gradients.
#include "op/op_grad.h"

static void dup(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(op_strided_tensor(ctx, GGML_TYPE_F16, 5, 3, 2, 1), "a");
    const struct op_node nodes[] = {
        OP_NODE(ggml_dup(ctx, a), GGML_OP_DUP, GGML_TYPE_F16, .ne = { 5, 3, 2, 1 }, .src = { a }),
        OP_NODE(ggml_dup_inplace(ctx, a), GGML_OP_DUP, GGML_TYPE_F16, .ne = { 5, 3, 2, 1 }, .src = { a },
                .base = a, .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_dup(ctx, NULL), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_dup_inplace(NULL, a), "the context is NULL");
}

static void cpy(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 32, 3, 2, 1);
    struct ggml_tensor * b = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_Q8_0, 192), "b");
    struct ggml_tensor * unnamed = op_strided_tensor(ctx, GGML_TYPE_F16, 6, 32, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_cpy(ctx, a, b), GGML_OP_CPY, GGML_TYPE_Q8_0, .ne = { 192, 1, 1, 1 }, .src = { a, b },
                .base = b, .name = "b (copy of a)"),
        OP_NODE(ggml_cpy(ctx, a, unnamed), GGML_OP_CPY, GGML_TYPE_F16, .ne = { 6, 32, 1, 1 },
                .src = { a, unnamed }, .base = unnamed, .name = "a (copy)"),
    };
    OP_CHECK_NODES(nodes);

    // into a view of a cache: the base and the total offset
    struct ggml_tensor * cache = op_leaf(ctx, "cache", 512, 1, 1, 1);
    struct ggml_tensor * slot = ggml_view_1d(ctx, cache, 192, 128);
    const struct ggml_tensor * t = ggml_cpy(ctx, a, slot);
    assert_ptr_equal(t->view_src, cache);
    assert_int_equal(t->view_offs, 128);
    assert_ptr_equal(t->src[1], slot);
    assert_string_equal(t->name, "cache (view) (copy of a)");

    OP_CHECK_REFUSED(ggml_cpy(ctx, a, op_leaf(ctx, "", 191, 1, 1, 1)),
                     "must have the same number of elements: 192 and 191");
    OP_CHECK_REFUSED(ggml_cpy(ctx, a, NULL), "source 1 is NULL");
    OP_CHECK_REFUSED(ggml_cpy(ctx, NULL, b), "source 0 is NULL");
}

static void long_names_are_cut(void ** state) {
    struct ggml_context * ctx = *state;
    char name[GGML_MAX_NAME];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct ggml_tensor * a = op_leaf(ctx, name, 4, 1, 1, 1);
    const struct ggml_tensor * t = ggml_cpy(ctx, a, a);
    assert_string_equal(t->name, name);
    ggml_set_name(a, name + 2);
    name[sizeof(name) - 3] = ' ';
    name[sizeof(name) - 2] = '(';
    assert_string_equal(ggml_cont(ctx, a)->name, name);
}

// The second source of a cast is the cast itself.
static void cast(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(op_strided_tensor(ctx, GGML_TYPE_F32, 32, 3, 2, 1), "a");
    struct ggml_tensor * t = ggml_cast(ctx, a, GGML_TYPE_Q4_0);
    const struct op_node node =
        OP_NODE(t, GGML_OP_CPY, GGML_TYPE_Q4_0, .ne = { 32, 3, 2, 1 }, .src = { a, t }, .name = "a (copy)");
    op_check_node(&node);
    struct ggml_cgraph * g = ggml_new_graph(ctx);
    ggml_build_forward_expand(g, t);
    assert_int_equal(ggml_graph_n_nodes(g), 1);
    assert_true(tn_graph_check(g));
    OP_CHECK_REFUSED(ggml_cast(ctx, op_leaf(ctx, "", 33, 2, 1, 1), GGML_TYPE_Q4_0), "33");
    OP_CHECK_REFUSED(ggml_cast(ctx, a, GGML_TYPE_COUNT), "43");
    OP_CHECK_REFUSED(ggml_cast(ctx, NULL, GGML_TYPE_F16), "source 0 is NULL");
}

static void cont(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(op_strided_tensor(ctx, GGML_TYPE_BF16, 6, 4, 2, 3), "a");
    const struct op_node nodes[] = {
        OP_NODE(ggml_cont(ctx, a), GGML_OP_CONT, GGML_TYPE_BF16, .ne = { 6, 4, 2, 3 }, .src = { a },
                .name = "a (cont)"),
        OP_NODE(ggml_cont_1d(ctx, a, 144), GGML_OP_CONT, GGML_TYPE_BF16, .ne = { 144, 1, 1, 1 }, .src = { a },
                .name = "a (cont)"),
        OP_NODE(ggml_cont_2d(ctx, a, 72, 2), GGML_OP_CONT, GGML_TYPE_BF16, .ne = { 72, 2, 1, 1 },
                .src = { a }, .name = "a (cont)"),
        OP_NODE(ggml_cont_3d(ctx, a, 4, 6, 6), GGML_OP_CONT, GGML_TYPE_BF16, .ne = { 4, 6, 6, 1 },
                .src = { a }, .name = "a (cont)"),
        OP_NODE(ggml_cont_4d(ctx, a, 3, 2, 4, 6), GGML_OP_CONT, GGML_TYPE_BF16, .ne = { 3, 2, 4, 6 },
                .src = { a }, .name = "a (cont)"),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_cont_1d(ctx, a, 143), "the same number of elements: 144 and 143");
    OP_CHECK_REFUSED(ggml_cont_2d(ctx, a, 72, 3), "the same number of elements: 144 and 216");
    OP_CHECK_REFUSED(ggml_cont_3d(ctx, a, -12, -12, 1), "ne[0] is negative");
    OP_CHECK_REFUSED(ggml_cont_4d(ctx, a, INT64_MAX, INT64_MAX, 2, 2), "2^63 or more");
    OP_CHECK_REFUSED(ggml_cont(ctx, NULL), "source 0 is NULL");
}

static void set_nodes(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 8, 6, 2, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 4, 1, 1, 1);
    struct ggml_tensor * c = op_leaf(ctx, "c", 4, 2, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_set(ctx, a, c, 64, 192, 384, 16), GGML_OP_SET, GGML_TYPE_F32, .ne = { 8, 6, 2, 1 },
                .params = { 64, 192, 384, 16, 0 }, .src = { a, c }),
        OP_NODE(ggml_set_inplace(ctx, a, c, 64, 192, 384, 16), GGML_OP_SET, GGML_TYPE_F32,
                .ne = { 8, 6, 2, 1 }, .params = { 64, 192, 384, 16, 1 }, .src = { a, c }, .base = a,
                .name = "a (view)"),
        OP_NODE(ggml_set_1d(ctx, a, b, 368), GGML_OP_SET, GGML_TYPE_F32, .ne = { 8, 6, 2, 1 },
                .params = { 32, 192, 384, 368, 0 }, .src = { a, b }),
        OP_NODE(ggml_set_1d_inplace(ctx, a, b, 0), GGML_OP_SET, GGML_TYPE_F32, .ne = { 8, 6, 2, 1 },
                .params = { 32, 192, 384, 0, 1 }, .src = { a, b }, .base = a, .name = "a (view)"),
        OP_NODE(ggml_set_2d(ctx, a, c, 96, 4), GGML_OP_SET, GGML_TYPE_F32, .ne = { 8, 6, 2, 1 },
                .params = { 96, 192, 384, 4, 0 }, .src = { a, c }),
        OP_NODE(ggml_set_2d_inplace(ctx, a, c, 96, 4), GGML_OP_SET, GGML_TYPE_F32, .ne = { 8, 6, 2, 1 },
                .params = { 96, 192, 384, 4, 1 }, .src = { a, c }, .base = a, .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
    // a is larger than 2^31 bytes, but b has one row: only the offset counts
    struct ggml_tensor * large = op_leaf(ctx, "large", 1 << 20, 1 << 12, 1, 1);
    const struct ggml_tensor * t = ggml_set_1d(ctx, large, b, 1 << 29);
    assert_false(tn_tensor_is_poisoned(t));
    assert_int_equal(t->op_params[0], 1 << 22);
    assert_int_equal(t->op_params[1], INT32_MAX);
    assert_int_equal(t->op_params[3], 1 << 29);
}

static void set_refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 8, 6, 2, 1);
    struct ggml_tensor * c = op_leaf(ctx, "c", 4, 2, 1, 1);
    struct ggml_tensor * large = op_leaf(ctx, "large", 1 << 20, 1 << 12, 1, 1);
    OP_CHECK_REFUSED(ggml_set_1d(ctx, c, a, 0), "src1 has 96 elements, it must not have more than src0, 8");
    OP_CHECK_REFUSED(ggml_set_1d(ctx, large, c, 1 << 30),
                     "the offset of 1073741824 bytes must be below 2^30");
    OP_CHECK_REFUSED(ggml_set_1d_inplace(ctx, large, c, (size_t) 1 << 31),
                     "the offset of 2147483648 bytes must be below 2^31");
    OP_CHECK_REFUSED(ggml_set_2d(ctx, a, c, 64, 308),
                     "the region of 80 bytes at offset 308 must lie inside the result of 384");
    OP_CHECK_REFUSED(ggml_set_2d_inplace(ctx, a, c, SIZE_MAX, 0), "nb1 of");
    OP_CHECK_REFUSED(ggml_set(ctx, a, NULL, 0, 0, 0, 0), "source 1 is NULL");
    OP_CHECK_REFUSED(ggml_set_1d(ctx, NULL, c, 0), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_set_inplace(NULL, a, c, 0, 0, 0, 0), "the context is NULL");
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 2, 1);
    struct op_grad d = op_backward(ctx, ggml_dup(ctx, a));
    OP_GRAD(d, a, "g");
    d = op_backward(ctx, ggml_cont(ctx, a));
    OP_GRAD(d, a, "g");
    d = op_backward(ctx, ggml_cont_2d(ctx, a, 8, 3));
    OP_GRAD(d, a, "RESHAPE(g)");
    struct ggml_tensor * b = op_param(ctx, "b", 24, 1, 1, 1);
    d = op_backward(ctx, ggml_cpy(ctx, a, b));
    OP_GRAD(d, a, "RESHAPE(g)");
    OP_GRAD(d, b, NULL);
    struct ggml_tensor * h = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 4, 3);
    ggml_set_param(h);
    d = op_backward(ctx, ggml_cast(ctx, h, GGML_TYPE_F32));
    OP_GRAD(d, h, "g");

    struct ggml_tensor * c = op_param(ctx, "c", 2, 2, 1, 1);
    d = op_backward(ctx, ggml_set(ctx, a, c, 16, 48, 96, 52));
    OP_GRAD(d, a, "ACC(g, NEG(CONT(VIEW(g))))");
    OP_GRAD(d, c, "CONT(VIEW(g))");
    const int32_t region[] = { 16, 48, 96, 52, 0 };
    assert_memory_equal(ggml_graph_get_grad(d.graph, a)->op_params, region, sizeof(region));
    assert_int_equal(ggml_graph_get_grad(d.graph, c)->src[0]->view_offs, 52);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(dup),          OP_CHECK_TEST(cpy),       OP_CHECK_TEST(long_names_are_cut),
        OP_CHECK_TEST(cast),         OP_CHECK_TEST(cont),      OP_CHECK_TEST(set_nodes),
        OP_CHECK_TEST(set_refusals), OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
