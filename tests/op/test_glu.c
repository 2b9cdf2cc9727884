// SPDX-License-Identifier: MIT
// GLU: nodes of all gated units, refusals, gradients.
#include "op/op_grad.h"

#include <math.h>

static const struct {
    struct ggml_tensor * (*make)(struct ggml_context *, struct ggml_tensor *);
    struct ggml_tensor * (*make_swapped)(struct ggml_context *, struct ggml_tensor *);
    struct ggml_tensor * (*make_split)(struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *);
    enum ggml_glu_op op;
    const char * name;
} units[] = {
    { ggml_reglu, ggml_reglu_swapped, ggml_reglu_split, GGML_GLU_OP_REGLU, "REGLU" },
    { ggml_geglu, ggml_geglu_swapped, ggml_geglu_split, GGML_GLU_OP_GEGLU, "GEGLU" },
    { ggml_swiglu, ggml_swiglu_swapped, ggml_swiglu_split, GGML_GLU_OP_SWIGLU, "SWIGLU" },
    { ggml_geglu_erf, ggml_geglu_erf_swapped, ggml_geglu_erf_split, GGML_GLU_OP_GEGLU_ERF, "GEGLU_ERF" },
    { ggml_geglu_quick, ggml_geglu_quick_swapped, ggml_geglu_quick_split, GGML_GLU_OP_GEGLU_QUICK,
      "GEGLU_QUICK" },
};

static void nodes_of_all_units(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 6, 3, 2, 4);
    struct ggml_tensor * b = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 6, 3, 2, 4);
    for (size_t i = 0; i < TN_COUNT(units); i++) {
        const int32_t op = (int32_t) units[i].op;
        const struct op_node nodes[] = {
            { .t = units[i].make(ctx, a),
              .op = GGML_OP_GLU,
              .type = GGML_TYPE_F16,
              .ne = { 3, 3, 2, 4 },
              .params = { op, 0 },
              .src = { a } },
            { .t = units[i].make_swapped(ctx, a),
              .op = GGML_OP_GLU,
              .type = GGML_TYPE_F16,
              .ne = { 3, 3, 2, 4 },
              .params = { op, 1 },
              .src = { a } },
            { .t = units[i].make_split(ctx, a, b),
              .op = GGML_OP_GLU,
              .type = GGML_TYPE_F16,
              .ne = { 6, 3, 2, 4 },
              .params = { op, 0 },
              .src = { a, b } },
            { .t = ggml_glu(ctx, a, units[i].op, true),
              .op = GGML_OP_GLU,
              .type = GGML_TYPE_F16,
              .ne = { 3, 3, 2, 4 },
              .params = { op, 1 },
              .src = { a } },
            { .t = ggml_glu_split(ctx, a, b, units[i].op),
              .op = GGML_OP_GLU,
              .type = GGML_TYPE_F16,
              .ne = { 6, 3, 2, 4 },
              .params = { op, 0 },
              .src = { a, b } },
        };
        OP_CHECK_NODES(nodes);
        assert_string_equal(ggml_glu_op_name(units[i].op), units[i].name);
        assert_string_equal(ggml_op_desc(nodes[1].t), units[i].name);
        assert_int_equal(ggml_get_glu_op(nodes[2].t), units[i].op);
        op_check_refused(units[i].make_split(ctx, a, NULL), "_split", "source 1 is NULL", __LINE__);
        op_check_refused(units[i].make(ctx, NULL), "ggml_", "source 0 is NULL", __LINE__);
    }
}

static void units_with_parameters(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 6, 3, 1, 1);
    struct ggml_tensor * b = op_leaf(ctx, "b", 6, 3, 1, 1);
    const struct op_node nodes[] = {
        { .t = ggml_swiglu_oai(ctx, a, b, 1.702f, 7.0f),
          .op = GGML_OP_GLU,
          .ne = { 6, 3, 1, 1 },
          .params = { GGML_GLU_OP_SWIGLU_OAI, 0, op_f32(1.702f), op_f32(7.0f) },
          .src = { a, b } },
        { .t = ggml_swiglu_oai(ctx, a, NULL, 1.0f, 2.0f),
          .op = GGML_OP_GLU,
          .ne = { 3, 3, 1, 1 },
          .params = { GGML_GLU_OP_SWIGLU_OAI, 0, op_f32(1.0f), op_f32(2.0f) },
          .src = { a } },
        { .t = ggml_swiglu_clamp(ctx, a, b, 10.0f),
          .op = GGML_OP_GLU,
          .ne = { 6, 3, 1, 1 },
          .params = { GGML_GLU_OP_SWIGLU_CLAMP, 0, 0, op_f32(10.0f) },
          .src = { a, b } },
        { .t = ggml_swiglu_clamp(ctx, a, NULL, 0.0f),
          .op = GGML_OP_GLU,
          .ne = { 3, 3, 1, 1 },
          .params = { GGML_GLU_OP_SWIGLU_CLAMP },
          .src = { a } },
        { .t = ggml_glu_split(ctx, a, b, GGML_GLU_OP_SWIGLU_CLAMP),
          .op = GGML_OP_GLU,
          .ne = { 6, 3, 1, 1 },
          .params = { GGML_GLU_OP_SWIGLU_CLAMP },
          .src = { a, b } },
    };
    OP_CHECK_NODES(nodes);
    assert_string_equal(ggml_op_desc(nodes[0].t), "SWIGLU_OAI");
    assert_string_equal(ggml_op_desc(nodes[2].t), "SWIGLU_CLAMP");
    OP_CHECK_REFUSED(ggml_swiglu_clamp(ctx, a, b, -1.0f), "the limit must be 0 or more, it is -1");
    OP_CHECK_REFUSED(ggml_swiglu_clamp(ctx, a, b, NAN), "the limit must be 0 or more, it is");
}

static void slices(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 6, 3, 2, 4);
    // gaps behind rows; one row a matrix, so that its stride leads to the next matrix; gaps behind matrices
    struct ggml_tensor * rows = ggml_view_4d(ctx, a, 4, 3, 2, 4, a->nb[1], a->nb[2], a->nb[3], 0);
    struct ggml_tensor * single = ggml_view_4d(ctx, a, 4, 1, 3, 1, a->nb[1], a->nb[1], a->nb[2], 0);
    struct ggml_tensor * gaps = ggml_view_4d(ctx, a, 6, 2, 2, 4, a->nb[1], a->nb[2], a->nb[3], 0);
    assert_int_equal(ggml_swiglu(ctx, rows)->ne[0], 2);
    assert_int_equal(ggml_swiglu(ctx, single)->ne[2], 3);
    OP_CHECK_REFUSED(ggml_swiglu(ctx, gaps), "src0 must be contiguous but for the distance of its rows");
    OP_CHECK_REFUSED(ggml_swiglu_split(ctx, ggml_cont(ctx, gaps), gaps), "src1 must be contiguous but for");
    OP_CHECK_REFUSED(ggml_reglu(ctx, op_strided_tensor(ctx, GGML_TYPE_F32, 6, 4, 1, 1)),
                     "src0 must be contiguous");
}

static void refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_leaf(ctx, "a", 6, 3, 1, 1);
    OP_CHECK_REFUSED(ggml_geglu_split(ctx, a, op_leaf(ctx, "", 6, 1, 1, 1)),
                     "src0 must have the shape of src1");
    OP_CHECK_REFUSED(ggml_geglu_split(ctx, a, ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 6, 3)),
                     "src1 must be f32, it is f16");
    OP_CHECK_REFUSED(ggml_glu(ctx, a, GGML_GLU_OP_COUNT, false), "gated unit 7 is unknown");
    OP_CHECK_REFUSED(ggml_glu_split(ctx, a, a, (enum ggml_glu_op) - 1), "is unknown");
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 6, 3, 1, 1);
    struct ggml_tensor * b = op_param(ctx, "b", 6, 3, 1, 1);
    const struct op_grad d = op_backward(ctx, ggml_swiglu_split(ctx, a, b));
    OP_GRAD(d, a, "SILU_BACK(MUL(g, b), a)");
    OP_GRAD(d, b, "MUL(SILU(a), g)");
    OP_GRAD_REFUSED(op_backward(ctx, ggml_swiglu(ctx, a)), "SWIGLU of one tensor has no gradient");
    OP_GRAD_REFUSED(op_backward(ctx, ggml_geglu_split(ctx, a, b)), "GEGLU of two tensors has no gradient");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(nodes_of_all_units),
        OP_CHECK_TEST(units_with_parameters),
        OP_CHECK_TEST(slices),
        OP_CHECK_TEST(refusals),
        OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("glu", tests, NULL, NULL);
}
