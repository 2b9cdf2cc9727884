// SPDX-License-Identifier: MIT
// core/ops/hyper.c: DSV4_HC_COMB, DSV4_HC_PRE, DSV4_HC_POST.
#include "op/op_check.h"

static void comb(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * mixes = op_f32_tensor(ctx, 24, 7, 1, 1);
    struct ggml_tensor * scale = op_f32_tensor(ctx, 3, 1, 1, 1);
    struct ggml_tensor * base = op_f32_tensor(ctx, 24, 1, 1, 1);
    const struct op_node node =
        OP_NODE(ggml_dsv4_hc_comb(ctx, mixes, scale, base, 1e-6f, 20), GGML_OP_DSV4_HC_COMB, GGML_TYPE_F32,
                .ne = { 4, 4, 7, 1 }, .params = { op_f32(1e-6f), 20 }, .src = { mixes, scale, base });
    op_check_node(&node);
    struct ggml_tensor * half = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 24, 7);
    struct ggml_tensor * fifteen = op_f32_tensor(ctx, 15, 7, 1, 1); // three streams
    OP_CHECK_REFUSED(ggml_dsv4_hc_comb(ctx, mixes, scale, base, 0, 0), "n_iter must be above 0, it is 0");
    OP_CHECK_REFUSED(ggml_dsv4_hc_comb(ctx, half, scale, base, 0, 1), "src0 must be f32");
    OP_CHECK_REFUSED(ggml_dsv4_hc_comb(ctx, fifteen, scale, base, 0, 1), "src0 must be [24, any, 1, 1]");
    OP_CHECK_REFUSED(ggml_dsv4_hc_comb(ctx, mixes, op_f32_tensor(ctx, 2, 1, 1, 1), base, 0, 1),
                     "at least 3 elements");
    OP_CHECK_REFUSED(ggml_dsv4_hc_comb(ctx, mixes, mixes, base, 0, 1), "src1 ne[1] must be 1");
    OP_CHECK_REFUSED(ggml_dsv4_hc_comb(ctx, mixes, scale, scale, 0, 1), "src2 must be [24, 1, 1, 1]");
    OP_CHECK_REFUSED(ggml_dsv4_hc_comb(ctx, mixes, scale, NULL, 0, 1), "source 2 is NULL");
}

static void pre(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * x = op_f32_tensor(ctx, 32, 5, 7, 1);
    struct ggml_tensor * w = op_f32_tensor(ctx, 5, 7, 1, 1);
    struct ggml_tensor * gate = op_strided_tensor(ctx, GGML_TYPE_F32, 32, 5, 7, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_dsv4_hc_pre(ctx, x, w), GGML_OP_DSV4_HC_PRE, GGML_TYPE_F32, .ne = { 32, 7, 1, 1 },
                .params = { op_f32(1), 0 }, .src = { x, w }),
        OP_NODE(ggml_dsv4_hc_pre_gated(ctx, x, gate, 0.25f), GGML_OP_DSV4_HC_PRE, GGML_TYPE_F32,
                .ne = { 32, 7, 1, 1 }, .params = { op_f32(0.25f), 1 }, .src = { x, gate }),
    };
    OP_CHECK_NODES(nodes);
    struct ggml_tensor * half = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 5, 7);
    struct ggml_tensor * deep = op_f32_tensor(ctx, 32, 5, 7, 2);
    OP_CHECK_REFUSED(ggml_dsv4_hc_pre(ctx, x, half), "src1 must be f32");
    OP_CHECK_REFUSED(ggml_dsv4_hc_pre(ctx, x, gate), "src1 must be [5, 7, 1, 1]");
    OP_CHECK_REFUSED(ggml_dsv4_hc_pre(ctx, deep, w), "src0 ne[3] must be 1");
    OP_CHECK_REFUSED(ggml_dsv4_hc_pre_gated(ctx, x, w, 1), "src1 must have the shape of src0");
    OP_CHECK_REFUSED(ggml_dsv4_hc_pre_gated(ctx, x, NULL, 1), "source 1 is NULL");
}

static void post(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * x = op_f32_tensor(ctx, 32, 7, 1, 1);
    struct ggml_tensor * r = op_f32_tensor(ctx, 32, 5, 7, 1);
    struct ggml_tensor * p = op_f32_tensor(ctx, 5, 7, 1, 1);
    struct ggml_tensor * c = op_f32_tensor(ctx, 5, 5, 7, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_dsv4_hc_post(ctx, x, r, p, c), GGML_OP_DSV4_HC_POST, GGML_TYPE_F32,
                .ne = { 32, 5, 7, 1 }, .src = { x, r, p, c }),
        OP_NODE(ggml_dsv4_hc_post(ctx, x, r, p, NULL), GGML_OP_DSV4_HC_POST, GGML_TYPE_F32,
                .ne = { 32, 5, 7, 1 }, .src = { x, r, p }),
    };
    OP_CHECK_NODES(nodes);
    struct ggml_tensor * half = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 5, 5, 7);
    OP_CHECK_REFUSED(ggml_dsv4_hc_post(ctx, p, r, p, c), "src0 must be [32, 7, 1, 1]");
    OP_CHECK_REFUSED(ggml_dsv4_hc_post(ctx, x, r, x, c), "src2 must be [5, 7, 1, 1]");
    OP_CHECK_REFUSED(ggml_dsv4_hc_post(ctx, x, r, p, r), "src3 must be [5, 5, 7, 1]");
    OP_CHECK_REFUSED(ggml_dsv4_hc_post(ctx, x, r, p, half), "src3 must be f32");
    OP_CHECK_REFUSED(ggml_dsv4_hc_post(ctx, x, op_f32_tensor(ctx, 32, 5, 7, 2), p, c),
                     "src1 ne[3] must be 1");
    OP_CHECK_REFUSED(ggml_dsv4_hc_post(ctx, x, NULL, p, c), "source 1 is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = { OP_CHECK_TEST(comb), OP_CHECK_TEST(pre), OP_CHECK_TEST(post) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
