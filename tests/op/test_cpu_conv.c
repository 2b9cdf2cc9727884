// SPDX-License-Identifier: MIT
// CONV_2D CONV_3D CONV_2D_DW CONV_TRANSPOSE_1D CONV_TRANSPOSE_2D on the CPU.
#include "cpu_check.h"
#include "draw_window.h"

// Sums of up to some ten thousand products of numbers up to 1.
static struct cpu_oracle close_to(double (*value)(const struct ggml_tensor * node, const int64_t * i)) {
    return (struct cpu_oracle){ value, 1e-6, 1e-4 };
}

static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };

static int below(struct cpu_test * t, int64_t n) {
    return (int) test_rng_below(&t->rng, n);
}

// In memory the channels come first.
static struct ggml_tensor * channels_first(struct cpu_test * t, enum ggml_type type, const int64_t * ne) {
    const int64_t turned[] = { ne[2], ne[0], ne[1], ne[3] };
    struct ggml_tensor * x =
        ggml_permute(t->ctx, cpu_source(t, type, turned, CPU_DENSE, -1.0f, 1.0f), 2, 0, 1, 3);
    x->op = GGML_OP_NONE;
    return x;
}

enum { CHANNELS_FIRST = CPU_LAYOUTS, LAYOUTS };

static struct ggml_tensor * data(struct cpu_test * t, const int64_t * ne, int layout) {
    if (layout == CHANNELS_FIRST) return channels_first(t, GGML_TYPE_F32, ne);
    return cpu_source(t, GGML_TYPE_F32, ne, (enum cpu_layout) layout, -1.0f, 1.0f);
}

static const int64_t images[][4] = {
    { 14, 11, 3, 2 }, { 1, 1, 1, 1 }, { 40, 9, 40, 1 }, { 5, 7, 70, 3 }, { 300, 2, 2, 1 },
};
enum { IMAGES = 5, CASES = IMAGES * 3 * LAYOUTS * 3 };

static void images_under_kernels(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * in = images[k % IMAGES];
        const int64_t kernel[] = { 1 + below(&t, 4), 1 + below(&t, 4), in[2], 1 + below(&t, k % 4 ? 7 : 70) };
        struct ggml_tensor * x = data(&t, in, k / IMAGES / 3 % LAYOUTS);
        struct ggml_tensor * a = cpu_source(&t, types[k / IMAGES % 3], kernel, CPU_DENSE, -1.0f, 1.0f);
        const struct oracle_window w = draw_window(&t.rng, (const int64_t[]){ kernel[0], kernel[1], 1 }, in);
        struct ggml_tensor * y =
            ggml_conv_2d_direct(t.ctx, a, x, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1]);
        assert_int_equal(y->op, GGML_OP_CONV_2D);
        cpu_check(&t, y, close_to(oracle_conv_2d));
        cpu_test_free(&t);
    }
}

static void volumes_under_kernels(void ** state) {
    (void) state;
    static const int64_t sizes[][4] = { { 9, 7, 5, 3 }, { 1, 1, 1, 1 }, { 4, 3, 6, 40 }, { 150, 2, 1, 2 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * 3 * CPU_LAYOUTS * 2; k += cpu_step(4 * 3 * CPU_LAYOUTS * 2)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * in = sizes[k % 4];
        const int n = 1 + below(&t, 3), ic = (int) in[3], oc = 1 + below(&t, 6);
        const int64_t kernel[] = { 1 + below(&t, 3), 1 + below(&t, 3), 1 + below(&t, 3), ic * oc };
        struct ggml_tensor * x =
            data(&t, (const int64_t[]){ in[0], in[1], in[2], ic * n }, k / 12 % CPU_LAYOUTS);
        struct ggml_tensor * a = cpu_source(&t, types[k / 4 % 3], kernel, CPU_DENSE, -1.0f, 1.0f);
        const struct oracle_window w = draw_window(&t.rng, kernel, in);
        struct ggml_tensor * y = ggml_conv_3d_direct(t.ctx, a, x, w.s[0], w.s[1], w.s[2], w.p[0], w.p[1],
                                                     w.p[2], w.d[0], w.d[1], w.d[2], ic, n, oc);
        assert_int_equal(y->op, GGML_OP_CONV_3D);
        cpu_check(&t, y, close_to(oracle_conv_3d));
        cpu_test_free(&t);
    }
}

static void channels_under_their_own_kernels(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES * 2; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        int64_t in[4];
        memcpy(in, images[k % IMAGES], sizeof(in));
        if (k % 7 == 0) in[2] = 530;
        const int64_t kernel[] = { 1 + below(&t, 5), 1 + below(&t, 4), 1, in[2] };
        const int layout = k / IMAGES / 3 % LAYOUTS;
        struct ggml_tensor * x = data(&t, in, layout);
        // a kernel whose slices lie side by side as well
        const int64_t turned[] = { in[2], kernel[0], kernel[1], 1 };
        struct ggml_tensor * a =
            below(&t, 2)
                ? cpu_source(&t, types[k / IMAGES % 3], kernel, CPU_DENSE, -1.0f, 1.0f)
                : ggml_permute(t.ctx, cpu_source(&t, types[k / IMAGES % 3], turned, CPU_DENSE, -1.0f, 1.0f),
                               3, 0, 1, 2);
        a->op = GGML_OP_NONE;
        const struct oracle_window w = draw_window(&t.rng, (const int64_t[]){ kernel[0], kernel[1], 1 }, in);
        struct ggml_tensor * y =
            ggml_conv_2d_dw_direct(t.ctx, a, x, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1]);
        assert_int_equal(y->op, GGML_OP_CONV_2D_DW);
        if (ggml_is_contiguous_channels(x)) assert_int_equal(y->nb[2], sizeof(float));
        cpu_check(&t, y, close_to(oracle_conv_2d_dw));
        cpu_test_free(&t);
    }
}

static void kernels_laid_down_in_rows(void ** state) {
    (void) state;
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 14, 3, 5 }, { 700, 2, 3 }, { 9, 300, 2 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * 3 * CPU_LAYOUTS * 3; k += cpu_step(4 * 3 * CPU_LAYOUTS * 3)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * s = sizes[k % 4]; // length, input and output channels
        const int64_t kernel[] = { 1 + below(&t, k % 3 ? 12 : 600), s[2], s[1], 1 };
        const int layout = k / 12 % CPU_LAYOUTS;
        struct ggml_tensor * a =
            cpu_source(&t, types[k / 4 % 3], kernel, (enum cpu_layout) layout, -1.0f, 1.0f);
        struct ggml_tensor * x = data(&t, (const int64_t[]){ s[0], s[1], 1, 1 }, layout);
        struct ggml_tensor * y = ggml_conv_transpose_1d(t.ctx, a, x, 1 + below(&t, 9), 0, 1);
        assert_int_equal(y->op, GGML_OP_CONV_TRANSPOSE_1D);
        cpu_check(&t, y, close_to(oracle_conv_transpose_1d));
        cpu_test_free(&t);
    }
}

static void kernels_laid_down_in_planes(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * in = images[k % IMAGES];
        const int64_t kernel[] = { 1 + below(&t, 6), 1 + below(&t, 4), 1 + below(&t, 4), in[2] };
        const int layout = k / IMAGES / 3 % LAYOUTS;
        struct ggml_tensor * x = data(&t, in, layout);
        struct ggml_tensor * a = cpu_source(&t, types[k / IMAGES % 3], kernel,
                                            (enum cpu_layout)(layout % CPU_LAYOUTS), -1.0f, 1.0f);
        struct ggml_tensor * y = ggml_conv_transpose_2d_p0(t.ctx, a, x, 1 + below(&t, 3));
        assert_int_equal(y->op, GGML_OP_CONV_TRANSPOSE_2D);
        cpu_check(&t, y, close_to(oracle_conv_transpose_2d));
        cpu_test_free(&t);
    }
}

// With a kernel of half floats nothing becomes infinite, nor is data rounded to halves.
static void data_is_not_rounded_to_the_kernel(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 6, 5, 3, 1 }, kernel[] = { 2, 2, 3, 3 }, flat[] = { 2, 2, 1, 3 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1e30f, 1e30f);
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F16, kernel, CPU_DENSE, 0.5f, 1.0f);
    struct ggml_tensor * dw = cpu_source(&t, GGML_TYPE_F16, flat, CPU_DENSE, 0.5f, 1.0f);
    cpu_check(&t, ggml_conv_2d_direct(t.ctx, a, x, 1, 1, 0, 0, 1, 1),
              (struct cpu_oracle){ oracle_conv_2d, 1e-6, 1e25 });
    cpu_check(&t, ggml_conv_2d_dw_direct(t.ctx, dw, x, 1, 1, 0, 0, 1, 1),
              (struct cpu_oracle){ oracle_conv_2d_dw, 1e-6, 1e25 });
    cpu_check(&t, ggml_conv_transpose_2d_p0(t.ctx, a, x, 2),
              (struct cpu_oracle){ oracle_conv_transpose_2d, 1e-6, 1e25 });
    cpu_test_free(&t);
}

// No input channels: all sums are empty.
static void nothing_gives_zeros(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x =
        cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ 6, 5, 0, 1 }, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * a =
        cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ 2, 2, 0, 3 }, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * b =
        cpu_source(&t, GGML_TYPE_F16, (const int64_t[]){ 2, 2, 3, 0 }, CPU_DENSE, -1.0f, 1.0f);
    cpu_check(&t, ggml_conv_2d_direct(t.ctx, a, x, 1, 1, 0, 0, 1, 1), close_to(oracle_conv_2d));
    cpu_check(&t, ggml_conv_transpose_2d_p0(t.ctx, b, x, 2), close_to(oracle_conv_transpose_2d));
    cpu_test_free(&t);
}

static void what_is_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 6, 5, 3, 2 }, kernel[] = { 3, 3, 3, 3 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * h = cpu_source(&t, GGML_TYPE_F16, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F32, kernel, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, kernel, CPU_DENSE, -9.0f, 9.0f);
    struct ggml_tensor * turned = cpu_source(&t, GGML_TYPE_F32, kernel, CPU_TURNED, -1.0f, 1.0f);
    cpu_refused(&t, ggml_conv_2d_direct(t.ctx, a, h, 1, 1, 0, 0, 1, 1), "src1 is f16");
    cpu_refused(&t, ggml_conv_2d_direct(t.ctx, i, x, 1, 1, 0, 0, 1, 1), "i32");
    cpu_refused(&t, ggml_conv_2d_direct(t.ctx, turned, x, 1, 1, 0, 0, 1, 1), "contiguous");
    cpu_refused(&t, ggml_conv_transpose_2d_p0(t.ctx, a, h, 1), "src1 is f16");
    cpu_refused(&t, ggml_conv_transpose_2d_p0(t.ctx, i, x, 1), "i32");
    struct ggml_tensor * flat =
        cpu_source(&t, GGML_TYPE_I32, (const int64_t[]){ 3, 3, 1, 3 }, CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_conv_2d_dw_direct(t.ctx, flat, x, 1, 1, 0, 0, 1, 1), "i32");
    cpu_refused(&t, ggml_conv_2d_dw_direct(t.ctx, flat, h, 1, 1, 0, 0, 1, 1), "src1 is f16");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_under_kernels),
        cmocka_unit_test(volumes_under_kernels),
        cmocka_unit_test(channels_under_their_own_kernels),
        cmocka_unit_test(kernels_laid_down_in_rows),
        cmocka_unit_test(kernels_laid_down_in_planes),
        cmocka_unit_test(data_is_not_rounded_to_the_kernel),
        cmocka_unit_test(nothing_gives_zeros),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
