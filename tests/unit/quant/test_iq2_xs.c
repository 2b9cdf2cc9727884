// SPDX-License-Identifier: MIT
// quant/iq2_xs.c: blocks against an oracle, and the search of the encoder.
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
    const unsigned w = u16_at(b + 2 + 8 * s + 2 * l);
    return half_at(b) * (0.5f + (float) bits(b[66 + s], 4 * (l / 2), 4)) * 0.25f *
           lane(tn_codebook_iq2xs[bits(w, 0, 9)], i) * sign(bits(w, 9, 7), i);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_IQ2_XS,
    .len = 256,
    .size = 74,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.085,
    .weighted = true,
    .needs_weights = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { SEARCH_TESTS, BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
