// SPDX-License-Identifier: MIT
// SQR SQRT LOG SIN COS LEAKY_RELU, the functions of UNARY and SILU_BACK: nodes, refusals, gradients.
#include "op/op_grad.h"

typedef struct ggml_tensor * (*map_t)(struct ggml_context *, struct ggml_tensor *);

static const struct {
    map_t make, make_inplace;
    enum ggml_op op;
    const char * gradient;
} maps[] = {
    { ggml_sqr, ggml_sqr_inplace, GGML_OP_SQR, "SCALE(MUL(a, g))" },
    { ggml_sqrt, ggml_sqrt_inplace, GGML_OP_SQRT, "SCALE(DIV(g, y))" },
    { ggml_log, ggml_log_inplace, GGML_OP_LOG, "DIV(g, a)" },
    { ggml_sin, ggml_sin_inplace, GGML_OP_SIN, "MUL(g, COS(a))" },
    { ggml_cos, ggml_cos_inplace, GGML_OP_COS, "NEG(MUL(g, SIN(a)))" },
};

static const struct {
    map_t make, make_inplace; // NULL: none
    enum ggml_unary_op op;
    const char * name;
    const char * gradient; // NULL: refused
} functions[] = {
    { ggml_abs, ggml_abs_inplace, GGML_UNARY_OP_ABS, "ABS", "MUL(SGN(a), g)" },
    { ggml_sgn, ggml_sgn_inplace, GGML_UNARY_OP_SGN, "SGN", "" },
    { ggml_neg, ggml_neg_inplace, GGML_UNARY_OP_NEG, "NEG", "NEG(g)" },
    { ggml_step, ggml_step_inplace, GGML_UNARY_OP_STEP, "STEP", "" },
    { ggml_tanh, ggml_tanh_inplace, GGML_UNARY_OP_TANH, "TANH", NULL },
    { ggml_elu, ggml_elu_inplace, GGML_UNARY_OP_ELU, "ELU", NULL },
    { ggml_relu, ggml_relu_inplace, GGML_UNARY_OP_RELU, "RELU", "MUL(STEP(a), g)" },
    { ggml_sigmoid, ggml_sigmoid_inplace, GGML_UNARY_OP_SIGMOID, "SIGMOID", NULL },
    { ggml_gelu, ggml_gelu_inplace, GGML_UNARY_OP_GELU, "GELU", NULL },
    { ggml_gelu_quick, ggml_gelu_quick_inplace, GGML_UNARY_OP_GELU_QUICK, "GELU_QUICK", NULL },
    { ggml_silu, ggml_silu_inplace, GGML_UNARY_OP_SILU, "SILU", "SILU_BACK(g, a)" },
    { ggml_hardswish, NULL, GGML_UNARY_OP_HARDSWISH, "HARDSWISH", NULL },
    { ggml_hardsigmoid, NULL, GGML_UNARY_OP_HARDSIGMOID, "HARDSIGMOID", NULL },
    { ggml_exp, ggml_exp_inplace, GGML_UNARY_OP_EXP, "EXP", "MUL(y, g)" },
    { ggml_expm1, ggml_expm1_inplace, GGML_UNARY_OP_EXPM1, "EXPM1", "MUL(EXP(a), g)" },
    { ggml_softplus, ggml_softplus_inplace, GGML_UNARY_OP_SOFTPLUS, "SOFTPLUS", "MUL(SIGMOID(a), g)" },
    { ggml_gelu_erf, ggml_gelu_erf_inplace, GGML_UNARY_OP_GELU_ERF, "GELU_ERF", NULL },
    { ggml_floor, ggml_floor_inplace, GGML_UNARY_OP_FLOOR, "FLOOR", NULL },
    { ggml_ceil, ggml_ceil_inplace, GGML_UNARY_OP_CEIL, "CEIL", NULL },
    { ggml_round, ggml_round_inplace, GGML_UNARY_OP_ROUND, "ROUND", NULL },
    { ggml_trunc, ggml_trunc_inplace, GGML_UNARY_OP_TRUNC, "TRUNC", NULL },
};

static void map_nodes(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(op_strided_tensor(ctx, GGML_TYPE_F16, 5, 3, 2, 4), "a");
    for (size_t i = 0; i < TN_COUNT(maps); i++) {
        const struct op_node nodes[] = {
            { .t = maps[i].make(ctx, a),
              .op = maps[i].op,
              .type = GGML_TYPE_F16,
              .ne = { 5, 3, 2, 4 },
              .src = { a } },
            { .t = maps[i].make_inplace(ctx, a),
              .op = maps[i].op,
              .type = GGML_TYPE_F16,
              .ne = { 5, 3, 2, 4 },
              .src = { a },
              .base = a,
              .name = "a (view)" },
        };
        OP_CHECK_NODES(nodes);
        op_check_refused(maps[i].make(ctx, NULL), "ggml_", "source 0 is NULL", __LINE__);
        op_check_refused(maps[i].make_inplace(NULL, a), "_inplace", "the context is NULL", __LINE__);
    }
}

static void map_gradients(void ** state) {
    struct ggml_context * ctx = *state;
    for (size_t i = 0; i < TN_COUNT(maps); i++) {
        struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
        const struct op_grad d = op_backward(ctx, maps[i].make(ctx, a));
        OP_GRAD(d, a, maps[i].gradient);
        if (maps[i].op == GGML_OP_SQR)
            assert_int_equal(ggml_graph_get_grad(d.graph, a)->op_params[0], op_f32(2.0f));
        if (maps[i].op == GGML_OP_SQRT)
            assert_int_equal(ggml_graph_get_grad(d.graph, a)->op_params[0], op_f32(0.5f));
    }
}

static void unary_nodes(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_4d(ctx, GGML_TYPE_BF16, 5, 3, 2, 4), "a");
    for (size_t i = 0; i < TN_COUNT(functions); i++) {
        const int32_t op = (int32_t) functions[i].op;
        const struct op_node nodes[] = {
            { .t = functions[i].make(ctx, a),
              .op = GGML_OP_UNARY,
              .type = GGML_TYPE_BF16,
              .ne = { 5, 3, 2, 4 },
              .params = { op },
              .src = { a } },
            { .t = ggml_unary(ctx, a, functions[i].op),
              .op = GGML_OP_UNARY,
              .type = GGML_TYPE_BF16,
              .ne = { 5, 3, 2, 4 },
              .params = { op },
              .src = { a } },
            { .t = ggml_unary_inplace(ctx, a, functions[i].op),
              .op = GGML_OP_UNARY,
              .type = GGML_TYPE_BF16,
              .ne = { 5, 3, 2, 4 },
              .params = { op },
              .src = { a },
              .base = a,
              .name = "a (view)" },
            { .t = (functions[i].make_inplace ? functions[i].make_inplace(ctx, a)
                                              : ggml_unary_inplace(ctx, a, functions[i].op)),
              .op = GGML_OP_UNARY,
              .type = GGML_TYPE_BF16,
              .ne = { 5, 3, 2, 4 },
              .params = { op },
              .src = { a },
              .base = a,
              .name = "a (view)" },
        };
        OP_CHECK_NODES(nodes);
        assert_string_equal(ggml_unary_op_name(functions[i].op), functions[i].name);
        assert_string_equal(ggml_op_desc(nodes[0].t), functions[i].name);
        assert_int_equal(ggml_get_unary_op(nodes[3].t), functions[i].op);
    }
}

static void unary_refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 5, 3, 2, 4);
    struct ggml_tensor * rows = ggml_permute(ctx, a, 0, 2, 3, 1); // rows contiguous, in another order
    struct ggml_tensor * t = op_strided_tensor(ctx, GGML_TYPE_F32, 5, 3, 2, 4);
    for (size_t i = 0; i < TN_COUNT(functions); i++) {
        char name[64];
        snprintf(name, sizeof(name), "ggml_%s", functions[i].name);
        for (char * c = name + 5; *c; c++)
            *c = (char) (*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
        op_check_refused(functions[i].make(ctx, t), name, "src0 must have contiguous rows", __LINE__);
        assert_false(tn_tensor_is_poisoned(functions[i].make(ctx, rows)));
    }
    OP_CHECK_REFUSED(ggml_unary(ctx, a, GGML_UNARY_OP_COUNT), "function 22 is unknown");
    OP_CHECK_REFUSED(ggml_unary_inplace(ctx, a, (enum ggml_unary_op) - 1), "is unknown");
    OP_CHECK_REFUSED(ggml_unary_inplace(ctx, t, GGML_UNARY_OP_ABS), "src0 must have contiguous rows");
    OP_CHECK_REFUSED(ggml_xielu(ctx, t, 0, 0, 0, 0), "src0 must have contiguous rows");
}

// softplus(0) = ln 2, softplus(1) = 1.3132617; above 20 it is the argument.
static void xielu(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 5, 3, 2, 4);
    const struct ggml_tensor * t = ggml_xielu(ctx, a, 0.0f, 1.0f, 0.5f, -1e-6f);
    assert_int_equal(t->op, GGML_OP_UNARY);
    assert_int_equal(t->op_params[0], GGML_UNARY_OP_XIELU);
    float p[4];
    memcpy(p, t->op_params + 1, sizeof(p));
    assert_float_equal(p[0], 0.5f + 0.6931472f, 1e-6f);
    assert_float_equal(p[1], 1.3132617f, 1e-6f);
    assert_float_equal(p[2], 0.5f, 0);
    assert_float_equal(p[3], -1e-6f, 0);
    assert_string_equal(ggml_op_desc(t), "XIELU");
    memcpy(p, ggml_xielu(ctx, a, 21.0f, 90.0f, 0.0f, 0.0f)->op_params + 1, sizeof(p));
    assert_float_equal(p[0], 21.0f, 0);
    assert_float_equal(p[1], 90.0f, 0);
}

static void unary_gradients(void ** state) {
    struct ggml_context * ctx = *state;
    for (size_t i = 0; i < TN_COUNT(functions); i++) {
        struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
        const char * want = functions[i].gradient;
        const struct op_grad d = op_backward(ctx, functions[i].make(ctx, a));
        if (!want) {
            OP_GRAD_REFUSED(d, "has no gradient");
            assert_contains(d.error, functions[i].name);
        } else {
            OP_GRAD(d, a, want[0] ? want : NULL);
        }
    }
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_xielu(ctx, a, 0, 0, 0, 0)), "XIELU has no gradient");
}

static void silu_back(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * g = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 4, 3);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 4, 3);
    const struct op_node node = { .t = ggml_silu_back(ctx, g, x),
                                  .op = GGML_OP_SILU_BACK,
                                  .type = GGML_TYPE_F16,
                                  .ne = { 4, 3, 1, 1 },
                                  .src = { g, x } };
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_silu_back(ctx, g, op_leaf(ctx, "", 4, 1, 1, 1)),
                     "src0 must have the shape of src1");
}

static void leaky_relu(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_leaky_relu(ctx, a, 0.1f, false), GGML_OP_LEAKY_RELU, GGML_TYPE_F32, .ne = { 4, 3, 1, 1 },
                .params = { op_f32(0.1f) }, .src = { a }),
        OP_NODE(ggml_leaky_relu(ctx, a, 0.1f, true), GGML_OP_LEAKY_RELU, GGML_TYPE_F32, .ne = { 4, 3, 1, 1 },
                .params = { op_f32(0.1f) }, .src = { a }, .base = a, .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_leaky_relu(ctx, NULL, 0.1f, true), "source 0 is NULL");
    OP_GRAD_REFUSED(op_backward(ctx, nodes[0].t), "LEAKY_RELU");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(map_nodes),      OP_CHECK_TEST(map_gradients), OP_CHECK_TEST(unary_nodes),
        OP_CHECK_TEST(unary_refusals), OP_CHECK_TEST(xielu),         OP_CHECK_TEST(unary_gradients),
        OP_CHECK_TEST(silu_back),      OP_CHECK_TEST(leaky_relu),
    };
    return cmocka_run_group_tests_name("unary", tests, NULL, NULL);
}
