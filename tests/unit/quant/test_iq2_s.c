// SPDX-License-Identifier: MIT
// quant/iq2_s.c: blocks against an oracle, and the search of the encoder.
#include "unit/quant/searches.h"

#include "quant/codebook_tables.h" // data only; test_codebook_tables.c holds them against checksums

static float lane(uint64_t word, int i) {
    return (float) (word >> (8 * i) & 255);
}

static float decode(const uint8_t * b, int j) {
    const int s = j / 32, l = j % 32 / 8, i = j % 8;
    const unsigned word = b[2 + 4 * s + l] | bits(b[66 + s], 2 * l, 2) << 8;
    return half_at(b) * (0.5f + (float) bits(b[74 + s], 4 * (l / 2), 4)) * 0.25f *
           lane(tn_codebook_iq2s[word], i) * (bits(b[34 + 4 * s + l], i, 1) ? -1.0f : 1.0f);
}

static const struct block_suite suite = {
    .type = GGML_TYPE_IQ2_S,
    .len = 256,
    .size = 82,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.065,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { SEARCH_TESTS, BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
