// SPDX-License-Identifier: MIT
// quant/q4_0.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static unsigned nibble(const uint8_t * qs, int j) {
    return bits(qs[j % 16], 4 * (j / 16), 4);
}

static float decode(const uint8_t * b, int j) {
    return half_at(b) * (float) ((int) nibble(b + 2, j) - 8);
}

static void put_nibble(uint8_t * qs, int j, unsigned q) {
    qs[j % 16] |= (uint8_t) ((q & 15) << 4 * (j / 16));
}

static float extreme(const float * x, int n) {
    float m = 0;
    for (int j = 0; j < n; j++) {
        if (fabsf(x[j]) > fabsf(m)) m = x[j];
    }
    return m;
}

static void encode(const float * x, uint8_t * b) {
    const float d = extreme(x, 32) / -8;
    const float id = d != 0 ? 1 / d : 0;
    memset(b, 0, 18);
    put_half(b, d);
    for (int j = 0; j < 32; j++) {
        const int q = (int) (x[j] * id + 8.5f);
        put_nibble(b + 2, j, (unsigned) (q < 15 ? q : 15));
    }
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q4_0,
    .len = 32,
    .size = 18,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .encode = encode,
    .bound = 0.008,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
