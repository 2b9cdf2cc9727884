// SPDX-License-Identifier: MIT
// The tables of operators against what the interface says (table.def): numbers, names, sources, memory,
// gradients.
#include "op/op_grad.h"

struct row {
    int id, number;
    const char * name;
    int n_required, n_max;
    bool may_reuse, has_gradient;
};

static const struct row operators[] = {
#define TN_OP_ROW(id, number, name, n_required, n_max, may_reuse, has_gradient)                              \
    { GGML_OP_##id, number, name, n_required, n_max, may_reuse, has_gradient },
#define TN_UNARY_ROW(id, number, name, has_gradient)
#define TN_GLU_ROW(id, number, name, has_gradient)
#include "op/table.def"
#undef TN_OP_ROW
#undef TN_UNARY_ROW
#undef TN_GLU_ROW
};

static const struct row functions[] = {
#define TN_OP_ROW(id, number, name, n_required, n_max, may_reuse, has_gradient)
#define TN_UNARY_ROW(id, number, name, has_gradient)                                                         \
    { GGML_UNARY_OP_##id, number, name, 1, 1, true, has_gradient },
#define TN_GLU_ROW(id, number, name, has_gradient)
#include "op/table.def"
#undef TN_UNARY_ROW
#undef TN_GLU_ROW
};

static const struct row units[] = {
#define TN_UNARY_ROW(id, number, name, has_gradient)
#define TN_GLU_ROW(id, number, name, has_gradient)                                                           \
    { GGML_GLU_OP_##id, number, name, 1, 2, false, has_gradient },
#include "op/table.def"
#undef TN_OP_ROW
#undef TN_UNARY_ROW
#undef TN_GLU_ROW
};

static bool is_view(int op) {
    return op == GGML_OP_RESHAPE || op == GGML_OP_VIEW || op == GGML_OP_PERMUTE || op == GGML_OP_TRANSPOSE;
}

static void every_operator(void ** state) {
    (void) state;
    for (size_t i = 0; i < TN_COUNT(operators); i++) {
        const struct row * want = &operators[i];
        const struct tn_op * op = tn_op_get((enum ggml_op) want->number);
        if (want->id != want->number) fail_msg("%s is %d, not %d", want->name, want->id, want->number);
        if (!op || !op->rule) fail_msg("%s has no descriptor or no rule", want->name);
        assert_string_equal(ggml_op_name((enum ggml_op) want->id), want->name);
        if (op->n_src != want->n_required)
            fail_msg("%s: n_src %d, not %d", want->name, op->n_src, want->n_required);
        if ((op->may_reuse > 0) != want->may_reuse) fail_msg("%s: may_reuse %d", want->name, op->may_reuse);
        if (!op->backward == want->has_gradient) fail_msg("%s: gradient %d", want->name, !want->has_gradient);
        if (op->is_view != is_view(want->id)) fail_msg("%s: is_view %d", want->name, op->is_view);
        if (op->may_reuse > want->n_max) fail_msg("%s: reuses %d sources", want->name, op->may_reuse);
    }
}

// One row for each number, in order; and a formula for each.
static void numbers_are_complete(void ** state) {
    (void) state;
    assert_int_equal(TN_COUNT(operators), GGML_OP_COUNT - 1);
    assert_int_equal(TN_COUNT(functions), GGML_UNARY_OP_COUNT);
    assert_int_equal(TN_COUNT(units), GGML_GLU_OP_COUNT);
    for (size_t i = 0; i < TN_COUNT(operators); i++)
        assert_int_equal(operators[i].number, i + 1);
    for (int i = GGML_OP_NONE; i < GGML_OP_COUNT; i++) {
        const char * symbol = ggml_op_symbol((enum ggml_op) i);
        assert_true(symbol[0] != '\0');
        assert_null(strstr(symbol, "unknown"));
    }
}

static void no_operator(void ** state) {
    (void) state;
    assert_string_equal(ggml_op_name(GGML_OP_NONE), "NONE");
    assert_null(tn_op_get(GGML_OP_COUNT));
    assert_null(tn_op_get((enum ggml_op) - 1));
    assert_non_null(strstr(ggml_op_name(GGML_OP_COUNT), "unknown"));
    assert_non_null(strstr(ggml_op_symbol((enum ggml_op) - 1), "unknown"));
    assert_non_null(strstr(ggml_unary_op_name(GGML_UNARY_OP_COUNT), "unknown"));
    assert_non_null(strstr(ggml_glu_op_name((enum ggml_glu_op) - 1), "unknown"));
}

// Functions and units have their gradients one by one, behind that of UNARY and GLU.
static void check_gradient(struct ggml_context * ctx, struct ggml_tensor * y, const struct row * want) {
    const struct op_grad d = op_backward(ctx, y);
    if (tn_graph_usable(d.graph) != want->has_gradient)
        fail_msg("%s: gradient %d", want->name, !want->has_gradient);
}

static void every_function(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
    for (size_t i = 0; i < TN_COUNT(functions); i++) {
        assert_int_equal(functions[i].id, functions[i].number);
        assert_string_equal(ggml_unary_op_name((enum ggml_unary_op) functions[i].id), functions[i].name);
        check_gradient(ctx, ggml_unary(ctx, a, (enum ggml_unary_op) functions[i].id), &functions[i]);
    }
}

static void every_unit(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_param(ctx, "a", 4, 3, 1, 1);
    struct ggml_tensor * b = op_param(ctx, "b", 4, 3, 1, 1);
    for (size_t i = 0; i < TN_COUNT(units); i++) {
        assert_int_equal(units[i].id, units[i].number);
        assert_string_equal(ggml_glu_op_name((enum ggml_glu_op) units[i].id), units[i].name);
        check_gradient(ctx, ggml_glu_split(ctx, a, b, (enum ggml_glu_op) units[i].id), &units[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(every_operator), OP_CHECK_TEST(numbers_are_complete), OP_CHECK_TEST(no_operator),
        OP_CHECK_TEST(every_function), OP_CHECK_TEST(every_unit),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
