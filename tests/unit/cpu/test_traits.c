// SPDX-License-Identifier: MIT
// Kernels by type: which types have what, dot products against decoded rows, encoders.
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

static bool is_among(const enum ggml_type * list, size_t n, enum ggml_type type) {
    for (size_t i = 0; i < n; i++) {
        if (list[i] == type) return true;
    }
    return false;
}

// All ids, those that mean nothing included: who has an encoder and who a product.
static void who_has_what(void ** state) {
    (void) state;
    static const enum ggml_type searched[] = { GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S,
                                               GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S,  GGML_TYPE_IQ1_S,
                                               GGML_TYPE_IQ1_M }; // multiplied, but not encoded on the way
    static const enum ggml_type encoded[] = { GGML_TYPE_Q8_1, GGML_TYPE_Q8_K, GGML_TYPE_I32 }; // the reverse
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const enum ggml_type type = (enum ggml_type) i;
        const struct ggml_type_traits_cpu * t = ggml_get_type_traits_cpu(type);
        bool multiplied = false;
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
            multiplied = multiplied || rows[k].type == type;
        const bool encodes = is_among(encoded, 3, type) || (multiplied && !is_among(searched, 7, type));
        if (!t->vec_dot != !multiplied || !t->from_float != !encodes) {
            fail_msg("%d: %s product, %s encoder", i, t->vec_dot ? "a" : "no", t->from_float ? "an" : "no");
        }
        assert_int_equal(t->nrows, multiplied || type == GGML_TYPE_Q8_1);
    }
    assert_non_null(ggml_get_type_traits_cpu(GGML_TYPE_COUNT));
    assert_null(ggml_get_type_traits_cpu(GGML_TYPE_COUNT)->vec_dot);
    assert_null(ggml_get_type_traits_cpu((enum ggml_type) - 1)->vec_dot);
}

// Encoders of both tables write the same bytes, and nothing else.
static void encoders_agree(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    static float x[N];
    static char ours[N * 4 + 16], theirs[N * 4 + 16];
    for (int i = 0; i < N; i++)
        x[i] = test_rng_float(&rng, -2.0f, 2.0f);
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const struct ggml_type_traits_cpu * t = ggml_get_type_traits_cpu((enum ggml_type) i);
        const ggml_from_float_t ref = ggml_get_type_traits((enum ggml_type) i)->from_float_ref;
        if (!t->from_float || !ref) continue;
        memset(ours, 0x77, sizeof(ours));
        memset(theirs, 0x77, sizeof(theirs));
        t->from_float(x, ours, N);
        ref(x, theirs, N);
        assert_memory_equal(ours, theirs, sizeof(ours));
        const size_t size = ggml_row_size((enum ggml_type) i, N);
        for (size_t k = size; k < sizeof(ours); k++)
            assert_int_equal(ours[k], 0x77);
    }
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
        cmocka_unit_test(dot_products),
        cmocka_unit_test(who_has_what),
        cmocka_unit_test(encoders_agree),
        cmocka_unit_test(features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
