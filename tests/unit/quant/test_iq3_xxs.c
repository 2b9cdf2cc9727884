// SPDX-License-Identifier: MIT
// quant/iq3_xxs.c: blocks against an oracle, and the search of the encoder.
#include "unit/quant/searches.h"

#include "quant/codebook_tables.h" // data only; test_codebook_tables.c holds them against checksums

static float lane(uint64_t word, int i) {
    return (float) (word >> (8 * i) & 255);
}

// Seven signs are stored, the eighth makes their number even.
static float sign(unsigned stored, int i) {
    int ones = 0;
    for (int k = 0; k < 7; k++) {
        ones += (int) bits(stored, k, 1);
    }
    const unsigned negative = i < 7 ? bits(stored, i, 1) : (unsigned) ones % 2;
    return negative ? -1.0f : 1.0f;
}

static float decode(const uint8_t * b, int j) {
    const int s = j / 32, l = j % 32 / 8, i = j % 8;
    const unsigned a = u32_at(b + 66 + 4 * s);
    return half_at(b) * (0.5f + (float) bits(a, 28, 4)) * 0.5f *
           lane(tn_codebook_iq3xxs[b[2 + 8 * s + 2 * l + i / 4]], i % 4) * sign(bits(a, 7 * l, 7), i);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_IQ3_XXS,
    .len = 256,
    .size = 98,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.034,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { SEARCH_TESTS, BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
