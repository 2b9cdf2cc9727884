// SPDX-License-Identifier: MIT
// quant/iq4_nl.c: blocks against an oracle, and the search of the encoder.
#include "unit/quant/searches.h"

#include "quant/codebook_tables.h" // data only; test_codebook_tables.c holds them against checksums

static float decode(const uint8_t * b, int j) {
    return half_at(b) * (float) tn_codebook_iq4nl[bits(b[2 + j % 16], 4 * (j / 16), 4)];
}

static const struct block_suite suite = {
    .type = GGML_TYPE_IQ4_NL,
    .len = 32,
    .size = 18,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.0062,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { SEARCH_TESTS, BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
