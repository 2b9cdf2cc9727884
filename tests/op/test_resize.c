// SPDX-License-Identifier: MIT
// core/ops/resize.c: UPSCALE by its three builders.
#include "op/op_check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // upscale_ext must go on working

static void sizes(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 3, 4, 5, 6);
    struct ggml_tensor * none = op_f32_tensor(ctx, 0, 4, 1, 1);
    const int32_t smooth = GGML_SCALE_MODE_BILINEAR | GGML_SCALE_FLAG_ANTIALIAS;
    const int32_t corners = GGML_SCALE_MODE_BICUBIC | GGML_SCALE_FLAG_ALIGN_CORNERS;
    const struct op_node nodes[] = {
        OP_NODE(ggml_upscale(ctx, a, 2, GGML_SCALE_MODE_NEAREST), GGML_OP_UPSCALE, GGML_TYPE_F32,
                .ne = { 6, 8, 5, 6 }, .src = { a }),
        OP_NODE(ggml_upscale(ctx, a, 3, GGML_SCALE_MODE_BICUBIC), GGML_OP_UPSCALE, GGML_TYPE_F32,
                .ne = { 9, 12, 5, 6 }, .params = { 2 }, .src = { a }),
        OP_NODE(ggml_interpolate(ctx, a, 1, 2, 3, 4, (uint32_t) smooth), GGML_OP_UPSCALE, GGML_TYPE_F32,
                .ne = { 1, 2, 3, 4 }, .params = { smooth }, .src = { a }),
        OP_NODE(ggml_interpolate(ctx, a, 7, 8, 5, 6, (uint32_t) corners), GGML_OP_UPSCALE, GGML_TYPE_F32,
                .ne = { 7, 8, 5, 6 }, .params = { corners }, .src = { a }),
        OP_NODE(ggml_interpolate(ctx, none, 0, 8, 1, 1, 0), GGML_OP_UPSCALE, GGML_TYPE_F32,
                .ne = { 0, 8, 1, 1 }, .src = { none }),
        OP_NODE(ggml_upscale_ext(ctx, a, 7, 8, 9, 10, GGML_SCALE_MODE_BILINEAR), GGML_OP_UPSCALE,
                GGML_TYPE_F32, .ne = { 7, 8, 9, 10 }, .params = { 1 }, .src = { a }),
    };
    OP_CHECK_NODES(nodes);
}

static void refusals(void ** state) {
    struct ggml_context * ctx = *state;
    struct ggml_tensor * a = op_f32_tensor(ctx, 3, 4, 5, 6);
    struct ggml_tensor * half = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 3, 4);
    struct ggml_tensor * none = op_f32_tensor(ctx, 0, 4, 1, 1);
    struct ggml_tensor * huge = op_f32_tensor(ctx, INT64_MAX / 8, 1, 1, 1);
    OP_CHECK_REFUSED(ggml_upscale(ctx, a, 1, GGML_SCALE_MODE_NEAREST), "scale_factor must be above 1, is 1");
    OP_CHECK_REFUSED(ggml_upscale(ctx, a, INT32_MIN, GGML_SCALE_MODE_NEAREST),
                     "scale_factor must be above 1");
    OP_CHECK_REFUSED(ggml_upscale(ctx, huge, 100, GGML_SCALE_MODE_NEAREST), "2^63");
    OP_CHECK_REFUSED(ggml_upscale(ctx, a, 2, (enum ggml_scale_mode) 3),
                     "mode must be a scale mode and flags, is 0x3");
    OP_CHECK_REFUSED(ggml_interpolate(ctx, a, 1, 1, 1, 1, 1 << 10),
                     "mode must be a scale mode and flags, is 0x400");
    OP_CHECK_REFUSED(ggml_interpolate(ctx, a, 1, 1, 1, 1, UINT32_MAX), "mode must be a scale mode");
    OP_CHECK_REFUSED(
        ggml_interpolate(ctx, a, 1, 1, 1, 1, GGML_SCALE_MODE_BICUBIC | GGML_SCALE_FLAG_ANTIALIAS),
        "must be bilinear");
    OP_CHECK_REFUSED(ggml_interpolate(ctx, a, 1, -1, 1, 1, 0), "negative");
    OP_CHECK_REFUSED(ggml_interpolate(ctx, none, 1, 4, 1, 1, 0), "must not be empty");
    OP_CHECK_REFUSED(ggml_interpolate(ctx, half, 1, 4, 1, 1, 0), "src0 must be f32");
    OP_CHECK_REFUSED(ggml_upscale_ext(ctx, a, 1, 1, 1, -1, GGML_SCALE_MODE_NEAREST), "negative");
    OP_CHECK_REFUSED(ggml_upscale(ctx, NULL, 2, GGML_SCALE_MODE_NEAREST), "source 0 is NULL");
}

int main(void) {
    const struct CMUnitTest tests[] = { OP_CHECK_TEST(sizes), OP_CHECK_TEST(refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
