// SPDX-License-Identifier: MIT
// core/ops/generate.c: ARANGE, TIMESTEP_EMBEDDING, FILL.
#include "op/op_check.h"

#include <math.h>

static struct op_node range(struct ggml_context * ctx, float start, float stop, float step, int64_t n) {
    return (struct op_node){
        .t = ggml_arange(ctx, start, stop, step),
        .op = GGML_OP_ARANGE,
        .type = GGML_TYPE_F32,
        .ne = { n, 1, 1, 1 },
        .params = { op_f32(start), op_f32(stop), op_f32(step) },
    };
}

static void ranges(void ** state) {
    struct ggml_context * ctx = *state;
    const struct op_node nodes[] = {
        range(ctx, 0, 10, 1, 10),    range(ctx, 0, 10, 3, 4),      range(ctx, -1, 1, 0.5f, 4),
        range(ctx, 0, 0.1f, 100, 1), range(ctx, 0, 0.3f, 0.1f, 3), // in single precision the quotient is
                                                                   // exactly 3
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_arange(ctx, 1, 1, 1), "stop must be above start: they are 1 and 1");
    OP_CHECK_REFUSED(ggml_arange(ctx, 1, 0, -1), "stop must be above start");
    OP_CHECK_REFUSED(ggml_arange(ctx, 0, NAN, 1), "stop must be above start");
    OP_CHECK_REFUSED(ggml_arange(ctx, 0, 1, 0), "step must be above 0, is 0");
    OP_CHECK_REFUSED(ggml_arange(ctx, 0, 1, -1), "step must be above 0, is -1");
    OP_CHECK_REFUSED(ggml_arange(ctx, 0, 1, NAN), "step must be above 0");
    OP_CHECK_REFUSED(ggml_arange(ctx, 0, INFINITY, 1), "below 2^62");
    OP_CHECK_REFUSED(ggml_arange(ctx, 0, 1e30f, 1e-30f), "below 2^62");
}

static void embeddings(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 5);
    const struct op_node nodes[] = {
        OP_NODE(ggml_timestep_embedding(ctx, t, 32, 10000), GGML_OP_TIMESTEP_EMBEDDING, GGML_TYPE_F32,
                .ne = { 32, 5, 1, 1 }, .params = { 32, 10000 }, .src = { t }),
        OP_NODE(ggml_timestep_embedding(ctx, t, 7, 100), GGML_OP_TIMESTEP_EMBEDDING, GGML_TYPE_F32,
                .ne = { 7, 5, 1, 1 }, .params = { 7, 100 }, .src = { t }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_timestep_embedding(ctx, t, 0, 100), "dim must be above 0, is 0");
    OP_CHECK_REFUSED(ggml_timestep_embedding(ctx, t, -4, 100), "dim must be above 0, is -4");
    OP_CHECK_REFUSED(ggml_timestep_embedding(ctx, t, 4, 0), "max_period must be above 0, is 0");
    OP_CHECK_REFUSED(ggml_timestep_embedding(ctx, NULL, 4, 100), "source 0 is NULL");
}

static void fills(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = ggml_set_name(op_f32_tensor(ctx, 3, 4, 5, 6), "a");
    struct ggml_tensor * half = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 3, 4);
    struct ggml_tensor * whole = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 3, 4);
    struct ggml_tensor * strided = op_strided_tensor(ctx, GGML_TYPE_F32, 3, 4, 1, 1);
    const struct op_node nodes[] = {
        OP_NODE(ggml_fill(ctx, a, 2.5f), GGML_OP_FILL, GGML_TYPE_F32, .ne = { 3, 4, 5, 6 },
                .params = { op_f32(2.5f) }, .src = { a }),
        OP_NODE(ggml_fill_inplace(ctx, a, -1), GGML_OP_FILL, GGML_TYPE_F32, .ne = { 3, 4, 5, 6 },
                .params = { op_f32(-1) }, .src = { a }, .base = a, .name = "a (view)"),
        OP_NODE(ggml_fill(ctx, half, 0), GGML_OP_FILL, GGML_TYPE_F16, .ne = { 3, 4, 1, 1 }, .src = { half }),
    };
    OP_CHECK_NODES(nodes);
    OP_CHECK_REFUSED(ggml_fill(ctx, whole, 1), "src0 must be f32 or f16, is i32");
    OP_CHECK_REFUSED(ggml_fill_inplace(ctx, strided, 1), "src0 must be contiguous");
    assert_true(tn_op_get(GGML_OP_FILL)->may_reuse);
}

int main(void) {
    const struct CMUnitTest tests[] = { OP_CHECK_TEST(ranges), OP_CHECK_TEST(embeddings),
                                        OP_CHECK_TEST(fills) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
