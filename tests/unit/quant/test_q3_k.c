// SPDX-License-Identifier: MIT
// quant/q3_k.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static int scale(const uint8_t * b, int k) {
    const unsigned low = bits(b[96 + k % 8], 4 * (k / 8), 4);
    const unsigned high = bits(b[104 + k % 4], 2 * (k / 4), 2);
    return (int) (low | high << 4) - 32;
}

static float decode(const uint8_t * b, int j) {
    const unsigned low = bits(b[32 + 32 * (j / 128) + j % 32], 2 * (j % 128 / 32), 2);
    const bool high = bits(b[j % 32], 4 * (j / 128) + j % 128 / 32, 1);
    return half_at(b + 108) * (float) scale(b, j / 16) * (float) ((int) low - (high ? 0 : 4));
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q3_K,
    .len = 256,
    .size = 110,
    .half_at = { 108 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.0225,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
