// SPDX-License-Identifier: MIT
// core/ops/ssm.c: SSM_CONV, SSM_SCAN.
#include "op/op_check.h"

static void convolution(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * sx = op_f32_tensor(ctx, 12, 20, 3, 1);
    struct ggml_tensor * c = op_f32_tensor(ctx, 4, 20, 1, 1);
    const struct op_node node = OP_NODE(ggml_ssm_conv(ctx, sx, c), GGML_OP_SSM_CONV, GGML_TYPE_F32,
                                        .ne = { 20, 9, 3, 1 }, .src = { sx, c });
    op_check_node(&node);
    OP_CHECK_REFUSED(ggml_ssm_conv(ctx, op_f32_tensor(ctx, 12, 20, 3, 2), c), "src0 ne[3] must be 1");
    OP_CHECK_REFUSED(ggml_ssm_conv(ctx, sx, op_f32_tensor(ctx, 4, 19, 1, 1)), "src1 must be [any, 20, 1, 1]");
    OP_CHECK_REFUSED(ggml_ssm_conv(ctx, sx, op_f32_tensor(ctx, 4, 20, 2, 1)), "src1 must be [any, 20, 1, 1]");
    OP_CHECK_REFUSED(ggml_ssm_conv(ctx, sx, op_f32_tensor(ctx, 14, 20, 1, 1)),
                     "K - 1 columns before its tokens: ne0 is 12");
    OP_CHECK_REFUSED(ggml_ssm_conv(ctx, sx, op_f32_tensor(ctx, 0, 20, 1, 1)), "K is 0");
    OP_CHECK_REFUSED(ggml_ssm_conv(ctx, sx, NULL), "source 1 is NULL");
}

// N = 16 states, P = 8 channels, H = 4 heads in G = 2 groups, T = 7 tokens, S = 3 sequences, 5 slots.
struct inputs {
    struct ggml_tensor *s, *x, *dt, *A, *B, *C, *ids;
    int64_t k;
};

static struct inputs inputs(struct ggml_context * ctx) {
    return (struct inputs){
        .s = op_f32_tensor(ctx, 16, 8, 4, 5),
        .x = op_f32_tensor(ctx, 8, 4, 7, 3),
        .dt = op_f32_tensor(ctx, 4, 7, 3, 1),
        .A = op_f32_tensor(ctx, 1, 4, 1, 1),
        .B = op_f32_tensor(ctx, 16, 2, 7, 3),
        .C = op_f32_tensor(ctx, 16, 2, 7, 3),
        .ids = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 3),
        .k = 1,
    };
}

static struct ggml_tensor * scan(struct ggml_context * ctx, const struct inputs * in) {
    return ggml_ssm_scan(ctx, in->s, in->x, in->dt, in->A, in->B, in->C, in->ids, in->k);
}

static void scans(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs one = inputs(ctx);
    struct inputs more = one, each = one, strided = one;
    more.k = 3;
    each.A = op_f32_tensor(ctx, 16, 4, 1, 1);
    // tokens of x lie further apart than they must
    strided.x = ggml_view_4d(ctx, op_f32_tensor(ctx, 8, 4, 14, 3), 8, 4, 7, 3, 32, 256, 1792, 0);
    const struct op_node nodes[] = {
        OP_NODE(scan(ctx, &one), GGML_OP_SSM_SCAN, GGML_TYPE_F32,
                .ne = { 8 * 4 * 7 * 3 + 16 * 8 * 4 * 3, 1, 1, 1 }, .params = { 1 },
                .src = { one.s, one.x, one.dt, one.A, one.B, one.C, one.ids }),
        OP_NODE(scan(ctx, &more), GGML_OP_SSM_SCAN, GGML_TYPE_F32,
                .ne = { 8 * 4 * 7 * 3 + 3 * 16 * 8 * 4 * 3, 1, 1, 1 }, .params = { 3 },
                .src = { one.s, one.x, one.dt, one.A, one.B, one.C, one.ids }),
        OP_NODE(scan(ctx, &each), GGML_OP_SSM_SCAN, GGML_TYPE_F32,
                .ne = { 8 * 4 * 7 * 3 + 16 * 8 * 4 * 3, 1, 1, 1 }, .params = { 1 },
                .src = { one.s, one.x, one.dt, each.A, one.B, one.C, one.ids }),
        OP_NODE(scan(ctx, &strided), GGML_OP_SSM_SCAN, GGML_TYPE_F32,
                .ne = { 8 * 4 * 7 * 3 + 16 * 8 * 4 * 3, 1, 1, 1 }, .params = { 1 },
                .src = { one.s, strided.x, one.dt, one.A, one.B, one.C, one.ids }),
    };
    OP_CHECK_NODES(nodes);
}

#define REFUSED(in, rule) op_check_refused(scan(ctx, in), "ggml_ssm_scan(", rule, __LINE__)

static void shapes_refused(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs good = inputs(ctx);
    struct inputs in = good;
    in.s = op_f32_tensor(ctx, 16, 8, 3, 5);
    REFUSED(&in, "src0 must be [16, 8, 4, any]");
    in = good;
    in.dt = op_f32_tensor(ctx, 4, 7, 2, 1);
    REFUSED(&in, "src2 must be [4, 7, 3, 1]");
    in = good;
    in.A = op_f32_tensor(ctx, 2, 4, 1, 1);
    REFUSED(&in, "src3 must be [1, 4, 1, 1]");
    in = good;
    in.B = op_f32_tensor(ctx, 16, 2, 6, 3);
    REFUSED(&in, "src4 must be [16, 2, 7, 3]");
    in.B = op_f32_tensor(ctx, 16, 3, 7, 3);
    in.C = op_f32_tensor(ctx, 16, 3, 7, 3);
    REFUSED(&in, "groups of src4 must divide the heads: 3 and 4");
    in = good;
    in.C = op_f32_tensor(ctx, 16, 1, 7, 3);
    REFUSED(&in, "src5 must have the shape of src4");
    in = good;
    in.ids = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 5);
    REFUSED(&in, "src6 must be [3, 1, 1, 1]");
    in.ids = op_f32_tensor(ctx, 3, 1, 1, 1);
    REFUSED(&in, "src6 must be i32");
    in.ids = NULL;
    REFUSED(&in, "source 6 is NULL");
}

static void layouts_refused(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs good = inputs(ctx);
    struct inputs in = good;
    in.s = op_strided_tensor(ctx, GGML_TYPE_F32, 16, 8, 4, 5);
    REFUSED(&in, "src0 must be contiguous");
    in = good;
    in.dt = op_strided_tensor(ctx, GGML_TYPE_F32, 4, 7, 3, 1);
    REFUSED(&in, "src2 must be contiguous");
    in = good;
    in.A = op_strided_tensor(ctx, GGML_TYPE_F32, 16, 4, 1, 1);
    REFUSED(&in, "src3 must be contiguous");
    in = good;
    in.x = op_strided_tensor(ctx, GGML_TYPE_F32, 8, 4, 7, 3);
    REFUSED(&in, "src1 must be contiguous in dimensions 0 and 1");
    in = good;
    in.B = op_strided_tensor(ctx, GGML_TYPE_F32, 16, 2, 7, 3);
    REFUSED(&in, "src4 must be contiguous in dimensions 0 and 1");
    in = good;
    in.C = op_strided_tensor(ctx, GGML_TYPE_F32, 16, 2, 7, 3);
    REFUSED(&in, "src5 must be contiguous in dimensions 0 and 1");
}

static void snapshots_refused(void ** state) {
    struct ggml_context * ctx = *state;
    struct inputs in = inputs(ctx);
    in.k = 0;
    REFUSED(&in, "K must be at least 1 and fit in 32 bits, it is 0");
    in.k = (int64_t) 1 << 32 | 1;
    REFUSED(&in, "K must be at least 1 and fit in 32 bits, it is 4294967297");
    in.k = INT32_MAX;
    in.A = op_f32_tensor(ctx, 16, 4, 1, 1);
    REFUSED(&in, "K must be 1 where src3 has a decay for each state");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(convolution),       OP_CHECK_TEST(scans),
        OP_CHECK_TEST(shapes_refused),    OP_CHECK_TEST(layouts_refused),
        OP_CHECK_TEST(snapshots_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
