// SPDX-License-Identifier: MIT
// quant/q8_1.c: blocks of activations against an oracle; they are no file type.
#include "harness.h"

#include <float.h>
#include <math.h>

#include "base/half.h"
#include "quant/q8_1.h"
#include "quant/type.h"

static void encode(const float * x, struct tn_block_q8_1 * b) {
    float max = 0;
    int sum = 0;
    for (int j = 0; j < 32; j++) {
        max = fmaxf(max, fabsf(x[j]));
    }
    const float d = max / 127;
    for (int j = 0; j < 32; j++) {
        b->qs[j] = (int8_t) roundf(d != 0 ? x[j] * (1 / d) : 0);
        sum += b->qs[j];
    }
    b->d = tn_f16_from_f32(d);
    b->s = tn_f16_from_f32((float) sum * d);
}

static void encodes_as_written(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    for (int64_t round = 0; round < test_rounds(20000); round++) {
        float x[64], y[64];
        struct tn_block_q8_1 want[2], got[2];
        const float unit = ldexpf(1, (int) test_rng_below(&rng, 16) - 8);
        for (int j = 0; j < 64; j++) {
            x[j] = round % 2 ? unit * test_rng_float(&rng, -1, 1) : (float) (test_rng_below(&rng, 9) - 4);
        }
        if (round == 0) memset(x, 0, sizeof(x));
        encode(x, &want[0]);
        encode(x + 32, &want[1]);
        ggml_get_type_traits(GGML_TYPE_Q8_1)->from_float_ref(x, got, 64);
        assert_memory_equal(got, want, sizeof(want));
        tn_type_get(GGML_TYPE_Q8_1)->decode(got, y, 64);
        for (int j = 0; j < 64; j++) {
            assert_true(y[j] == tn_f16_to_f32(got[j / 32].d) * got[j / 32].qs[j % 32]);
        }
    }
}

static void extremes(void ** state) {
    (void) state;
    const float values[] = { FLT_MAX, -FLT_MAX, 1e-45f, NAN, INFINITY, -INFINITY, 3e6f, 65504.0f * 127 };
    for (size_t k = 0; k < TN_COUNT(values); k++) {
        float x[32] = { 0 };
        struct tn_block_q8_1 b;
        for (int j = 0; j < 32; j += 1 + (int) k % 3) {
            x[j] = values[k];
        }
        tn_type_get(GGML_TYPE_Q8_1)->encode_ref(x, &b, 32);
        assert_true(ggml_validate_row_data(GGML_TYPE_Q8_1, &b, sizeof(b)) || !isfinite(values[k]));
        assert_int_equal(ggml_quantize_chunk(GGML_TYPE_Q8_1, x, &b, 0, 1, 32, NULL), 0);
    }
    struct tn_block_q8_1 broken = { .s = 0x7c00 };
    assert_false(ggml_validate_row_data(GGML_TYPE_Q8_1, &broken, sizeof(broken)));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(encodes_as_written), cmocka_unit_test(extremes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
