// SPDX-License-Identifier: MIT
// quant/q6_k.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static float decode(const uint8_t * b, int j) {
    const int n = j / 128, t = j % 128 / 32, l = j % 32;
    const unsigned low = bits(b[64 * n + l + 32 * (t % 2)], 4 * (t / 2), 4);
    const unsigned high = bits(b[128 + 32 * n + l], 2 * t, 2);
    return half_at(b + 208) * (float) (int8_t) b[192 + j / 16] * (float) ((int) (low | high << 4) - 32);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q6_K,
    .len = 256,
    .size = 210,
    .half_at = { 208 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.00031,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
