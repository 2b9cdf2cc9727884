// SPDX-License-Identifier: MIT
// core/ops/rwkv.c: RWKV_WKV6, RWKV_WKV7.
#include "op/op_check.h"

// S = 8, H = 3, T = 12 tokens of two sequences.
static struct ggml_tensor * tokens(struct ggml_context * ctx) {
    return op_f32_tensor(ctx, 8, 3, 12, 1);
}

static void version_6(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor *k = tokens(ctx), *v = tokens(ctx), *r = tokens(ctx), *td = tokens(ctx);
    struct ggml_tensor * tf = op_f32_tensor(ctx, 8, 3, 1, 1);
    struct ggml_tensor * s = op_f32_tensor(ctx, 192, 2, 1, 1);
    const struct op_node node = OP_NODE(ggml_rwkv_wkv6(ctx, k, v, r, tf, td, s), GGML_OP_RWKV_WKV6,
                                        GGML_TYPE_F32, .ne = { 24, 28, 1, 1 }, .src = { k, v, r, tf, td, s });
    op_check_node(&node);
    struct ggml_tensor * other = op_f32_tensor(ctx, 8, 3, 11, 1);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 8, 3, 12, 1);
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, other, r, tf, td, s), "must have the shape of src0");
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, v, other, tf, td, s), "must have the shape of src0");
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, v, r, tf, other, s), "must have the shape of src0");
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, v, r, k, td, s), "src3 must be [8, 3, 1, 1]");
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, v, strided, tf, td, s), "src2 must be contiguous");
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, v, r, tf, td, NULL), "source 5 is NULL");
}

static void states_that_do_not_fit(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor *k = tokens(ctx), *tf = op_f32_tensor(ctx, 8, 3, 1, 1);
    struct ggml_tensor * five = op_f32_tensor(ctx, 192, 5, 1, 1);
    struct ggml_tensor * none = op_f32_tensor(ctx, 192, 0, 1, 1);
    struct ggml_tensor * small = op_f32_tensor(ctx, 191, 2, 1, 1);
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, k, k, tf, k, five), "spread evenly over the sequences");
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, k, k, tf, k, none), "there are 12 and 0");
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, k, k, k, tf, k, small), "for each sequence, 384, it has 382");
    struct ggml_tensor * deep = op_f32_tensor(ctx, 8, 3, 12, 2);
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, deep, deep, deep, tf, deep, small), "src0 ne[3] must be 1");
    struct ggml_tensor * wide = op_f32_tensor(ctx, (int64_t) 1 << 40, 1, 1, 1);
    OP_CHECK_REFUSED(ggml_rwkv_wkv6(ctx, wide, wide, wide, wide, wide, wide), "2^63");
}

static void version_7(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor *r = tokens(ctx), *w = tokens(ctx), *k = tokens(ctx);
    struct ggml_tensor *v = tokens(ctx), *a = tokens(ctx), *b = tokens(ctx);
    struct ggml_tensor * s = op_f32_tensor(ctx, 192, 2, 1, 1);
    const struct op_node node =
        OP_NODE(ggml_rwkv_wkv7(ctx, r, w, k, v, a, b, s), GGML_OP_RWKV_WKV7, GGML_TYPE_F32,
                .ne = { 24, 28, 1, 1 }, .src = { r, w, k, v, a, b, s });
    op_check_node(&node);
    struct ggml_tensor * other = op_f32_tensor(ctx, 8, 2, 12, 1);
    struct ggml_tensor * small = op_f32_tensor(ctx, 192, 1, 1, 1);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 192, 2, 1, 1);
    OP_CHECK_REFUSED(ggml_rwkv_wkv7(ctx, r, other, k, v, a, b, s), "src1 must have the shape of src0");
    OP_CHECK_REFUSED(ggml_rwkv_wkv7(ctx, r, w, k, v, a, other, s), "src5 must have the shape of src0");
    OP_CHECK_REFUSED(ggml_rwkv_wkv7(ctx, r, w, k, v, a, b, strided), "src6 must be contiguous");
    OP_CHECK_REFUSED(ggml_rwkv_wkv7(ctx, r, w, k, v, a, b, op_f32_tensor(ctx, 193, 1, 1, 1)),
                     "192, it has 193");
    OP_CHECK_REFUSED(ggml_rwkv_wkv7(ctx, NULL, w, k, v, a, b, s), "source 0 is NULL");
    assert_int_equal(ggml_rwkv_wkv7(ctx, r, w, k, v, a, b, small)->ne[1], 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(version_6),
        OP_CHECK_TEST(states_that_do_not_fit),
        OP_CHECK_TEST(version_7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
