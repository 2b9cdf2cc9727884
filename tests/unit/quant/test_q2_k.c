// SPDX-License-Identifier: MIT
// quant/q2_k.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static float decode(const uint8_t * b, int j) {
    const int n = j / 128, t = j % 128 / 32, l = j % 32, k = j / 16;
    const float q = (float) bits(b[16 + 32 * n + l], 2 * t, 2);
    return half_at(b + 80) * (float) bits(b[k], 0, 4) * q - half_at(b + 82) * (float) bits(b[k], 4, 4);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q2_K,
    .len = 256,
    .size = 84,
    .half_at = { 80, 82 },
    .n_halves = 2,
    .decode = decode,
    .bound = 0.075,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
