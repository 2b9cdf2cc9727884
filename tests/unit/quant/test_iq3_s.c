// SPDX-License-Identifier: MIT
// quant/iq3_s.c: blocks against an oracle, and the search of the encoder.
#include "unit/quant/searches.h"

#include "quant/codebook_tables.h" // data only; test_codebook_tables.c holds them against checksums

static float lane(uint64_t word, int i) {
    return (float) (word >> (8 * i) & 255);
}

static float decode(const uint8_t * b, int j) {
    const int s = j / 32, l = j % 32 / 8, i = j % 8, g = 2 * l + i / 4;
    const unsigned word = b[2 + 8 * s + g] | bits(b[66 + s], g, 1) << 8;
    return half_at(b) * (float) (1 + 2 * bits(b[106 + s / 2], 4 * (s % 2), 4)) *
           lane(tn_codebook_iq3s[word], i % 4) * (bits(b[74 + 4 * s + l], i, 1) ? -1.0f : 1.0f);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_IQ3_S,
    .len = 256,
    .size = 110,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.018,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { SEARCH_TESTS, BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
