// SPDX-License-Identifier: MIT
// Kernels by type: which types have what, dot products against decoded rows, conversions.
#include "harness.h"

#include <math.h>

#include "cpu/kernels.h"
#include "ggml-cpu.h"
#include "ggml.h"

enum { N = 768 };

static const struct {
    enum ggml_type type, partner;
} rows[] = {
    { GGML_TYPE_F32, GGML_TYPE_F32 },      { GGML_TYPE_F16, GGML_TYPE_F16 },
    { GGML_TYPE_BF16, GGML_TYPE_BF16 },    { GGML_TYPE_Q4_0, GGML_TYPE_Q8_0 },
    { GGML_TYPE_Q4_1, GGML_TYPE_Q8_1 },    { GGML_TYPE_Q5_0, GGML_TYPE_Q8_0 },
    { GGML_TYPE_Q5_1, GGML_TYPE_Q8_1 },    { GGML_TYPE_Q8_0, GGML_TYPE_Q8_0 },
    { GGML_TYPE_Q2_K, GGML_TYPE_Q8_K },    { GGML_TYPE_Q3_K, GGML_TYPE_Q8_K },
    { GGML_TYPE_Q4_K, GGML_TYPE_Q8_K },    { GGML_TYPE_Q5_K, GGML_TYPE_Q8_K },
    { GGML_TYPE_Q6_K, GGML_TYPE_Q8_K },    { GGML_TYPE_IQ2_XXS, GGML_TYPE_Q8_K },
    { GGML_TYPE_IQ2_XS, GGML_TYPE_Q8_K },  { GGML_TYPE_IQ2_S, GGML_TYPE_Q8_K },
    { GGML_TYPE_IQ3_XXS, GGML_TYPE_Q8_K }, { GGML_TYPE_IQ3_S, GGML_TYPE_Q8_K },
    { GGML_TYPE_IQ1_S, GGML_TYPE_Q8_K },   { GGML_TYPE_IQ1_M, GGML_TYPE_Q8_K },
    { GGML_TYPE_IQ4_NL, GGML_TYPE_Q8_0 },  { GGML_TYPE_IQ4_XS, GGML_TYPE_Q8_K },
    { GGML_TYPE_TQ1_0, GGML_TYPE_Q8_K },   { GGML_TYPE_TQ2_0, GGML_TYPE_Q8_K },
    { GGML_TYPE_MXFP4, GGML_TYPE_Q8_0 },   { GGML_TYPE_NVFP4, GGML_TYPE_Q8_0 },
    { GGML_TYPE_Q1_0, GGML_TYPE_Q8_0 },    { GGML_TYPE_Q2_0, GGML_TYPE_Q8_0 },
};

static void decode(enum ggml_type type, const void * x, float * y) {
    if (type == GGML_TYPE_F32) {
        memcpy(y, x, N * sizeof(float));
    } else {
        ggml_get_type_traits(type)->to_float(x, y, N);
    }
}

static void dot_products(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    float values[N], a[N], b[N], weights[N];
    static char x[N * 4], y[N * 4];
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const struct ggml_type_traits_cpu * t = ggml_get_type_traits_cpu(rows[k].type);
        assert_non_null(t->vec_dot);
        assert_int_equal(t->vec_dot_type, rows[k].partner);
        assert_int_equal(t->nrows, 1);
        for (int i = 0; i < N; i++) {
            values[i] = test_rng_float(&rng, -1.0f, 1.0f);
            weights[i] = 1.0f;
        }
        assert_true(ggml_quantize_chunk(rows[k].type, values, x, 0, 1, N, weights) > 0);
        decode(rows[k].type, x, a);
        for (int i = 0; i < N; i++)
            values[i] = (float) (int) test_rng_below(&rng, 255) - 127.0f;
        values[0] = values[32] = 127.0f;
        ggml_get_type_traits_cpu(rows[k].partner)->from_float(values, y, N);
        // 8-bit blocks without a public decoder: within half a step of the values.
        const bool known = rows[k].partner != GGML_TYPE_Q8_1 && rows[k].partner != GGML_TYPE_Q8_K;
        if (known) decode(rows[k].partner, y, b);
        double sum = 0.0, size = 0.0;
        for (int i = 0; i < N; i++) {
            sum += (double) a[i] * (double) (known ? b[i] : values[i]);
            size += fabs((double) a[i]);
        }
        float s = NAN;
        t->vec_dot(N, &s, 0, x, 0, y, 0, 1);
        if (!(fabs((double) s - sum) <= size * (known ? 1e-4 : 0.52))) {
            fail_msg("%s: %g, not %g", ggml_type_name(rows[k].type), (double) s, sum);
        }
    }
}

static void types_without_kernels(void ** state) {
    (void) state;
    assert_null(ggml_get_type_traits_cpu(GGML_TYPE_I64)->vec_dot);
    assert_null(ggml_get_type_traits_cpu(GGML_TYPE_I64)->from_float);
    assert_null(ggml_get_type_traits_cpu(GGML_TYPE_IQ2_XXS)->from_float);
    assert_null(ggml_get_type_traits_cpu(GGML_TYPE_Q8_K)->vec_dot);
    assert_non_null(ggml_get_type_traits_cpu(GGML_TYPE_Q8_K)->from_float);
    assert_non_null(ggml_get_type_traits_cpu(GGML_TYPE_COUNT));
    assert_null(ggml_get_type_traits_cpu((enum ggml_type) - 1)->vec_dot);
}

// All 65536 half floats, against the definition.
static void every_half_float(void ** state) {
    (void) state;
    static ggml_fp16_t h[65536], back[65536];
    static float f[65536];
    for (int i = 0; i < 65536; i++)
        h[i] = (ggml_fp16_t) i;
    ggml_cpu_fp16_to_fp32(h, f, 65536);
    ggml_cpu_fp32_to_fp16(f, back, 65536);
    for (int i = 0; i < 65536; i++) {
        const int e = i >> 10 & 31, m = i & 1023;
        const double size = e == 0 ? m * 0x1p-24 : e == 31 ? (m ? NAN : INFINITY) : ldexp(1024 + m, e - 25);
        const double v = i & 0x8000 ? -size : size;
        assert_true(isnan(v) ? isnan(f[i]) : (double) f[i] == v && !!signbit(f[i]) == (i >= 0x8000));
        assert_true(isnan(v) || back[i] == i);
    }
}

static void other_conversions(void ** state) {
    (void) state;
    const float x[] = { 1.5f, -2.99f, 3.0e9f, NAN, 1.00390625f };
    int32_t i[5];
    ggml_cpu_fp32_to_i32(x, i, 5);
    assert_int_equal(i[0], 1);
    assert_int_equal(i[1], -2);
    assert_int_equal(i[2], INT32_MAX);
    assert_int_equal(i[3], 0);
    ggml_bf16_t b[5];
    float y[5];
    ggml_cpu_fp32_to_bf16(x, b, 5);
    ggml_cpu_bf16_to_fp32(b, y, 5);
    assert_true(y[0] == 1.5f && y[4] == 1.0f && isnan(y[3]));
    ggml_cpu_fp32_to_fp32(x, y, 5);
    assert_memory_equal(x, y, sizeof(x));
}

// What is not used must not be claimed.
static void features(void ** state) {
    (void) state;
    ggml_cpu_init();
    tn_kernels_select(0);
    int (*const has[])(void) = {
        ggml_cpu_has_sse3,      ggml_cpu_has_ssse3,       ggml_cpu_has_avx,         ggml_cpu_has_avx_vnni,
        ggml_cpu_has_avx2,      ggml_cpu_has_bmi2,        ggml_cpu_has_f16c,        ggml_cpu_has_fma,
        ggml_cpu_has_avx512,    ggml_cpu_has_avx512_vbmi, ggml_cpu_has_avx512_vnni, ggml_cpu_has_avx512_bf16,
        ggml_cpu_has_amx_int8,  ggml_cpu_has_neon,        ggml_cpu_has_arm_fma,     ggml_cpu_has_fp16_va,
        ggml_cpu_has_dotprod,   ggml_cpu_has_matmul_int8, ggml_cpu_has_sve,         ggml_cpu_has_sme,
        ggml_cpu_has_sme2,      ggml_cpu_has_riscv_v,     ggml_cpu_has_vsx,         ggml_cpu_has_vxe,
        ggml_cpu_has_wasm_simd, ggml_cpu_has_llamafile,
    };
    for (size_t i = 0; i < sizeof(has) / sizeof(has[0]); i++)
        assert_int_equal(has[i](), 0);
    assert_int_equal(ggml_cpu_get_sve_cnt() + ggml_cpu_get_rvv_vlen(), 0);
    tn_kernels_select(UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_products),     cmocka_unit_test(types_without_kernels),
        cmocka_unit_test(every_half_float), cmocka_unit_test(other_conversions),
        cmocka_unit_test(features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
