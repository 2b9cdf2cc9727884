// SPDX-License-Identifier: MIT
// quant/q5_1.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static unsigned nibble(const uint8_t * qs, int j) {
    return bits(qs[j % 16], 4 * (j / 16), 4);
}

static float decode(const uint8_t * b, int j) {
    const unsigned high = bits(u32_at(b + 4), j, 1);
    return half_at(b) * (float) (nibble(b + 8, j) | high << 4) + half_at(b + 2);
}

static void put_nibble(uint8_t * qs, int j, unsigned q) {
    qs[j % 16] |= (uint8_t) ((q & 15) << 4 * (j / 16));
}

static void range(const float * x, int n, float * min, float * max) {
    *min = FLT_MAX;
    *max = -FLT_MAX;
    for (int j = 0; j < n; j++) {
        if (x[j] < *min) *min = x[j];
        if (x[j] > *max) *max = x[j];
    }
}

static void encode(const float * x, uint8_t * b) {
    float min, max;
    range(x, 32, &min, &max);
    const float d = (max - min) / 31;
    const float id = d != 0 ? 1 / d : 0;
    memset(b, 0, 24);
    put_half(b, d);
    put_half(b + 2, min);
    for (int j = 0; j < 32; j++) {
        const unsigned q = (unsigned) ((x[j] - min) * id + 0.5f);
        put_nibble(b + 8, j, q);
        b[4 + j / 8] |= (uint8_t) (q >> 4 << j % 8);
    }
}

static const struct block_suite suite = {
    .type = GGML_TYPE_Q5_1,
    .len = 32,
    .size = 24,
    .half_at = { 0, 2 },
    .n_halves = 2,
    .decode = decode,
    .encode = encode,
    .bound = 0.0016,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
