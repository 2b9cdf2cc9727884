// SPDX-License-Identifier: MIT
// quant/q8_0.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static float decode(const uint8_t * b, int j) {
    return half_at(b) * (float) (int8_t) b[2 + j];
}

static void encode(const float * x, uint8_t * b) {
    float max = 0;
    for (int j = 0; j < 32; j++) {
        max = fmaxf(max, fabsf(x[j]));
    }
    const float d = max / 127;
    const float id = d != 0 ? 1 / d : 0;
    put_half(b, d);
    for (int j = 0; j < 32; j++) {
        b[2 + j] = (uint8_t) (int8_t) roundf(x[j] * id);
    }
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q8_0,
    .len = 32,
    .size = 34,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .encode = encode,
    .bound = 3.2e-5,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
