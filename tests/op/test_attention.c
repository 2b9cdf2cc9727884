// SPDX-License-Identifier: MIT
// core/ops/attention.c: FLASH_ATTN_EXT and what is set on it; FLASH_ATTN_BACK, which is always refused.
#include "op/op_grad.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // flash_attn_ext_set_prec must go on working

// 8 heads of 64 channels, 5 queries, 3 sequences; 2 heads of keys and 4 of values over 40 positions.
struct inputs {
    struct ggml_tensor *q, *k, *v, *mask, *sinks;
};

static struct inputs inputs(struct ggml_context * ctx) {
    return (struct inputs){
        .q = op_f32_tensor(ctx, 64, 5, 8, 3),
        .k = ggml_new_tensor_4d(ctx, GGML_TYPE_Q8_0, 64, 40, 2, 3),
        .v = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 32, 40, 4, 3),
        .mask = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 40, 7, 4, 1),
        .sinks = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8),
    };
}

static void shapes(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs in = inputs(ctx);
    const struct op_node nodes[] = {
        OP_NODE(ggml_flash_attn_ext(ctx, in.q, in.k, in.v, NULL, 0.125f, 0, 0), GGML_OP_FLASH_ATTN_EXT,
                GGML_TYPE_F32, .ne = { 32, 8, 5, 3 }, .params = { op_f32(0.125f) },
                .src = { in.q, in.k, in.v }),
        OP_NODE(ggml_flash_attn_ext(ctx, in.q, in.k, in.v, in.mask, 1, 8, 30), GGML_OP_FLASH_ATTN_EXT,
                GGML_TYPE_F32, .ne = { 32, 8, 5, 3 }, .params = { op_f32(1), op_f32(8), op_f32(30) },
                .src = { in.q, in.k, in.v, in.mask }),
    };
    OP_CHECK_NODES(nodes);
}

static struct ggml_tensor * attend(struct ggml_context * ctx, struct inputs in) {
    return ggml_flash_attn_ext(ctx, in.q, in.k, in.v, in.mask, 1, 0, 0);
}

#define REFUSED(rule) op_check_refused(attend(ctx, in), "ggml_flash_attn_ext(", rule, __LINE__)

static void keys_and_values_that_do_not_fit(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs good = inputs(ctx);
    struct inputs in = good;
    in.k = op_f32_tensor(ctx, 32, 40, 2, 3);
    REFUSED("src1 ne[0] = 32 must equal src0 ne[0] = 64");
    in.k = op_f32_tensor(ctx, 64, 40, 3, 3);
    REFUSED("src1 ne[2] = 3 must divide src0 ne[2] = 8");
    in.k = op_f32_tensor(ctx, 64, 40, 0, 3);
    REFUSED("src1 ne[2] = 0 must divide src0 ne[2] = 8");
    in.k = op_f32_tensor(ctx, 64, 40, 2, 1);
    REFUSED("src1 ne[3] = 1 must equal src0 ne[3] = 3");
    in = good;
    in.v = op_f32_tensor(ctx, 32, 39, 4, 3);
    REFUSED("src2 ne[1] = 39 must equal src1 ne[1] = 40");
    in.v = op_f32_tensor(ctx, 32, 40, 5, 3);
    REFUSED("src2 ne[2] = 5 must divide src0 ne[2] = 8");
    in.v = op_f32_tensor(ctx, 32, 40, 4, 6);
    REFUSED("src2 ne[3] = 6 must equal src0 ne[3] = 3");
    in.v = NULL;
    REFUSED("source 2 is NULL");
}

static void masks_that_do_not_fit(void ** state) {
    struct ggml_context * ctx = *state;
    struct inputs in = inputs(ctx);
    in.mask = op_f32_tensor(ctx, 40, 5, 1, 1);
    REFUSED("src3 must be f16");
    in.mask = op_strided_tensor(ctx, GGML_TYPE_F16, 40, 5, 1, 1);
    REFUSED("src3 must be contiguous");
    in.mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 41, 5);
    REFUSED("src3 ne[0] = 41 must equal src1 ne[1] = 40");
    in.mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 40, 4);
    REFUSED("src3 must have a row for each query: ne1 is 4, there are 5");
    in.mask = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 40, 5, 3, 1);
    REFUSED("src3 ne[2] = 3 must divide src0 ne[2] = 8");
    in.mask = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 40, 5, 1, 2);
    REFUSED("src3 ne[3] = 2 must divide src0 ne[3] = 3");
    OP_CHECK_REFUSED(ggml_flash_attn_ext(ctx, in.q, in.k, in.v, NULL, 1, 0.5f, 0),
                     "max_bias above 0 needs a mask");
}

static void sinks_come_and_go(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs in = inputs(ctx);
    struct ggml_tensor * t = attend(ctx, in);
    ggml_flash_attn_ext_add_sinks(t, in.sinks);
    assert_ptr_equal(t->src[4], in.sinks);
    op_check_rule(t);
    ggml_flash_attn_ext_add_sinks(t, NULL);
    assert_null(t->src[4]);
}

// A setter that is refused changes nothing.
static void check_unset(const struct ggml_tensor * t, const struct ggml_tensor * before,
                        const char * function, const char * rule) {
    if (t) assert_memory_equal(t, before, sizeof(*t));
    assert_contains(tn_error_text(), function);
    assert_contains(tn_error_text(), rule);
    tn_error_clear();
}

static void sinks_that_do_not_fit(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs in = inputs(ctx);
    struct ggml_tensor * t = attend(ctx, in);
    struct ggml_tensor * poisoned = ggml_add(ctx, NULL, NULL);
    struct ggml_tensor * product = ggml_mul(ctx, in.q, in.q);
    const struct {
        struct ggml_tensor * t;
        struct ggml_tensor * sinks;
        const char * rule;
    } cases[] = {
        { t, ggml_new_tensor_1d(ctx, GGML_TYPE_F16, 8), "src4 must be f32" },
        { t, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 7), "src4 ne[0] = 7 must equal src0 ne[2] = 8" },
        { t, op_f32_tensor(ctx, 8, 2, 1, 1), "src4 ne[1] must be 1" },
        { t, poisoned, "refused before" },
        { product, in.sinks, "must be a result of ggml_flash_attn_ext, it is one of MUL" },
        { poisoned, in.sinks, "refused before" },
        { NULL, in.sinks, "the tensor is NULL" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct ggml_tensor before = cases[i].t ? *cases[i].t : (struct ggml_tensor){ 0 };
        ggml_flash_attn_ext_add_sinks(cases[i].t, cases[i].sinks);
        check_unset(cases[i].t, &before, "ggml_flash_attn_ext_add_sinks", cases[i].rule);
    }
}

static void the_promise_about_keys(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs in = inputs(ctx);
    struct ggml_tensor * t = attend(ctx, in);
    ggml_flash_attn_ext_set_n_kv_max(t, 17);
    assert_int_equal(t->op_params[4], 17);
    op_check_rule(t);
    const struct ggml_tensor before = *t, q = *in.q;
    ggml_flash_attn_ext_set_n_kv_max(t, -1);
    check_unset(t, &before, "ggml_flash_attn_ext_set_n_kv_max", "must not be negative, it is -1");
    ggml_flash_attn_ext_set_n_kv_max(in.q, 1);
    check_unset(in.q, &q, "ggml_flash_attn_ext_set_n_kv_max", "it is one of NONE");
    ggml_flash_attn_ext_set_n_kv_max(NULL, 1);
    check_unset(NULL, NULL, "ggml_flash_attn_ext_set_n_kv_max", "NULL");
}

static void the_precision(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs in = inputs(ctx);
    struct ggml_tensor * t = attend(ctx, in);
    assert_int_equal(ggml_flash_attn_ext_get_prec(t), GGML_PREC_DEFAULT);
    ggml_flash_attn_ext_set_prec(t, GGML_PREC_F32);
    assert_int_equal(t->op_params[3], GGML_PREC_F32);
    assert_int_equal(ggml_flash_attn_ext_get_prec(t), GGML_PREC_F32);
    assert_true(ggml_prec_set_acc(t, GGML_PREC_F16));
    assert_int_equal(ggml_flash_attn_ext_get_prec(t), GGML_PREC_F16);
    assert_false(ggml_prec_set_src(t, GGML_PREC_F16, 1));
    const struct ggml_tensor q = *in.q;
    ggml_flash_attn_ext_set_prec(in.q, GGML_PREC_F32);
    check_unset(in.q, &q, "ggml_flash_attn_ext_set_prec", "it is one of NONE");
    assert_int_equal(ggml_flash_attn_ext_get_prec(in.q), GGML_PREC_DEFAULT);
    check_unset(in.q, &q, "ggml_flash_attn_ext_get_prec", "it is one of NONE");
    assert_int_equal(ggml_flash_attn_ext_get_prec(NULL), GGML_PREC_DEFAULT);
}

static void there_is_no_way_back(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs in = inputs(ctx);
    OP_CHECK_REFUSED(ggml_flash_attn_back(ctx, in.q, in.k, in.v, in.q, true), "no gradient");
    assert_string_equal(ggml_op_name(GGML_OP_FLASH_ATTN_BACK), "FLASH_ATTN_BACK");
    ggml_set_param(in.q);
    OP_GRAD_REFUSED(op_backward(ctx, attend(ctx, in)), "FLASH_ATTN_EXT");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(shapes),
        OP_CHECK_TEST(keys_and_values_that_do_not_fit),
        OP_CHECK_TEST(masks_that_do_not_fit),
        OP_CHECK_TEST(sinks_come_and_go),
        OP_CHECK_TEST(sinks_that_do_not_fit),
        OP_CHECK_TEST(the_promise_about_keys),
        OP_CHECK_TEST(the_precision),
        OP_CHECK_TEST(there_is_no_way_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
