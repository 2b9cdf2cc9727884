// SPDX-License-Identifier: MIT
// quant/iq4_xs.c: blocks against an oracle, and the search of the encoder.
#include "unit/quant/searches.h"

#include "quant/codebook_tables.h" // data only; test_codebook_tables.c holds them against checksums

static float decode(const uint8_t * b, int j) {
    const int s = j / 32;
    const int code = (int) (bits(b[4 + s / 2], 4 * (s % 2), 4) | bits(u16_at(b + 2), 2 * s, 2) << 4);
    const unsigned nibble = bits(b[8 + 16 * s + j % 16], 4 * (j % 32 / 16), 4);
    return half_at(b) * (float) (code - 32) * (float) tn_codebook_iq4nl[nibble];
}

static const struct block_suite suite = {
    .type = GGML_TYPE_IQ4_XS,
    .len = 256,
    .size = 136,
    .half_at = { 0 },
    .n_halves = 1,
    .decode = decode,
    .bound = 0.0063,
    .weighted = true,
};

int main(void) {
    const struct CMUnitTest tests[] = { SEARCH_TESTS, BLOCK_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
