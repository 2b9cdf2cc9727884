// SPDX-License-Identifier: MIT
// quant/mxfp4.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static const float e2m1[] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6 };

// The first of the codes whose value is nearest.
static unsigned nearest(float x, double scale) {
    unsigned best = 0;
    for (unsigned c = 1; c < 16; c++) {
        if (fabs(e2m1[c] * scale - x) < fabs(e2m1[best] * scale - x)) best = c;
    }
    return best;
}

static float decode(const uint8_t * b, int j) {
    return (float) ldexp(e2m1[bits(b[1 + j % 16], 4 * (j / 16), 4)], b[0] - 127);
}

static void encode(const float * x, uint8_t * b) {
    float max = 0;
    for (int j = 0; j < 32; j++) {
        max = fmaxf(max, fabsf(x[j]));
    }
    memset(b, 0, 17);
    if (max == 0) return;
    b[0] = (uint8_t) (ilogbf(max) - 2 + 127);
    for (int j = 0; j < 32; j++) {
        b[1 + j % 16] |= (uint8_t) (nearest(x[j], ldexp(1, b[0] - 127)) << 4 * (j / 16));
    }
}

static const struct block_suite suite = {
    .type = GGML_TYPE_MXFP4,
    .len = 32,
    .size = 17,
    .decode = decode,
    .encode = encode,
    .bound = 0.015,
};

static void exponent_255_is_not_valid(void ** state) {
    (void) state;
    uint8_t blocks[3 * 17] = { 0 };
    blocks[34] = 254;
    assert_true(ggml_validate_row_data(GGML_TYPE_MXFP4, blocks, sizeof(blocks)));
    blocks[34] = 255;
    assert_false(ggml_validate_row_data(GGML_TYPE_MXFP4, blocks, sizeof(blocks)));
    assert_contains(ggml_ext_last_error(), "block 2");
}

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS, cmocka_unit_test(exponent_255_is_not_valid) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
