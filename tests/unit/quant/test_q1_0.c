// SPDX-License-Identifier: MIT
// quant/q1_0.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static float decode(const uint8_t * b, int j) {
    const float d = half_at(b);
    return bits(b[2 + j / 8], j % 8, 1) ? d : -d;
}

static void encode(const float * x, uint8_t * b) {
    float sum = 0;
    memset(b, 0, 18);
    for (int j = 0; j < 128; j++) {
        sum += fabsf(x[j]);
        if (x[j] >= 0) b[2 + j / 8] |= (uint8_t) (1 << j % 8);
    }
    put_half(b, sum / 128);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q1_0,
    .len = 128,
    .size = 18,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .encode = encode,
    .bound = 0.4,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
