// SPDX-License-Identifier: MIT
// quant/q8_k.c: blocks of activations against an oracle; they are no file type.
#include "harness.h"

#include <float.h>
#include <math.h>

#include "quant/q8_k.h"
#include "quant/type.h"

static void encode(const float * x, struct tn_block_q8_k * b) {
    float m = 0;
    memset(b, 0, sizeof(*b));
    for (int j = 0; j < 256; j++) {
        if (fabsf(x[j]) > fabsf(m)) m = x[j];
    }
    if (m == 0) return;
    const float i = -127 / m;
    b->d = 1 / i;
    for (int j = 0; j < 256; j++) {
        const int q = (int) nearbyintf(i * x[j]);
        b->qs[j] = (int8_t) (q < 127 ? q : 127);
        b->sums[j / 16] = (int16_t) (b->sums[j / 16] + b->qs[j]);
    }
}

static void encodes_as_written(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int64_t round = 0; round < test_rounds(20000); round++) {
        static float x[512], y[512];
        static struct tn_block_q8_k want[2], got[2];
        const float unit = ldexpf(1, (int) test_rng_below(&rng, 200) - 100);
        for (int j = 0; j < 512; j++) {
            x[j] = unit * (round % 2 ? test_rng_float(&rng, -1, 1) : (float) (test_rng_below(&rng, 9) - 4));
        }
        if (round == 0) memset(x, 0, sizeof(x));
        encode(x, &want[0]);
        encode(x + 256, &want[1]);
        tn_type_get(GGML_TYPE_Q8_K)->encode_ref(x, got, 512);
        assert_memory_equal(got, want, sizeof(want));
        tn_type_get(GGML_TYPE_Q8_K)->decode(got, y, 512);
        for (int j = 0; j < 512; j++) {
            assert_true(y[j] == got[j / 256].d * got[j / 256].qs[j % 256]);
        }
    }
}

static void extremes(void ** state) {
    (void) state;
    const float values[] = { FLT_MAX, -FLT_MAX, 1e-45f, -1e-40f, FLT_MIN, 1e30f, NAN, INFINITY, -INFINITY };
    for (size_t k = 0; k < TN_COUNT(values); k++) {
        static float x[256], y[256];
        struct tn_block_q8_k b;
        for (int j = 0; j < 256; j++) {
            x[j] = values[k] * (float) (1 - j % 3);
        }
        tn_type_get(GGML_TYPE_Q8_K)->encode_ref(x, &b, 256);
        if (!isfinite(values[k])) continue;
        assert_true(ggml_validate_row_data(GGML_TYPE_Q8_K, &b, sizeof(b)));
        tn_type_get(GGML_TYPE_Q8_K)->decode(&b, y, 256);
        for (int j = 0; j < 256; j++) {
            assert_true(fabsf(y[j] - x[j]) <= fabsf(values[k]) * 0.01f + 1e-38f);
        }
        assert_int_equal(ggml_quantize_chunk(GGML_TYPE_Q8_K, x, &b, 0, 1, 256, NULL), 0);
    }
}

static void broken_scales_are_found(void ** state) {
    (void) state;
    static struct tn_block_q8_k b[3];
    assert_true(ggml_validate_row_data(GGML_TYPE_Q8_K, b, sizeof(b)));
    b[2].d = -INFINITY;
    assert_false(ggml_validate_row_data(GGML_TYPE_Q8_K, b, sizeof(b)));
    b[2].d = NAN;
    assert_false(ggml_validate_row_data(GGML_TYPE_Q8_K, b, sizeof(b)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_as_written),
        cmocka_unit_test(extremes),
        cmocka_unit_test(broken_scales_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
