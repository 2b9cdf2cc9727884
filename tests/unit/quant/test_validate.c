// SPDX-License-Identifier: MIT
// quant/validate.c: plain types, lengths, odd addresses. Blocks are broken in the tests of their types.
#include "harness.h"

#include <math.h>

#include "ggml-ext.h"
#include "ggml.h"

static bool floats(float a, float b, float c) {
    const float x[] = { a, b, c };
    char moved[sizeof(x) + 1];
    memcpy(moved + 1, x, sizeof(x)); // files may put data anywhere
    return ggml_validate_row_data(GGML_TYPE_F32, moved + 1, sizeof(x));
}

static void plain_floats(void ** state) {
    (void) state;
    assert_true(floats(0, -3e38f, 1e-45f));
    assert_false(floats(0, NAN, 1));
    assert_contains(ggml_ext_last_error(), "block 1");
    assert_contains(ggml_ext_last_error(), "f32");
    assert_false(floats(0, 1, INFINITY));
    assert_contains(ggml_ext_last_error(), "block 2");
    assert_false(floats(-INFINITY, 1, 1));
    const double ok[] = { 1e300, -0.0 }, bad[] = { 1, -INFINITY }, nan[] = { NAN, 1 };
    assert_true(ggml_validate_row_data(GGML_TYPE_F64, ok, sizeof(ok)));
    assert_false(ggml_validate_row_data(GGML_TYPE_F64, bad, sizeof(bad)));
    assert_false(ggml_validate_row_data(GGML_TYPE_F64, nan, sizeof(nan)));
}

static void small_floats(void ** state) {
    (void) state;
    for (unsigned h = 0; h < 0x10000; h++) {
        const uint16_t x = (uint16_t) h;
        assert_int_equal(ggml_validate_row_data(GGML_TYPE_F16, &x, 2), (h >> 10 & 31) != 31);
        assert_int_equal(ggml_validate_row_data(GGML_TYPE_BF16, &x, 2), (h >> 7 & 255) != 255);
    }
}

static void integers_always_pass(void ** state) {
    (void) state;
    uint8_t all[16];
    memset(all, 0xff, sizeof(all));
    const enum ggml_type types[] = {
        GGML_TYPE_I8,
        GGML_TYPE_I16,
        GGML_TYPE_I32,
        GGML_TYPE_I64,
    };
    for (int i = 0; i < 4; i++) {
        assert_true(ggml_validate_row_data(types[i], all, sizeof(all)));
    }
}

static void lengths(void ** state) {
    (void) state;
    const uint8_t zeros[72] = { 0 };
    assert_true(ggml_validate_row_data(GGML_TYPE_Q4_0, zeros, 36));
    assert_false(ggml_validate_row_data(GGML_TYPE_Q4_0, zeros, 35));
    assert_contains(ggml_ext_last_error(), "35 bytes");
    assert_true(ggml_validate_row_data(GGML_TYPE_Q4_0, NULL, 0));
    assert_false(ggml_validate_row_data(GGML_TYPE_Q4_0, NULL, 18));
    assert_contains(ggml_ext_last_error(), "no data");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_floats),
        cmocka_unit_test(small_floats),
        cmocka_unit_test(integers_always_pass),
        cmocka_unit_test(lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
