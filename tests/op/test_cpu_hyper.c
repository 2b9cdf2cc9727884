// SPDX-License-Identifier: MIT
// DSV4_HC_COMB, DSV4_HC_PRE and DSV4_HC_POST on the CPU.
#include "cpu_whole.h"

static double parameter(const struct ggml_tensor * node, int word) {
    float f;
    memcpy(&f, &node->op_params[word], sizeof(f));
    return (double) f;
}

enum { HC = 4 };

// c[d][s]; divides by eps + the sum over d, or over s.
static void divide(double c[HC][HC], double eps, bool over_d) {
    for (int a = 0; a < HC; a++) {
        double sum = eps;
        for (int b = 0; b < HC; b++)
            sum += over_d ? c[b][a] : c[a][b];
        for (int b = 0; b < HC; b++)
            *(over_d ? &c[b][a] : &c[a][b]) /= sum;
    }
}

static void fill_comb(const struct ggml_tensor * node, double * out) {
    const double eps = parameter(node, 0), scale = cpu_get(node->src[1], 2, 0, 0, 0);
    for (int64_t t = 0; t < node->ne[2]; t++) {
        double c[HC][HC];
        for (int s = 0; s < HC; s++) {
            double sum = 0.0;
            for (int d = 0; d < HC; d++) {
                const int64_t i = 2 * HC + d + HC * s;
                c[d][s] = exp(cpu_get(node->src[0], i, t, 0, 0) * scale + cpu_get(node->src[2], i, 0, 0, 0));
                sum += c[d][s];
            }
            for (int d = 0; d < HC; d++)
                c[d][s] = c[d][s] / sum + eps;
        }
        divide(c, eps, false);
        for (int k = 1; k < node->op_params[1]; k++) {
            divide(c, eps, true);
            divide(c, eps, false);
        }
        for (int k = 0; k < HC * HC; k++)
            out[t * HC * HC + k] = c[k % HC][k / HC];
    }
}

static void comb(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 3 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne_mixes[] = { 24, k % 3 * 40 + 1, 1, 1 }, ne_scale[] = { 3 + k % 2, 1, 1, 1 };
        const int64_t ne_base[] = { 24, 1, 1, 1 };
        const enum cpu_layout layout = (enum cpu_layout)(k / 3);
        struct ggml_tensor * y = ggml_dsv4_hc_comb(
            t.ctx, cpu_source(&t, GGML_TYPE_F32, ne_mixes, layout, -2.0f, 2.0f),
            cpu_source(&t, GGML_TYPE_F32, ne_scale, layout, 0.5f, 2.0f),
            cpu_source(&t, GGML_TYPE_F32, ne_base, layout, -1.0f, 1.0f), 1e-6f, 1 + k % 3 * 10);
        if (!ggml_ext_tensor_valid(y)) fail_msg("%s", ggml_ext_last_error());
        assert_int_equal(y->op, GGML_OP_DSV4_HC_COMB);
        cpu_check_whole(&t, y, fill_comb, 1e-5, 1e-7);
        cpu_test_free(&t);
    }
}

static double pre_value(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *x = node->src[0], *w = node->src[1];
    double sum = 0.0;
    for (int64_t h = 0; h < x->ne[1]; h++) {
        const double v = cpu_get(x, i[0], h, i[1], 0);
        sum += node->op_params[1] ? v / (1.0 + exp(-cpu_get(w, i[0], h, i[1], 0)))
                                  : v * cpu_get(w, h, i[1], 0, 0);
    }
    return parameter(node, 0) * sum;
}

static const int64_t sizes[][3] = {
    { 1, 1, 1 }, { 600, 4, 3 }, { 33, 3, 9 }, { 512, 2, 2 }, { 7, 5, 1 }
}; // D, hc, T

static void pre(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * 2 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * s = sizes[k % 5];
        const int64_t ne[] = { s[0], s[1], s[2], 1 }, ne_w[] = { s[1], s[2], 1, 1 };
        const enum cpu_layout layout = (enum cpu_layout)(k / 10);
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, layout, -2.0f, 2.0f);
        struct ggml_tensor * w = cpu_source(&t, GGML_TYPE_F32, k / 5 % 2 ? ne : ne_w, layout, -2.0f, 2.0f);
        struct ggml_tensor * y =
            k / 5 % 2 ? ggml_dsv4_hc_pre_gated(t.ctx, x, w, 0.6f) : ggml_dsv4_hc_pre(t.ctx, x, w);
        assert_int_equal(y->op, GGML_OP_DSV4_HC_PRE);
        cpu_check(&t, y, (struct cpu_oracle){ pre_value, 0.0, 3e-6 });
        cpu_test_free(&t);
    }
}

static double post_value(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor *r = node->src[1], *c = node->src[3];
    double sum = cpu_get(node->src[0], i[0], i[2], 0, 0) * cpu_get(node->src[2], i[1], i[2], 0, 0);
    for (int64_t s = 0; s < r->ne[1]; s++)
        sum += cpu_get(r, i[0], s, i[2], 0) * (c ? cpu_get(c, i[1], s, i[2], 0) : s == i[1]);
    return sum;
}

static void post(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * 2 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * s = sizes[k % 5];
        const int64_t ne_x[] = { s[0], s[2], 1, 1 }, ne_r[] = { s[0], s[1], s[2], 1 };
        const int64_t ne_post[] = { s[1], s[2], 1, 1 }, ne_comb[] = { s[1], s[1], s[2], 1 };
        const enum cpu_layout layout = (enum cpu_layout)(k / 10);
        struct ggml_tensor * c =
            k / 5 % 2 ? cpu_source(&t, GGML_TYPE_F32, ne_comb, layout, -1.0f, 1.0f) : NULL;
        struct ggml_tensor * y =
            ggml_dsv4_hc_post(t.ctx, cpu_source(&t, GGML_TYPE_F32, ne_x, layout, -2.0f, 2.0f),
                              cpu_source(&t, GGML_TYPE_F32, ne_r, layout, -2.0f, 2.0f),
                              cpu_source(&t, GGML_TYPE_F32, ne_post, layout, -1.0f, 1.0f), c);
        assert_int_equal(y->op, GGML_OP_DSV4_HC_POST);
        cpu_check(&t, y, (struct cpu_oracle){ post_value, 0.0, 3e-6 });
        cpu_test_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comb),
        cmocka_unit_test(pre),
        cmocka_unit_test(post),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
