// SPDX-License-Identifier: MIT
// IM2COL IM2COL_BACK IM2COL_3D COL2IM_1D on the CPU.
#include "cpu_check.h"
#include "draw_window.h"

static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
enum { CASES = 3 * 3 * CPU_LAYOUTS * 3 };

static int below(struct cpu_test * t, int64_t n) {
    return (int) test_rng_below(&t->rng, n);
}

static struct ggml_tensor * kernel_of(struct cpu_test * t, enum ggml_type type, int64_t k0, int64_t k1,
                                      int64_t k2, int64_t k3) {
    struct ggml_tensor * k = ggml_new_tensor_4d(t->ctx, type, k0, k1, k2, k3);
    cpu_allocate(t);
    return k;
}

static void columns(void ** state) {
    (void) state;
    static const int64_t sizes[][4] = { { 14, 11, 3, 2 }, { 600, 2, 2, 1 }, { 7, 5, 40, 2 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * in = sizes[k / 9 / CPU_LAYOUTS];
        const int64_t kernel[] = { 1 + below(&t, 5), 1 + below(&t, 4), 1 };
        struct ggml_tensor * x =
            cpu_source(&t, types[k % 3], in, (enum cpu_layout)(k / 9 % CPU_LAYOUTS), -1.0f, 1.0f);
        const struct oracle_window w = draw_window(&t.rng, kernel, in);
        struct ggml_tensor * a = kernel_of(&t, GGML_TYPE_F16, kernel[0], kernel[1], in[2], 2);
        struct ggml_tensor * y =
            ggml_im2col(t.ctx, a, x, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1], true, types[k / 3 % 3]);
        assert_int_equal(y->op, GGML_OP_IM2COL);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_im2col, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void columns_of_one_dimension(void ** state) {
    (void) state;
    static const int64_t sizes[][4] = { { 14, 11, 3, 1 }, { 600, 2, 2, 1 }, { 7, 300, 2, 1 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * in = sizes[k / 9 / CPU_LAYOUTS];
        const int64_t kernel[] = { 1 + below(&t, 5), 1, 1 };
        struct ggml_tensor * x =
            cpu_source(&t, types[k % 3], in, (enum cpu_layout)(k / 9 % CPU_LAYOUTS), -1.0f, 1.0f);
        const struct oracle_window w = draw_window(&t.rng, kernel, in);
        struct ggml_tensor * a = kernel_of(&t, GGML_TYPE_F32, kernel[0], in[1], 4, 1);
        struct ggml_tensor * y =
            ggml_im2col(t.ctx, a, x, w.s[0], 9, w.p[0], 9, w.d[0], 9, false, types[k / 3 % 3]);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_im2col, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void columns_of_three_dimensions(void ** state) {
    (void) state;
    static const int64_t sizes[][4] = { { 14, 11, 5, 4 }, { 300, 2, 3, 2 }, { 7, 5, 4, 36 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * in = sizes[k / 9 / CPU_LAYOUTS];
        const int64_t kernel[] = { 1 + below(&t, 4), 1 + below(&t, 3), 1 + below(&t, 3) };
        const int64_t channels = in[3] / 2;
        struct ggml_tensor * x =
            cpu_source(&t, types[k % 3], in, (enum cpu_layout)(k / 9 % CPU_LAYOUTS), -1.0f, 1.0f);
        const struct oracle_window w = draw_window(&t.rng, kernel, in);
        struct ggml_tensor * a = kernel_of(&t, GGML_TYPE_F16, kernel[0], kernel[1], kernel[2], channels * 3);
        struct ggml_tensor * y = ggml_im2col_3d(t.ctx, a, x, channels, w.s[0], w.s[1], w.s[2], w.p[0], w.p[1],
                                                w.p[2], w.d[0], w.d[1], w.d[2], types[k / 3 % 3]);
        assert_int_equal(y->op, GGML_OP_IM2COL_3D);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_im2col, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static const struct cpu_oracle back = { oracle_im2col_back, 1e-7, 1e-9 };

static void folded_columns(void ** state) {
    (void) state;
    static const int64_t sizes[][4] = { { 14, 11, 3, 2 }, { 600, 2, 2, 1 }, { 7, 5, 8, 2 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const bool is_2d = k / 3 % 3 > 0;
        int64_t in[4];
        memcpy(in, sizes[k / 9 / CPU_LAYOUTS], sizeof(in));
        if (!is_2d) in[3] = 1;
        const int64_t kernel[] = { 1 + below(&t, 5), is_2d ? 1 + below(&t, 4) : 1, 1 };
        const struct oracle_window w = draw_window(&t.rng, kernel, in);
        struct ggml_tensor * a = is_2d ? kernel_of(&t, GGML_TYPE_F16, kernel[0], kernel[1], in[2], 2)
                                       : kernel_of(&t, GGML_TYPE_F32, kernel[0], in[1], 2, 1);
        struct ggml_tensor * x = ggml_new_tensor(t.ctx, GGML_TYPE_F32, 4, in);
        struct ggml_tensor * f =
            ggml_im2col(t.ctx, a, x, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1], is_2d, GGML_TYPE_F32);
        struct ggml_tensor * g =
            cpu_source(&t, types[k % 3], f->ne, (enum cpu_layout)(k / 9 % CPU_LAYOUTS), -1.0f, 1.0f);
        struct ggml_tensor * y =
            ggml_im2col_back(t.ctx, g, a, in, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1], is_2d);
        assert_int_equal(y->op, GGML_OP_IM2COL_BACK);
        cpu_check(&t, y, back);
        cpu_test_free(&t);
    }
}

// --- col2im_1d

static void columns_laid_down(void ** state) {
    (void) state;
    static const int64_t sizes[][3] = { { 1, 5, 1 }, { 4, 23, 3 }, { 7, 400, 2 }, { 1200, 9, 2 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * 3 * 5; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * s = sizes[k / 3 % 4]; // kernel, columns, channels
        struct ggml_tensor * a = cpu_source(&t, types[k % 3], (const int64_t[]){ s[0] * s[2], s[1], 1, 1 },
                                            CPU_DENSE, -1.0f, 1.0f);
        const int stride = 1 + below(&t, 5);
        const int pad = below(&t, ((s[1] - 1) * stride + s[0] + 1) / 2);
        struct ggml_tensor * y = ggml_col2im_1d(t.ctx, a, stride, (int) s[2], pad);
        assert_int_equal(y->op, GGML_OP_COL2IM_1D);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_col2im, 1e-7, 1e-9 });
        cpu_test_free(&t);
    }
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 32, 3, 2, 1 };
    struct ggml_tensor * a = kernel_of(&t, GGML_TYPE_F16, 3, 3, 2, 2);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, ne, CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_im2col(t.ctx, a, i, 1, 1, 0, 0, 1, 1, true, GGML_TYPE_F32), "i32");
    cpu_refused(&t, ggml_im2col(t.ctx, a, x, 1, 1, 0, 0, 1, 1, true, GGML_TYPE_I32), "i32");
    struct ggml_tensor * g =
        cpu_source(&t, GGML_TYPE_I32, (const int64_t[]){ 18, 30, 1, 1 }, CPU_DENSE, -9.0f, 9.0f);
    int64_t size[] = { 32, 3, 2, 1 };
    cpu_refused(&t, ggml_im2col_back(t.ctx, g, a, size, 1, 1, 0, 0, 1, 1, true), "i32");
    cpu_refused(&t, ggml_col2im_1d(t.ctx, g, 1, 3, 0), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns),
        cmocka_unit_test(columns_of_one_dimension),
        cmocka_unit_test(columns_of_three_dimensions),
        cmocka_unit_test(folded_columns),
        cmocka_unit_test(columns_laid_down),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
