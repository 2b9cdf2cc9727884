// SPDX-License-Identifier: MIT
// quant/codebook_tables.c: the grids against checksums of the format's tables, and what is computed instead
// of stored.
#include "harness.h"

#include "quant/codebook_tables.h"

// FNV-1a over one byte a lane, in the order of words and lanes.
static uint64_t add_lanes(uint64_t hash, uint64_t word, int n_lanes) {
    for (int i = 0; i < n_lanes; i++) {
        hash = (hash ^ (word >> (8 * i) & 255)) * 0x100000001b3ull;
    }
    return hash;
}

static uint64_t hash_wide(const uint64_t * words, int n) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int i = 0; i < n; i++) {
        hash = add_lanes(hash, words[i], 8);
    }
    return hash;
}

static uint64_t hash_narrow(const uint32_t * words, int n) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int i = 0; i < n; i++) {
        hash = add_lanes(hash, words[i], 4);
    }
    return hash;
}

static void grids(void ** state) {
    (void) state;
    assert_true(hash_wide(tn_codebook_iq1s, 2048) == 0x6703ed863501ae2eull);
    assert_true(hash_wide(tn_codebook_iq2xxs, 256) == 0xbb4ee025b5ac6e8eull);
    assert_true(hash_wide(tn_codebook_iq2xs, 512) == 0xc9b1ee61e79909bdull);
    assert_true(hash_wide(tn_codebook_iq2s, 1024) == 0x123edd38a3b62b90ull);
    assert_true(hash_narrow(tn_codebook_iq3xxs, 256) == 0xdfa5dc83d6a155d5ull);
    assert_true(hash_narrow(tn_codebook_iq3s, 512) == 0xfa37020c25b44829ull);
}

static void values(void ** state) {
    (void) state;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int i = 0; i < 16; i++) {
        hash = add_lanes(hash, (uint8_t) tn_codebook_iq4nl[i], 1);
    }
    assert_true(hash == 0x55d06d2d8fa0f75ull);
}

static void signs(void ** state) {
    (void) state;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (unsigned i = 0; i < 128; i++) {
        assert_int_equal(tn_codebook_signs(i) & 127, i);
        hash = add_lanes(hash, tn_codebook_signs(i), 1);
    }
    assert_true(hash == 0xf19ba8f8c3292ba5ull);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(grids), cmocka_unit_test(values),
                                        cmocka_unit_test(signs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
