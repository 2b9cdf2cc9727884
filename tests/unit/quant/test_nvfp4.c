// SPDX-License-Identifier: MIT
// quant/nvfp4.c: blocks against an oracle.
#include "unit/quant/blocks.h"

static const float e2m1[] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6 };

// The first of the codes whose value is nearest.
static unsigned nearest(float x, double scale) {
    unsigned best = 0;
    for (unsigned c = 1; c < 16; c++) {
        if (fabs(e2m1[c] * scale - x) < fabs(e2m1[best] * scale - x)) best = c;
    }
    return best;
}

static double e4m3(unsigned c) {
    const int expo = (int) bits(c, 3, 4);
    const double mant = bits(c, 0, 3);
    if (bits(c, 0, 7) == 0x7f) return 0;
    return expo == 0 ? ldexp(mant, -9) : ldexp(8 + mant, expo - 10);
}

static float decode(const uint8_t * b, int j) {
    const int g = j / 16, k = j % 16;
    return (float) (e4m3(b[g]) * e2m1[bits(b[4 + 8 * g + k % 8], 4 * (k / 8), 4)]);
}

// The largest code up to 448 that is not above v, or the next if v is half way or more.
static unsigned e4m3_code(float v) {
    unsigned c = 0;
    while (c < 0x7e && v >= (e4m3(c) + e4m3(c + 1)) / 2) {
        c++;
    }
    return c;
}

static void encode(const float * x, uint8_t * b) {
    memset(b, 0, 36);
    for (int g = 0; g < 4; g++) {
        float max = 0;
        for (int k = 0; k < 16; k++) {
            max = fmaxf(max, fabsf(x[16 * g + k]));
        }
        b[g] = (uint8_t) e4m3_code(max / 6);
        for (int k = 0; k < 16; k++) {
            b[4 + 8 * g + k % 8] |= (uint8_t) (nearest(x[16 * g + k], e4m3(b[g])) << 4 * (k / 8));
        }
    }
}

static const struct block_suite suite = {
    .type = GGML_TYPE_NVFP4,
    .len = 64,
    .size = 36,
    .decode = decode,
    .encode = encode,
    .bound = 0.011,
};

int main(void) {
    const struct CMUnitTest tests[] = { BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
