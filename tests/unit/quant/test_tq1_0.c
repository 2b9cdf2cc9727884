// SPDX-License-Identifier: MIT
// quant/tq1_0.c: blocks against an oracle.
#include "unit/quant/blocks.h"

// Byte and digit of element j.
static int place(int j, int * digit) {
    if (j < 160) {
        *digit = j / 32;
        return j % 32;
    }
    if (j < 240) {
        *digit = (j - 160) / 16;
        return 32 + (j - 160) % 16;
    }
    *digit = (j - 240) / 4;
    return 48 + (j - 240) % 4;
}

static float decode(const uint8_t * b, int j) {
    static const int power[] = { 1, 3, 9, 27, 81 };
    int n;
    const unsigned x = b[place(j, &n)];
    const int digit = (int) (x * (unsigned) power[n] % 256 * 3 >> 8);
    return half_at(b + 52) * (float) (digit - 1);
}

static void encode(const float * x, uint8_t * b) {
    static const int weight[] = { 81, 27, 9, 3, 1 };
    int sums[52] = { 0 };
    float max = 0;
    for (int j = 0; j < 256; j++) {
        max = fmaxf(max, fabsf(x[j]));
    }
    for (int j = 0; j < 256; j++) {
        int n;
        const int at = place(j, &n);
        sums[at] += weight[n] * ((max != 0 ? (int) roundf(x[j] / max) : 0) + 1);
    }
    for (int i = 0; i < 52; i++) {
        b[i] = (uint8_t) ceil(sums[i] * 256 / 243.0);
    }
    put_half(b + 52, max);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_TQ1_0,
    .len = 256,
    .size = 54,
    .half_at = { 52 },
    .n_halves = 1,
    .decode = decode,
    .encode = encode,
    .bound = 0.75,
};

// Every five digits survive being packed.
static void digits_come_back(void ** state) {
    (void) state;
    float x[256], y[256];
    uint8_t block[54];
    for (int value = 0; value < 243; value++) {
        for (int j = 0; j < 256; j++) {
            static const int weight[] = { 81, 27, 9, 3, 1 };
            int n;
            place(j, &n);
            x[j] = (float) (value / weight[n] % 3 - 1) * 1.5f;
        }
        x[0] = 1.5f;
        assert_int_equal(ggml_quantize_chunk(GGML_TYPE_TQ1_0, x, block, 0, 1, 256, NULL), 54);
        decode_row(block, y, 256);
        assert_memory_equal(x, y, sizeof(x));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS, cmocka_unit_test(digits_come_back) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
