// SPDX-License-Identifier: MIT
// quant/q4_k.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static unsigned scale(const uint8_t * s, int k) {
    return k < 4 ? bits(s[k], 0, 6) : bits(s[k + 4], 0, 4) | bits(s[k - 4], 6, 2) << 4;
}

static unsigned minimum(const uint8_t * s, int k) {
    return k < 4 ? bits(s[k + 4], 0, 6) : bits(s[k + 4], 4, 4) | bits(s[k], 6, 2) << 4;
}

static float decode(const uint8_t * b, int j) {
    const int k = j / 32;
    const float q = (float) bits(b[16 + 32 * (j / 64) + j % 32], 4 * (k % 2), 4);
    return half_at(b) * (float) scale(b + 4, k) * q - half_at(b + 2) * (float) minimum(b + 4, k);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q4_K,
    .len = 256,
    .size = 144,
    .half_at = { 0, 2 },
    .n_halves = 2,
    .decode = decode,
    .bound = 0.0053,
    .weighted = true,
};

// A block above zero is coded from a negative minimum, not from zero up.
static void blocks_above_zero(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    static float x[ROW];
    static uint8_t bytes[4 * ROW];
    for (int i = 0; i < ROW; i++) {
        x[i] = 5 + 0.1f * gaussian(&rng);
    }
    assert_true(ggml_quantize_chunk(suite.type, x, bytes, 0, 1, ROW, NULL) == row_bytes(ROW));
    if (!(row_error(x, bytes, NULL) * 2500 < 3 * suite.bound))
        fail_msg("error %g", row_error(x, bytes, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS, cmocka_unit_test(blocks_above_zero) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
