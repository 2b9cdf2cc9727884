// SPDX-License-Identifier: MIT
// core/ops/linear_attn.c: GATED_LINEAR_ATTN, GATED_DELTA_NET, LIGHTNING_INDEXER.
#include "op/op_check.h"

static void gated_linear(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * k = op_f32_tensor(ctx, 8, 3, 12, 1);
    struct ggml_tensor * v = op_f32_tensor(ctx, 8, 3, 12, 1);
    struct ggml_tensor * q = op_f32_tensor(ctx, 8, 3, 12, 1);
    struct ggml_tensor * g = op_f32_tensor(ctx, 8, 3, 12, 1);
    struct ggml_tensor * s = op_f32_tensor(ctx, 192, 2, 1, 1);
    const struct op_node node =
        OP_NODE(ggml_gated_linear_attn(ctx, k, v, q, g, s, 0.5f), GGML_OP_GATED_LINEAR_ATTN, GGML_TYPE_F32,
                .ne = { 24, 28, 1, 1 }, .params = { op_f32(0.5f) }, .src = { k, v, q, g, s });
    op_check_node(&node);
    struct ggml_tensor * other = op_f32_tensor(ctx, 8, 3, 6, 1);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 8, 3, 12, 1);
    OP_CHECK_REFUSED(ggml_gated_linear_attn(ctx, k, v, q, other, s, 1), "src3 must have the shape of src0");
    OP_CHECK_REFUSED(ggml_gated_linear_attn(ctx, k, strided, q, g, s, 1), "src1 must be contiguous");
    OP_CHECK_REFUSED(ggml_gated_linear_attn(ctx, k, v, q, g, op_f32_tensor(ctx, 192, 5, 1, 1), 1),
                     "spread evenly");
    OP_CHECK_REFUSED(ggml_gated_linear_attn(ctx, k, v, q, g, NULL, 1), "source 4 is NULL");
}

// S = 16, 4 heads, 7 tokens, 6 sequences; 2 heads of queries, 1 of keys, for 3 and 6 sequences.
struct inputs {
    struct ggml_tensor *q, *k, *v, *g, *beta, *state;
    int64_t n_states;
};

static struct inputs inputs(struct ggml_context * ctx) {
    return (struct inputs){
        .q = op_f32_tensor(ctx, 16, 2, 7, 3),
        .k = op_f32_tensor(ctx, 16, 1, 7, 6),
        .v = op_f32_tensor(ctx, 16, 4, 7, 6),
        .g = op_f32_tensor(ctx, 1, 4, 7, 6),
        .beta = op_f32_tensor(ctx, 1, 4, 7, 6),
        .state = op_f32_tensor(ctx, 16, 16, 4, 6),
        .n_states = 1,
    };
}

static struct ggml_tensor * delta(struct ggml_context * ctx, const struct inputs * in) {
    return ggml_gated_delta_net(ctx, in->q, in->k, in->v, in->g, in->beta, in->state, in->n_states);
}

static void gated_delta(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs one = inputs(ctx);
    struct inputs more = one;
    more.n_states = 3;
    more.g = op_f32_tensor(ctx, 16, 4, 7, 6);
    const struct op_node nodes[] = {
        OP_NODE(delta(ctx, &one), GGML_OP_GATED_DELTA_NET, GGML_TYPE_F32, .ne = { 64, 7 * 6 + 16 * 6, 1, 1 },
                .params = { 1 }, .src = { one.q, one.k, one.v, one.g, one.beta, one.state }),
        OP_NODE(delta(ctx, &more), GGML_OP_GATED_DELTA_NET, GGML_TYPE_F32,
                .ne = { 64, 7 * 6 + 3 * 16 * 6, 1, 1 }, .params = { 3 },
                .src = { one.q, one.k, one.v, more.g, one.beta, one.state }),
    };
    OP_CHECK_NODES(nodes);
}

#define REFUSED(rule) op_check_refused(delta(ctx, &in), "ggml_gated_delta_net(", rule, __LINE__)

static void gated_delta_refused(void ** state) {
    struct ggml_context * ctx = *state;
    const struct inputs good = inputs(ctx);
    struct inputs in = good;
    in.q = op_f32_tensor(ctx, 8, 2, 7, 3);
    REFUSED("src0 must be [16, any, 7, any]");
    in.q = op_f32_tensor(ctx, 16, 3, 7, 3);
    REFUSED("src0 ne[1] = 3 must divide src2 ne[1] = 4");
    in.q = op_f32_tensor(ctx, 16, 2, 7, 4);
    REFUSED("src0 ne[3] = 4 must divide src2 ne[3] = 6");
    in.q = op_strided_tensor(ctx, GGML_TYPE_F32, 16, 2, 7, 3);
    REFUSED("src0 must have contiguous rows");
    in = good;
    in.k = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 16, 1, 7, 6);
    REFUSED("src1 must be f32");
    in = good;
    in.g = op_f32_tensor(ctx, 2, 4, 7, 6);
    REFUSED("src3 must be [1, 4, 7, 6]");
    in = good;
    in.beta = op_f32_tensor(ctx, 16, 4, 7, 6);
    REFUSED("src4 must be [1, 4, 7, 6]");
    in = good;
    in.state = op_f32_tensor(ctx, 16, 16, 4, 5);
    REFUSED("src5 must be [16, 16, 4, 6]");
    in.state = op_strided_tensor(ctx, GGML_TYPE_F32, 16, 16, 4, 6);
    REFUSED("src5 must be contiguous");
    in = good;
    in.n_states = 0;
    REFUSED("K must be at least 1");
    in.n_states = (int64_t) 1 << 40;
    REFUSED("fit in 32 bits");
}

static void indexer(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * q = op_f32_tensor(ctx, 32, 4, 5, 6);
    struct ggml_tensor * k = ggml_new_tensor_4d(ctx, GGML_TYPE_Q8_0, 32, 1, 9, 6);
    struct ggml_tensor * w = op_f32_tensor(ctx, 4, 5, 1, 6);
    struct ggml_tensor * m = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 9, 5, 1, 3);
    const struct op_node node = OP_NODE(ggml_lightning_indexer(ctx, q, k, w, m), GGML_OP_LIGHTNING_INDEXER,
                                        GGML_TYPE_F32, .ne = { 9, 5, 1, 6 }, .src = { q, k, w, m });
    op_check_node(&node);
    struct ggml_tensor * two_heads = op_f32_tensor(ctx, 32, 2, 9, 6);
    struct ggml_tensor * four = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 9, 5, 1, 4);
    struct ggml_tensor * wide = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 10, 5, 1, 3);
    OP_CHECK_REFUSED(ggml_lightning_indexer(ctx, q, two_heads, w, m), "src1 must be [32, 1, 9, 6]");
    OP_CHECK_REFUSED(ggml_lightning_indexer(ctx, q, k, k, m), "src2 must be [4, 5, 1, 6]");
    OP_CHECK_REFUSED(ggml_lightning_indexer(ctx, q, k, w, wide), "src3 must be [9, 5, 1, any]");
    OP_CHECK_REFUSED(ggml_lightning_indexer(ctx, q, k, w, four), "src3 ne[3] = 4 must divide src0 ne[3] = 6");
    OP_CHECK_REFUSED(ggml_lightning_indexer(ctx, q, k, w, NULL), "source 3 is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OP_CHECK_TEST(gated_linear),
        OP_CHECK_TEST(gated_delta),
        OP_CHECK_TEST(gated_delta_refused),
        OP_CHECK_TEST(indexer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
