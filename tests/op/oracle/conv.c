// SPDX-License-Identifier: MIT
// Convolutions, direct, by channels and transposed.
#include "op/oracle/oracle.h"

static bool is_inside(const struct ggml_tensor * x, const int64_t * at, int dims) {
    for (int d = 0; d < dims; d++) {
        if (at[d] < 0 || at[d] >= x->ne[d]) return false;
    }
    return true;
}

double oracle_conv_2d(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *a = node->src[0], *x = node->src[1];
    const struct oracle_window w = oracle_window_of(node, 2, 2);
    double sum = 0.0;
    for (int64_t kh = 0; kh < a->ne[1]; kh++) {
        for (int64_t kw = 0; kw < a->ne[0]; kw++) {
            const int64_t at[] = { i[0] * w.s[0] + kw * w.d[0] - w.p[0],
                                   i[1] * w.s[1] + kh * w.d[1] - w.p[1] };
            for (int64_t c = 0; c < a->ne[2] && is_inside(x, at, 2); c++)
                sum += oracle_term(cpu_get(a, kw, kh, c, i[2]) * cpu_get(x, at[0], at[1], c, i[3]));
        }
    }
    return sum;
}

double oracle_conv_2d_dw(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *a = node->src[0], *x = node->src[1];
    const struct oracle_window w = oracle_window_of(node, 2, 2);
    double sum = 0.0;
    for (int64_t kh = 0; kh < a->ne[1]; kh++) {
        for (int64_t kw = 0; kw < a->ne[0]; kw++) {
            const int64_t at[] = { i[0] * w.s[0] + kw * w.d[0] - w.p[0],
                                   i[1] * w.s[1] + kh * w.d[1] - w.p[1] };
            if (is_inside(x, at, 2))
                sum += oracle_term(cpu_get(a, kw, kh, 0, i[2]) * cpu_get(x, at[0], at[1], i[2], i[3]));
        }
    }
    return sum;
}

double oracle_conv_3d(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *a = node->src[0], *x = node->src[1];
    const struct oracle_window w = oracle_window_of(node, 3, 3);
    const int64_t ic = node->op_params[9], oc = node->op_params[11];
    double sum = 0.0;
    for (int64_t k = 0; k < a->ne[0] * a->ne[1] * a->ne[2]; k++) {
        const int64_t at_a[] = { k % a->ne[0], k / a->ne[0] % a->ne[1], k / a->ne[0] / a->ne[1] };
        int64_t at[3];
        for (int d = 0; d < 3; d++)
            at[d] = i[d] * w.s[d] + at_a[d] * w.d[d] - w.p[d];
        for (int64_t c = 0; c < ic && is_inside(x, at, 3); c++) {
            sum += oracle_term(cpu_get(a, at_a[0], at_a[1], at_a[2], i[3] % oc * ic + c) *
                               cpu_get(x, at[0], at[1], at[2], i[3] / oc * ic + c));
        }
    }
    return sum;
}

double oracle_conv_transpose_1d(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *a = node->src[0], *x = node->src[1];
    double sum = 0.0;
    for (int64_t l = 0; l < x->ne[0]; l++) {
        const int64_t k = i[0] - l * node->op_params[0];
        for (int64_t c = 0; c < a->ne[2] && k >= 0 && k < a->ne[0]; c++)
            sum += oracle_term(cpu_get(a, k, i[1], c, 0) * cpu_get(x, l, c, 0, 0));
    }
    return sum;
}

double oracle_conv_transpose_2d(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *a = node->src[0], *x = node->src[1];
    const int64_t stride = node->op_params[0];
    double sum = 0.0;
    for (int64_t ky = 0; ky < a->ne[1]; ky++) {
        for (int64_t kx = 0; kx < a->ne[0]; kx++) {
            const int64_t at[] = { (i[0] - kx) / stride, (i[1] - ky) / stride };
            if (i[0] < kx || i[1] < ky || (i[0] - kx) % stride || (i[1] - ky) % stride) continue;
            for (int64_t c = 0; c < a->ne[3] && is_inside(x, at, 2); c++)
                sum += oracle_term(cpu_get(a, kx, ky, i[2], c) * cpu_get(x, at[0], at[1], c, i[3]));
        }
    }
    return sum;
}
