// SPDX-License-Identifier: MIT
// Operators that are exact, as docs/numbers.md lists them: the result is what the definition gives in exact
// arithmetic, rounded once to f32, and from there once to the type of the result. SET and ACC, whose oracles
// take their time, are compared as strictly by tests of their own.
#include "numbers/every_op.h"
#include "op/oracle/oracle.h"

#include "cpu/kernels.h"

static const enum ggml_op exact[] = {
    // moves
    GGML_OP_DUP,

    GGML_OP_CPY,
    GGML_OP_CONT,
    GGML_OP_CONCAT,
    GGML_OP_REPEAT,
    GGML_OP_GET_ROWS,
    GGML_OP_SET_ROWS,
    GGML_OP_DIAG,
    GGML_OP_DIAG_MASK_INF,
    GGML_OP_DIAG_MASK_ZERO,
    GGML_OP_TRI,
    GGML_OP_FILL,
    GGML_OP_PAD,
    GGML_OP_PAD_REFLECT_1D,
    GGML_OP_ROLL,
    GGML_OP_WIN_PART,
    GGML_OP_WIN_UNPART,
    GGML_OP_GET_REL_POS,
    GGML_OP_IM2COL,
    GGML_OP_IM2COL_3D,
    GGML_OP_UPSCALE,
    GGML_OP_POOL_1D,
    GGML_OP_POOL_2D,
    // arithmetic of one operation
    GGML_OP_ADD,
    GGML_OP_ADD1,
    GGML_OP_ADD_ID,
    GGML_OP_SUB,
    GGML_OP_MUL,
    GGML_OP_DIV,
    GGML_OP_SQR,
    GGML_OP_SQRT,
    GGML_OP_CLAMP,
    GGML_OP_LEAKY_RELU,
    GGML_OP_UNARY,

    // counts and places
    GGML_OP_ARGMAX,
    GGML_OP_COUNT_EQUAL,
    GGML_OP_ARGSORT,
    GGML_OP_TOP_K,
};

static bool is_exact_unary(enum ggml_unary_op op) {
    switch (op) {
    case GGML_UNARY_OP_ABS:
    case GGML_UNARY_OP_SGN:
    case GGML_UNARY_OP_NEG:
    case GGML_UNARY_OP_STEP:
    case GGML_UNARY_OP_RELU:
    case GGML_UNARY_OP_FLOOR:
    case GGML_UNARY_OP_CEIL:
    case GGML_UNARY_OP_ROUND:
    case GGML_UNARY_OP_TRUNC: return true;
    default: return false;
    }
}

static bool is_exact(const struct ggml_tensor * node) {
    bool found = false;
    for (int k = 0; k < EVERY_COUNT(exact); k++)
        found = found || exact[k] == node->op;
    if (node->op == GGML_OP_UNARY) return is_exact_unary(ggml_get_unary_op(node));
    if (node->op == GGML_OP_UPSCALE) return node->op_params[0] == GGML_SCALE_MODE_NEAREST;
    if (node->op == GGML_OP_POOL_1D || node->op == GGML_OP_POOL_2D)
        return node->op_params[0] == GGML_OP_POOL_MAX;
    if (!ggml_is_quantized(node->type)) return found;
    return (node->op == GGML_OP_DUP || node->op == GGML_OP_CONT) && node->type == node->src[0]->type;
}

// Half the numbers of an operand are integers, halves and zeros of either sign, of which ties are made.
static void make_ties(struct cpu_test * t, struct ggml_tensor * x) {
    if (x->type != GGML_TYPE_F32 && x->type != GGML_TYPE_F16 && x->type != GGML_TYPE_BF16) return;
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(x); i++, cpu_next(x, at)) {
        const int64_t kind = test_rng_below(&t->rng, 4);
        if (kind == 0) cpu_put(x, at, 0.5 * (double) test_rng_below(&t->rng, 9) - 2.0);
        if (kind == 1) cpu_put(x, at, -0.5 * (double) test_rng_below(&t->rng, 9));
    }
}

static double rounded(enum ggml_type type, double v) {
    if (type == GGML_TYPE_F16) return (double) ggml_fp16_to_fp32(ggml_fp32_to_fp16((float) v));
    if (type == GGML_TYPE_BF16) return (double) ggml_bf16_to_fp32(ggml_fp32_to_bf16((float) v));
    if (type == GGML_TYPE_I32) return trunc(v);
    return type == GGML_TYPE_F32 ? (double) (float) v : v;
}

static void compare(struct ggml_tensor * node, const double * expected, const char * level) {
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(node); i++, cpu_next(node, at)) {
        const double v = cpu_get(node, at[0], at[1], at[2], at[3]), e = rounded(node->type, expected[i]);
        if (isnan(e) ? isnan(v) : v == e) continue;
        fail_msg("%s, %s, %s: element %d is %.17g, not %.17g", ggml_op_desc(node), ggml_type_name(node->type),
                 level, (int) i, v, e);
    }
}

static double * expect(const struct ggml_tensor * node) {
    const struct oracle * o = oracle_of(node->op);
    double * expected = malloc((size_t) ggml_nelements(node) * sizeof(double));
    oracle_checks++;
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(node); i++, cpu_next(node, at))
        expected[i] = o->value ? o->value(node, at) : 0.0;
    return expected;
}

static void check_level(struct ggml_tensor * node, const double * expected, const char * level) {
    if (cpu_compute(node, 2) != GGML_STATUS_SUCCESS) fail_msg("%s", ggml_ext_last_error());
    if (oracle_of(node->op)->accepts) {
        assert_true(oracle_of(node->op)->accepts(node));
    } else {
        compare(node, expected, level);
    }
}

static void check_node(struct cpu_test * t, struct ggml_tensor * node, void * n_checked) {
    if (!is_exact(node)) return;
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (node->src[i] && node->src[i] != node) make_ties(t, node->src[i]);
    }
    double * expected = expect(node);
    tn_kernels_select(0);
    check_level(node, expected, "scalar");
    tn_kernels_select(UINT64_MAX);
    check_level(node, expected, "best");
    free(expected);
    ++*(int *) n_checked;
}

static void exact_operators_are_exact(void ** state) {
    (void) state;
    int n_checked = 0;
    every_node(check_node, &n_checked);
    printf("%d nodes\n", n_checked);
    assert_true(n_checked > EVERY_COUNT(exact));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(exact_operators_are_exact) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
