// SPDX-License-Identifier: MIT
// quant/iq1_m.c: blocks against an oracle, and the search of the encoder.
#include "unit/quant/searches.h"

#include "quant/codebook_tables.h" // data only; test_codebook_tables.c holds them against checksums

static float lane(uint64_t word, int i) {
    const int v = (int) (word >> (8 * i) & 255);
    return (float) (v > 127 ? v - 256 : v);
}

static unsigned scale_bits(const uint8_t * b) {
    unsigned d = 0;
    for (int k = 0; k < 4; k++) {
        d |= bits(u16_at(b + 48 + 2 * k), 12, 4) << (4 * k);
    }
    return d;
}

static void mend(uint8_t * b) {
    b[55] &= 0xbf; // the upper bit of the exponent
}

static float decode(const uint8_t * b, int j) {
    const int s = j / 32, l = j % 32 / 8, i = j % 8;
    const unsigned rest = bits(b[32 + 2 * s + l / 2], 4 * (l % 2), 4);
    const unsigned word = b[4 * s + l] | bits(rest, 0, 3) << 8;
    const unsigned code = bits(u16_at(b + 48 + 2 * (s / 2)), 6 * (s % 2) + 3 * (l / 2), 3);
    return half_value(scale_bits(b)) * (float) (2 * code + 1) *
           (lane(tn_codebook_iq1s[word], i) + (bits(rest, 3, 1) ? -0.125f : 0.125f));
}

static const struct block_suite suite = {
    .type = GGML_TYPE_IQ1_M,
    .len = 256,
    .size = 56,
    .mend = mend,
    .decode = decode,
    .bound = 0.182,
    .weighted = true,
};

static void broken_scale_is_found(void ** state) {
    (void) state;
    static float x[ROW];
    static uint8_t bytes[4 * ROW];
    for (int i = 0; i < ROW; i++) {
        x[i] = (float) (i % 5) - 2;
    }
    assert_int_equal(ggml_quantize_chunk(suite.type, x, bytes, 0, 1, ROW, NULL), row_bytes(ROW));
    uint8_t * block = bytes + 2 * suite.size;
    block[49] |= 0xf0; // the lowest bits of the half: still finite
    assert_true(ggml_validate_row_data(suite.type, bytes, row_bytes(ROW)));
    block[53] |= 0xc0; // the two upper bits of its third nibble
    block[55] |= 0x70; // and of the fourth all but the sign
    assert_int_equal(scale_bits(block) & 0x7c00, 0x7c00);
    assert_false(ggml_validate_row_data(suite.type, bytes, row_bytes(ROW)));
    assert_contains(ggml_ext_last_error(), "block 2");
    block[53] &= 0xbf;
    assert_true(ggml_validate_row_data(suite.type, bytes, row_bytes(ROW)));
}

int main(void) {
    const struct CMUnitTest tests[] = { SEARCH_TESTS, BLOCK_TESTS, cmocka_unit_test(broken_scale_is_found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
