// SPDX-License-Identifier: MIT
// quant/q2_0.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static float decode(const uint8_t * b, int j) {
    return half_at(b) * (float) ((int) bits(b[2 + j / 4], 2 * (j % 4), 2) - 1);
}

static void encode(const float * x, uint8_t * b) {
    float max = 0;
    for (int j = 0; j < 64; j++) {
        max = fmaxf(max, fabsf(x[j]));
    }
    const float id = max != 0 ? 1 / max : 0;
    memset(b, 0, 18);
    put_half(b, max);
    for (int j = 0; j < 64; j++) {
        int q = (int) roundf(x[j] * id) + 1;
        q = q < 0 ? 0 : q > 3 ? 3 : q;
        b[2 + j / 4] |= (uint8_t) (q << 2 * (j % 4));
    }
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q2_0,
    .len = 64,
    .size = 18,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .encode = encode,
    .bound = 0.57,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
