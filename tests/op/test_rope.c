// SPDX-License-Identifier: MIT
// ROPE and ROPE_BACK: parameters of every builder, sections, offsets, YaRN's range, refusals, gradients.
#include "op/op_grad.h"

#include <math.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { N_DIMS = 8, TOKENS = 5 };

struct fixture {
    struct ggml_tensor *a, *pos, *pos4, *factors;
    int sections[GGML_MROPE_SECTIONS];
};

static struct fixture fixture(struct ggml_context * ctx) {
    return (struct fixture){
        .a = op_leaf(ctx, "a", 16, 3, TOKENS, 2),
        .pos = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, TOKENS),
        .pos4 = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 4 * TOKENS),
        .factors = op_leaf(ctx, "factors", N_DIMS / 2, 1, 1, 1),
        .sections = { 2, 1, 1, 0 },
    };
}

// The words that all builders with these parameters write.
#define EXT_WORDS(mode)                                                                                      \
    0, N_DIMS, mode, 0, 4096, op_f32(1e6f), op_f32(0.5f), op_f32(0.25f), op_f32(1.5f), op_f32(32), op_f32(2)
#define EXT_ARGS(mode)   N_DIMS, mode, 4096, 1e6f, 0.5f, 0.25f, 1.5f, 32.0f, 2.0f
#define MULTI_ARGS(mode) N_DIMS, f.sections, mode, 4096, 1e6f, 0.5f, 0.25f, 1.5f, 32.0f, 2.0f

static void plain(void ** state) {
    struct ggml_context * ctx = *state;
    const struct fixture f = fixture(ctx);
    const struct op_node nodes[] = {
        OP_NODE(ggml_rope(ctx, f.a, f.pos, N_DIMS, GGML_ROPE_TYPE_NEOX), GGML_OP_ROPE, GGML_TYPE_F32,
                .ne = { 16, 3, TOKENS, 2 },
                .params = { 0, N_DIMS, 2, 0, 0, op_f32(10000), op_f32(1), 0, op_f32(1) },
                .src = { f.a, f.pos }),
        OP_NODE(ggml_rope_inplace(ctx, f.a, f.pos, 4, 0), GGML_OP_ROPE, GGML_TYPE_F32,
                .ne = { 16, 3, TOKENS, 2 },
                .params = { 0, 4, 0, 0, 0, op_f32(10000), op_f32(1), 0, op_f32(1) }, .src = { f.a, f.pos },
                .base = f.a, .name = "a (view)"),
    };
    OP_CHECK_NODES(nodes);
}

static void extended(void ** state) {
    struct ggml_context * ctx = *state;
    const struct fixture f = fixture(ctx);
    const struct op_node nodes[] = {
        OP_NODE(ggml_rope_ext(ctx, f.a, f.pos, f.factors, EXT_ARGS(2)), GGML_OP_ROPE, GGML_TYPE_F32,
                .ne = { 16, 3, TOKENS, 2 }, .params = { EXT_WORDS(2) }, .src = { f.a, f.pos, f.factors }),
        OP_NODE(ggml_rope_ext(ctx, f.a, f.pos, NULL, EXT_ARGS(0)), GGML_OP_ROPE, GGML_TYPE_F32,
                .ne = { 16, 3, TOKENS, 2 }, .params = { EXT_WORDS(0) }, .src = { f.a, f.pos }),
        OP_NODE(ggml_rope_ext_inplace(ctx, f.a, f.pos, f.factors, EXT_ARGS(2)), GGML_OP_ROPE, GGML_TYPE_F32,
                .ne = { 16, 3, TOKENS, 2 }, .params = { EXT_WORDS(2) }, .src = { f.a, f.pos, f.factors },
                .base = f.a, .name = "a (view)"),
        OP_NODE(ggml_rope_custom(ctx, f.a, f.pos, EXT_ARGS(2)), GGML_OP_ROPE, GGML_TYPE_F32,
                .ne = { 16, 3, TOKENS, 2 }, .params = { EXT_WORDS(2) }, .src = { f.a, f.pos }),
        OP_NODE(ggml_rope_custom_inplace(ctx, f.a, f.pos, EXT_ARGS(0)), GGML_OP_ROPE, GGML_TYPE_F32,
                .ne = { 16, 3, TOKENS, 2 }, .params = { EXT_WORDS(0) }, .src = { f.a, f.pos }, .base = f.a,
                .name = "a (view)"),
        OP_NODE(ggml_rope_ext_back(ctx, f.a, f.pos, f.factors, EXT_ARGS(2)), GGML_OP_ROPE_BACK, GGML_TYPE_F32,
                .ne = { 16, 3, TOKENS, 2 }, .params = { EXT_WORDS(2) }, .src = { f.a, f.pos, f.factors }),
    };
    OP_CHECK_NODES(nodes);
}

static void sections(void ** state) {
    struct ggml_context * ctx = *state;
    struct fixture f = fixture(ctx);
    const struct op_node nodes[] = {
        OP_NODE(ggml_rope_multi(ctx, f.a, f.pos4, f.factors, MULTI_ARGS(GGML_ROPE_TYPE_MROPE)), GGML_OP_ROPE,
                GGML_TYPE_F32, .ne = { 16, 3, TOKENS, 2 }, .params = { EXT_WORDS(8), 2, 1, 1, 0 },
                .src = { f.a, f.pos4, f.factors }),
        OP_NODE(ggml_rope_multi_inplace(ctx, f.a, f.pos4, NULL, MULTI_ARGS(GGML_ROPE_TYPE_VISION)),
                GGML_OP_ROPE, GGML_TYPE_F32, .ne = { 16, 3, TOKENS, 2 },
                .params = { EXT_WORDS(24), 2, 1, 1, 0 }, .src = { f.a, f.pos4 }, .base = f.a,
                .name = "a (view)"),
        OP_NODE(ggml_rope_multi_back(ctx, f.a, f.pos4, NULL, MULTI_ARGS(GGML_ROPE_TYPE_IMROPE)),
                GGML_OP_ROPE_BACK, GGML_TYPE_F32, .ne = { 16, 3, TOKENS, 2 },
                .params = { EXT_WORDS(40), 2, 1, 1, 0 }, .src = { f.a, f.pos4 }),
        // without the bit for sections they are left out, and one position a token is enough
        OP_NODE(ggml_rope_multi(ctx, f.a, f.pos, NULL, MULTI_ARGS(GGML_ROPE_TYPE_NEOX)), GGML_OP_ROPE,
                GGML_TYPE_F32, .ne = { 16, 3, TOKENS, 2 }, .params = { EXT_WORDS(2) }, .src = { f.a, f.pos }),
    };
    OP_CHECK_NODES(nodes);
}

static void refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct fixture f = fixture(ctx);
    OP_CHECK_REFUSED(ggml_rope(ctx, f.a, f.pos, N_DIMS, 1), "mode 1: bit 0 must not be set");
    OP_CHECK_REFUSED(ggml_rope(ctx, f.a, f.pos4, N_DIMS, 0), "src1 ne[0] = 20 must equal src0 ne[2] = 5");
    OP_CHECK_REFUSED(ggml_rope_inplace(ctx, f.a, op_leaf(ctx, "", TOKENS, 1, 1, 1), N_DIMS, 0),
                     "src1 must be i32, it is f32");
    OP_CHECK_REFUSED(ggml_rope(ctx, f.a, ggml_new_tensor_2d(ctx, GGML_TYPE_I32, TOKENS, 2), N_DIMS, 0),
                     "src1 ne[1] must be 1");
    OP_CHECK_REFUSED(ggml_rope(ctx, f.a, NULL, N_DIMS, 0), "source 1 is NULL");
    OP_CHECK_REFUSED(ggml_rope_multi(ctx, f.a, f.pos, NULL, MULTI_ARGS(8)),
                     "4 positions for each of the 5 tokens of src0, it has 5");
    OP_CHECK_REFUSED(ggml_rope_ext(ctx, f.a, f.pos, op_leaf(ctx, "", 3, 1, 1, 1), EXT_ARGS(0)),
                     "src2 must have a factor for each of the 4 pairs, it has 3");
    OP_CHECK_REFUSED(ggml_rope_ext(ctx, f.a, f.pos, op_leaf(ctx, "", 4, 1, 0, 1), EXT_ARGS(0)),
                     "src2 [4, 1, 0, 1] has no elements");
    OP_CHECK_REFUSED(ggml_rope_ext_inplace(ctx, f.a, f.pos, f.pos, EXT_ARGS(0)),
                     "src2 must be f32, it is i32");
    OP_CHECK_REFUSED(ggml_rope_ext(ctx, f.a, f.pos4, NULL, EXT_ARGS(8)), "mode 8 needs sections, all are 0");
    f.sections[1] = -1;
    OP_CHECK_REFUSED(ggml_rope_multi_inplace(ctx, f.a, f.pos4, NULL, MULTI_ARGS(40)),
                     "sections[1] must not be negative, it is -1");
    OP_CHECK_REFUSED(ggml_rope_multi_back(ctx, f.a, f.pos4, NULL, MULTI_ARGS(8)), "sections[1]");
    OP_CHECK_REFUSED(ggml_rope_ext_back(ctx, f.a, f.pos4, NULL, EXT_ARGS(0)), "src1 ne[0] = 20");
    OP_CHECK_REFUSED(ggml_rope_custom(ctx, NULL, f.pos, EXT_ARGS(0)), "source 0 is NULL");
    OP_CHECK_REFUSED(ggml_rope_custom_inplace(ctx, f.a, f.pos, EXT_ARGS(3)), "mode 3: bit 0");
}

static void offset(void ** state) {
    struct ggml_context * ctx = *state;
    struct fixture f = fixture(ctx);
    struct ggml_tensor * y = ggml_rope(ctx, f.a, f.pos, N_DIMS, 0);
    assert_ptr_equal(ggml_rope_set_offset(y, 8), y);
    assert_int_equal(y->op_params[15], 8);
    op_check_rule(y);
    y = ggml_rope_ext_back(ctx, f.a, f.pos, NULL, EXT_ARGS(0));
    assert_int_equal(ggml_rope_set_offset(y, 2)->op_params[15], 2);
}

static void offsets_that_do_not_fit(void ** state) {
    struct ggml_context * ctx = *state;
    struct fixture f = fixture(ctx);
    static const int wrong[] = { -2, 3, 10, INT32_MAX - 1, INT32_MIN };
    for (size_t i = 0; i < TN_COUNT(wrong); i++) {
        struct ggml_tensor * y = ggml_rope(ctx, f.a, f.pos, N_DIMS, 0);
        OP_CHECK_REFUSED(ggml_rope_set_offset(y, wrong[i]), "must be even, and");
        assert_true(tn_tensor_is_poisoned(y));
        assert_int_equal(y->op_params[15], 0);
    }
    struct ggml_tensor * vision = ggml_rope_multi(ctx, f.a, f.pos4, NULL, MULTI_ARGS(GGML_ROPE_TYPE_VISION));
    assert_false(tn_tensor_is_poisoned(ggml_rope_set_offset(vision, 0)));
    OP_CHECK_REFUSED(ggml_rope_set_offset(vision, 2), "mode VISION rotates whole rows");
    OP_CHECK_REFUSED(ggml_rope_set_offset(ggml_sqr(ctx, f.a), 0),
                     "a result of ROPE or ROPE_BACK, it is one of SQR");
    OP_CHECK_REFUSED(ggml_rope_set_offset(NULL, 0), "a result of ROPE or ROPE_BACK");
}

// d(r) = n_dims*ln(n_ctx/(2*pi*r)) / (2*ln(base)) for 128 dimensions, 4096 positions, base 10000:
// r = 32: 20.95, r = 1: 45.03. Short contexts end at the borders.
static void range_of_yarn(void ** state) {
    (void) state;
    float dims[2];
    ggml_rope_yarn_corr_dims(128, 4096, 10000.0f, 32.0f, 1.0f, dims);
    assert_float_equal(dims[0], 20.0f, 0);
    assert_float_equal(dims[1], 46.0f, 0);
    ggml_rope_yarn_corr_dims(8, 16, 10000.0f, 32.0f, 1.0f, dims);
    assert_float_equal(dims[0], 0.0f, 0);
    assert_float_equal(dims[1], 1.0f, 0);
    ggml_rope_yarn_corr_dims(8, INT32_MAX, 2.0f, 1.0f, 1.0f, dims);
    assert_float_equal(dims[1], 7.0f, 0);
}

static void gradients(void ** state) {
    struct ggml_context * ctx = *state;
    struct fixture f = fixture(ctx);
    struct ggml_tensor * a = op_param(ctx, "p", 16, 3, TOKENS, 1);
    ggml_set_name(f.pos4, "pos");
    struct ggml_tensor * y = ggml_rope_multi(ctx, a, f.pos4, f.factors, MULTI_ARGS(GGML_ROPE_TYPE_MROPE));
    ggml_rope_set_offset(y, 4);
    const struct op_grad d = op_backward(ctx, y);
    OP_GRAD(d, a, "ROPE_BACK(g, pos, factors)");
    assert_memory_equal(ggml_graph_get_grad(d.graph, a)->op_params, y->op_params, sizeof(y->op_params));
    struct ggml_tensor * trained = op_param(ctx, "trained", N_DIMS / 2, 1, 1, 1);
    OP_GRAD_REFUSED(op_backward(ctx, ggml_rope_ext(ctx, a, f.pos, trained, EXT_ARGS(0))),
                    "no gradient for the frequency factors");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(plain),         OP_CHECK_TEST(extended),  OP_CHECK_TEST(sections),
        OP_CHECK_TEST(refusals),      OP_CHECK_TEST(offset),    OP_CHECK_TEST(offsets_that_do_not_fit),
        OP_CHECK_TEST(range_of_yarn), OP_CHECK_TEST(gradients),
    };
    return cmocka_run_group_tests_name("rope", tests, NULL, NULL);
}
