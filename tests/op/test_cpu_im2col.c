// SPDX-License-Identifier: MIT
// IM2COL IM2COL_BACK IM2COL_3D COL2IM_1D on the CPU.
#include "cpu_check.h"

// Strides, paddings and dilations of a window; those of missing dimensions are 1, 0, 1.
struct window {
    int s[3], p[3], d[3];
};

static struct window window_of(const struct ggml_tensor * node, int words, int dims) {
    struct window w;
    for (int i = 0; i < 3; i++) {
        w.s[i] = i < dims ? node->op_params[i] : 1;
        w.p[i] = i < dims ? node->op_params[words + i] : 0;
        w.d[i] = i < dims ? node->op_params[2 * words + i] : 1;
    }
    return w;
}

static int dims_of(const struct ggml_tensor * node) {
    return node->op == GGML_OP_IM2COL_3D ? 3 : node->op_params[6] ? 2 : 1;
}

// Data element under element `index` of the column of output o; batch is the last index. 0 outside.
static double under(const struct ggml_tensor * x, const struct window * w, const int64_t * kernel, int dims,
                    const int64_t * column) {
    int64_t at[4] = { 0 }, index = column[0];
    for (int i = 0; i < dims; i++) {
        at[i] = column[1 + i] * w->s[i] + index % kernel[i] * w->d[i] - w->p[i];
        if (at[i] < 0 || at[i] >= x->ne[i]) return 0.0;
        index /= kernel[i];
    }
    return dims == 3   ? cpu_get(x, at[0], at[1], at[2], column[4] + index)
           : dims == 2 ? cpu_get(x, at[0], at[1], index, column[3])
                       : cpu_get(x, at[0], index, column[2], 0);
}

static double oracle(const struct ggml_tensor * node, const int64_t * i) {
    const int dims = dims_of(node);
    const struct window w = window_of(node, dims == 3 ? 3 : 2, dims);
    int64_t column[5] = { i[0], i[1], i[2], i[3] };
    if (dims == 3) { // the last dimension holds depth and batch
        const int64_t channels = node->op_params[9], depth = node->ne[3] / (node->src[1]->ne[3] / channels);
        column[3] = i[3] % depth;
        column[4] = i[3] / depth * channels;
    }
    return under(node->src[1], &w, node->src[0]->ne, dims, column);
}

static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
enum { CASES = 3 * 3 * CPU_LAYOUTS * 3 };

static int below(struct cpu_test * t, int64_t n) {
    return (int) test_rng_below(&t->rng, n);
}

// Such that the window, of size kernel, fits at least once.
static struct window random_window(struct cpu_test * t, const int64_t * kernel, const int64_t * in) {
    struct window w;
    for (int i = 0; i < 3; i++) {
        w.s[i] = 1 + below(t, 3);
        w.d[i] = 1 + below(t, 3);
        w.p[i] = below(t, 3);
        const int64_t span = (kernel[i] - 1) * w.d[i] + 1;
        if (span > in[i] + 2 * w.p[i]) w.p[i] = (int) (span - in[i] + 1) / 2;
    }
    return w;
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
        const struct window w = random_window(&t, kernel, in);
        struct ggml_tensor * a = kernel_of(&t, GGML_TYPE_F16, kernel[0], kernel[1], in[2], 2);
        struct ggml_tensor * y =
            ggml_im2col(t.ctx, a, x, w.s[0], w.s[1], w.p[0], w.p[1], w.d[0], w.d[1], true, types[k / 3 % 3]);
        assert_int_equal(y->op, GGML_OP_IM2COL);
        cpu_check(&t, y, (struct cpu_oracle){ oracle, 0.0, 0.0 });
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
        const struct window w = random_window(&t, kernel, in);
        struct ggml_tensor * a = kernel_of(&t, GGML_TYPE_F32, kernel[0], in[1], 4, 1);
        struct ggml_tensor * y =
            ggml_im2col(t.ctx, a, x, w.s[0], 9, w.p[0], 9, w.d[0], 9, false, types[k / 3 % 3]);
        cpu_check(&t, y, (struct cpu_oracle){ oracle, 0.0, 0.0 });
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
        const struct window w = random_window(&t, kernel, in);
        struct ggml_tensor * a = kernel_of(&t, GGML_TYPE_F16, kernel[0], kernel[1], kernel[2], channels * 3);
        struct ggml_tensor * y = ggml_im2col_3d(t.ctx, a, x, channels, w.s[0], w.s[1], w.s[2], w.p[0], w.p[1],
                                                w.p[2], w.d[0], w.d[1], w.d[2], types[k / 3 % 3]);
        assert_int_equal(y->op, GGML_OP_IM2COL_3D);
        cpu_check(&t, y, (struct cpu_oracle){ oracle, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

// Sum over all column entries whose place is this element.
static double back_oracle(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * g = node->src[0];
    const int dims = dims_of(node);
    const struct window w = window_of(node, 2, dims);
    const int64_t * kernel = node->src[1]->ne;
    const int64_t k1 = dims == 2 ? kernel[1] : 1, y = dims == 2 ? i[1] : 0;
    const int64_t channel = dims == 2 ? i[2] : i[1], rows = dims == 2 ? g->ne[2] : 1;
    double sum = 0.0;
    for (int64_t oy = 0; oy < rows; oy++) {
        for (int64_t ox = 0; ox < g->ne[1]; ox++) {
            const int64_t x_left = i[0] + w.p[0] - ox * w.s[0], y_left = y + w.p[1] - oy * w.s[1];
            if (x_left < 0 || x_left % w.d[0] || x_left / w.d[0] >= kernel[0]) continue;
            if (y_left < 0 || y_left % w.d[1] || y_left / w.d[1] >= k1) continue;
            const int64_t index = (channel * k1 + y_left / w.d[1]) * kernel[0] + x_left / w.d[0];
            sum += dims == 2 ? cpu_get(g, index, ox, oy, i[3]) : cpu_get(g, index, ox, i[2], 0);
        }
    }
    return sum;
}

static const struct cpu_oracle back = { back_oracle, 1e-7, 1e-9 };

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
        const struct window w = random_window(&t, kernel, in);
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

static double laid_down(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * a = node->src[0];
    const int64_t stride = node->op_params[0], pad = node->op_params[2], n = a->ne[0] / node->ne[1];
    double sum = 0.0;
    for (int64_t column = 0; column < a->ne[1]; column++) {
        const int64_t k = i[0] + pad - column * stride;
        if (k >= 0 && k < n) sum += cpu_get(a, i[1] * n + k, column, 0, 0);
    }
    return sum;
}

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
        cpu_check(&t, y, (struct cpu_oracle){ laid_down, 1e-7, 1e-9 });
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
