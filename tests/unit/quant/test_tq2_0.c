// SPDX-License-Identifier: MIT
// quant/tq2_0.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static float decode(const uint8_t * b, int j) {
    return half_at(b + 64) * (float) ((int) bits(b[32 * (j / 128) + j % 32], 2 * (j % 128 / 32), 2) - 1);
}

static void encode(const float * x, uint8_t * b) {
    float max = 0;
    for (int j = 0; j < 256; j++) {
        max = fmaxf(max, fabsf(x[j]));
    }
    memset(b, 0, 66);
    put_half(b + 64, max);
    for (int j = 0; j < 256; j++) {
        const int q = (max != 0 ? (int) roundf(x[j] / max) : 0) + 1;
        b[32 * (j / 128) + j % 32] |= (uint8_t) (q << 2 * (j % 128 / 32));
    }
}

static const struct block_suite suite = {
    .type = GGML_TYPE_TQ2_0,
    .len = 256,
    .size = 66,
    .half_at = { 64 },
    .n_halves = 1,
    .decode = decode,
    .encode = encode,
    .bound = 0.75,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
