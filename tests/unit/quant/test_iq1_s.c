// SPDX-License-Identifier: MIT
// quant/iq1_s.c: blocks against an oracle, and the search of the encoder.
#include "unit/quant/searches.h"

#include "quant/codebook_tables.h" // data only; test_codebook_tables.c holds them against checksums

static float lane(uint64_t word, int i) {
    const int v = (int) (word >> (8 * i) & 255);
    return (float) (v > 127 ? v - 256 : v);
}

static float decode(const uint8_t * b, int j) {
    const int s = j / 32, l = j % 32 / 8, i = j % 8;
    const unsigned w = u16_at(b + 34 + 2 * s);
    const unsigned word = b[2 + 4 * s + l] | bits(w, 3 * l, 3) << 8;
    return half_at(b) * (float) (2 * bits(w, 12, 3) + 1) *
           (lane(tn_codebook_iq1s[word], i) + (bits(w, 15, 1) ? -0.125f : 0.125f));
}

static const struct block_suite suite = {
    .type = GGML_TYPE_IQ1_S,
    .len = 256,
    .size = 50,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.205,
    .weighted = true,
    .needs_weights = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { SEARCH_TESTS, BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
