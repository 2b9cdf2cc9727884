// SPDX-License-Identifier: MIT
// quant/plain.c: halves against arithmetic in double, all of them; bf16; integers.
#include "unit/quant/bits.h"

#include "quant/type.h"

static void every_half(void ** state) {
    (void) state;
    for (unsigned h = 0; h < 0x10000; h++) {
        const float want = half_value(h);
        const float got = ggml_fp16_to_fp32((ggml_fp16_t) h);
        if (isnan(want)) {
            assert_true(isnan(got));
            assert_int_equal(ggml_fp32_to_fp16(got), (h & 0x8000) | 0x7e00);
            continue;
        }
        assert_int_equal(float_bits(got), float_bits(want));
        assert_int_equal(ggml_fp32_to_fp16(got), h);
    }
}

static void halves_round_to_even(void ** state) {
    (void) state;
    for (unsigned h = 0; h < 0x7bff; h++) { // between each two neighbours, and just beside the middle
        const float low = half_value(h), high = half_value(h + 1);
        const float middle = (float) (((double) low + high) / 2);
        assert_int_equal(ggml_fp32_to_fp16(middle), h + h % 2);
        assert_int_equal(ggml_fp32_to_fp16(nextafterf(middle, 0)), h);
        assert_int_equal(ggml_fp32_to_fp16(-nextafterf(middle, INFINITY)), 0x8000 | (h + 1));
    }
    assert_int_equal(ggml_fp32_to_fp16(65519.996f), 0x7bff);
    assert_int_equal(ggml_fp32_to_fp16(65520.0f), 0x7c00);
    assert_int_equal(ggml_fp32_to_fp16(-FLT_MAX), 0xfc00);
    assert_int_equal(ggml_fp32_to_fp16(0x1p-25f), 0);
    assert_int_equal(ggml_fp32_to_fp16(0x1.000002p-25f), 1);
}

static void random_floats_as_halves(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int64_t i = 0; i < test_rounds(2000000); i++) {
        const uint32_t u = (uint32_t) test_rng_u64(&rng);
        float f;
        memcpy(&f, &u, sizeof(f));
        assert_int_equal(ggml_fp32_to_fp16(f), half_bits(f));
    }
}

// bf16 by arithmetic: the nearer of the two floats with 16 bits around f.
static void bf16(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int64_t i = 0; i < test_rounds(2000000); i++) {
        const uint32_t u = (uint32_t) test_rng_u64(&rng);
        float f, low;
        memcpy(&f, &u, sizeof(f));
        const uint32_t cut = u & 0xffff0000u;
        memcpy(&low, &cut, sizeof(low));
        const unsigned got = ggml_fp32_to_bf16(f).bits;
        if (isnan(f)) {
            assert_int_equal(got, u >> 16 | 64);
            continue;
        }
        const unsigned rest = u & 0xffff;
        const unsigned up = rest > 0x8000 || (rest == 0x8000 && (u >> 16 & 1));
        assert_int_equal(got, (u >> 16) + up);
        assert_int_equal(float_bits(ggml_bf16_to_fp32((ggml_bf16_t){ (uint16_t) (u >> 16) })), cut);
    }
    assert_int_equal(ggml_fp32_to_bf16(1e-40f).bits, 1);
}

static void rows_are_as_single_values(void ** state) {
    (void) state;
    enum { N = 1027 };
    static float x[N], back[N];
    static ggml_fp16_t half[N];
    static ggml_bf16_t brain[N], brain_ref[N];
    struct test_rng rng = { test_seed() };
    for (int i = 0; i < N; i++) {
        const uint32_t u = (uint32_t) test_rng_u64(&rng);
        memcpy(&x[i], &u, sizeof(u));
        if (i % 2) x[i] = test_rng_float(&rng, -1, 1) * (i % 4 == 1 ? 1e-6f : 100);
    }
    ggml_fp32_to_fp16_row(x, half, N);
    ggml_fp16_to_fp32_row(half, back, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(half[i], half_bits(x[i]));
        if (!isnan(x[i])) assert_int_equal(float_bits(back[i]), float_bits(half_value(half[i])));
    }
    ggml_fp32_to_bf16_row(x, brain, N);
    ggml_fp32_to_bf16_row_ref(x, brain_ref, N);
    ggml_bf16_to_fp32_row(brain, back, N);
    assert_memory_equal(brain, brain_ref, sizeof(brain));
    for (int i = 0; i < N; i++) {
        assert_int_equal(brain[i].bits, ggml_fp32_to_bf16(x[i]).bits);
        assert_int_equal(float_bits(back[i]), (uint32_t) brain[i].bits << 16);
    }
    ggml_fp32_to_fp16_row(x, half, 0);
    ggml_fp16_to_fp32_row(half, back, 0);
}

static void chunks(void ** state) {
    (void) state;
    const float x[4] = { 1, -2.5f, 65520, 1e-8f };
    uint16_t half[4], brain[4];
    float same[4];
    assert_int_equal(ggml_quantize_chunk(GGML_TYPE_F16, x, half, 0, 2, 2, NULL), 8);
    assert_int_equal(half[0], 0x3c00);
    assert_int_equal(half[1], 0xc100);
    assert_int_equal(half[2], 0x7c00); // beyond the range, and allowed to be
    assert_int_equal(half[3], 0);
    assert_int_equal(ggml_quantize_chunk(GGML_TYPE_BF16, x, brain, 0, 1, 4, NULL), 8);
    assert_int_equal(brain[1], 0xc020);
    assert_int_equal(ggml_quantize_chunk(GGML_TYPE_F32, x, same, 0, 1, 4, NULL), 16);
    assert_memory_equal(same, x, sizeof(x));
}

static void integers_truncate_and_saturate(void ** state) {
    (void) state;
    const struct tn_type * t = tn_type_get(GGML_TYPE_I32);
    const float x[] = {
        1.9f, -1.9f, 2147483648.0f, -2147483648.0f, 3e38f, -3e38f, NAN, INFINITY, -INFINITY, 0
    };
    const int32_t want[] = { 1, -1, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0, INT32_MAX, INT32_MIN, 0 };
    int32_t got[10];
    float back[10];
    t->encode_ref(x, got, 10);
    assert_memory_equal(got, want, sizeof(want));
    t->decode(got, back, 10);
    assert_true(back[0] == 1 && back[2] == 2147483648.0f && back[3] == -2147483648.0f);
}

static void doubles(void ** state) {
    (void) state;
    const struct tn_type * t = tn_type_get(GGML_TYPE_F64);
    const float x[] = { 0.1f, -FLT_MAX, 1e-45f };
    double wide[3];
    float back[3];
    t->encode_ref(x, wide, 3);
    t->decode(wide, back, 3);
    assert_true(wide[0] == (double) 0.1f);
    assert_memory_equal(back, x, sizeof(x));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half),
        cmocka_unit_test(halves_round_to_even),
        cmocka_unit_test(random_floats_as_halves),
        cmocka_unit_test(bf16),
        cmocka_unit_test(rows_are_as_single_values),
        cmocka_unit_test(chunks),
        cmocka_unit_test(integers_truncate_and_saturate),
        cmocka_unit_test(doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
