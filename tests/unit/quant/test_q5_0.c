// SPDX-License-Identifier: MIT
// quant/q5_0.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static unsigned nibble(const uint8_t * qs, int j) {
    return bits(qs[j % 16], 4 * (j / 16), 4);
}

static float decode(const uint8_t * b, int j) {
    const unsigned high = bits(u32_at(b + 2), j, 1);
    return half_at(b) * (float) ((int) (nibble(b + 6, j) | high << 4) - 16);
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
    const float d = extreme(x, 32) / -16;
    const float id = d != 0 ? 1 / d : 0;
    memset(b, 0, 22);
    put_half(b, d);
    for (int j = 0; j < 32; j++) {
        const int trunc = (int) (x[j] * id + 16.5f);
        const unsigned q = (unsigned) (trunc < 31 ? trunc : 31);
        put_nibble(b + 6, j, q);
        b[2 + j / 8] |= (uint8_t) (q >> 4 << j % 8);
    }
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q5_0,
    .len = 32,
    .size = 22,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .encode = encode,
    .bound = 0.002,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
