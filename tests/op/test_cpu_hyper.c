// SPDX-License-Identifier: MIT
// DSV4_HC_COMB, DSV4_HC_PRE and DSV4_HC_POST on the CPU.
#include "cpu_whole.h"

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
        cpu_check_whole(&t, y, oracle_hc_comb, 1e-5, 1e-7);
        cpu_test_free(&t);
    }
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
        cpu_check(&t, y, (struct cpu_oracle){ oracle_hc_pre, 0.0, 3e-6 });
        cpu_test_free(&t);
    }
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
        cpu_check(&t, y, (struct cpu_oracle){ oracle_hc_post, 0.0, 3e-6 });
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
