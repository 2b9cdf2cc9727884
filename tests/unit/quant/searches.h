// SPDX-License-Identifier: MIT
// What the tests of types whose encoder is a search do on top of blocks.h: a decoded block is found again, an
// encoding is as good as a stored one, scales do not change codes, nothing is allocated, threads do not
// disturb each other.
#ifndef TN_TESTS_SEARCHES_H
#define TN_TESTS_SEARCHES_H

#include "unit/quant/blocks.h"

#include "base/mem.h"
#include "base/thread.h"

enum { SEARCH_LEN = 256, SEARCH_BYTES = 144 };

static const struct searched_row {
    const char * type;
    int size; // of bytes
    int weighted;
    uint32_t x[SEARCH_LEN];
    uint32_t w[SEARCH_LEN];
    uint8_t bytes[SEARCH_BYTES];
} searched_rows[] = {
#include "format/searched_rows.def"
};

static void encode_or_fail(const float * x, const float * w, uint8_t * bytes) {
    static const float idle[SEARCH_LEN]; // weights of 0 throughout: all count the same
    if (!w && suite.needs_weights) w = idle;
    assert_int_equal(ggml_quantize_chunk(suite.type, x, bytes, 0, 1, SEARCH_LEN, w), row_bytes(SEARCH_LEN));
}

static double search_error(const float * x, const float * w, const uint8_t * bytes) {
    float y[SEARCH_LEN];
    double error = 0, energy = 0;
    decode_row(bytes, y, SEARCH_LEN);
    for (int i = 0; i < SEARCH_LEN; i++) {
        const double k = w ? w[i] : 1, r = (double) x[i] - y[i];
        error += k * r * r;
        energy += k * (double) x[i] * x[i];
    }
    return energy > 0 ? error / energy : error;
}

static void put_random_block(struct test_rng * rng, uint8_t * block) {
    for (int i = 0; i < suite.size; i++) {
        block[i] = (uint8_t) test_rng_u64(rng);
    }
    const unsigned d = half_bits(test_rng_float(rng, 0.01f, 0.1f));
    if (suite.n_halves > 0) {
        block[suite.half_at[0]] = (uint8_t) d;
        block[suite.half_at[0] + 1] = (uint8_t) (d >> 8);
        return;
    }
    for (int k = 0; k < 4; k++) { // iq1_m
        block[49 + 2 * k] = (uint8_t) ((block[49 + 2 * k] & 15) | bits(d, 4 * k, 4) << 4);
    }
}

// What a block can say exactly is found again, by value.
static void decoded_blocks_are_found(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    const int64_t rounds = test_rounds(500);
    double sum = 0;
    for (int64_t round = 0; round < rounds; round++) {
        uint8_t bytes[SEARCH_BYTES];
        float x[SEARCH_LEN];
        for (int at = 0; at < SEARCH_LEN; at += suite.len) {
            put_random_block(&rng, bytes + at / suite.len * suite.size);
        }
        decode_row(bytes, x, SEARCH_LEN);
        encode_or_fail(x, NULL, bytes);
        sum += search_error(x, NULL, bytes);
    }
    if (!(sum / (double) rounds < 1e-4))
        fail_msg("mean error %g of rows that can be exact", sum / (double) rounds);
}

static void as_good_as_stored(void ** state) {
    (void) state;
    int n = 0;
    for (size_t i = 0; i < sizeof(searched_rows) / sizeof(searched_rows[0]); i++) {
        const struct searched_row * row = &searched_rows[i];
        if (strcmp(row->type, ggml_type_name(suite.type)) != 0) continue;
        float x[SEARCH_LEN], w[SEARCH_LEN];
        memcpy(x, row->x, sizeof(x));
        memcpy(w, row->w, sizeof(w));
        const float * weights = row->weighted ? w : NULL;
        uint8_t bytes[SEARCH_BYTES];
        encode_or_fail(x, weights, bytes);
        const double ours = search_error(x, weights, bytes), theirs = search_error(x, weights, row->bytes);
        if (!(ours <= theirs)) fail_msg("error %g, the stored encoding has %g", ours, theirs);
        assert_true(theirs < 0.5); // else the row was not read right
        n++;
    }
    assert_true(n > 0);
}

// Powers of two pass through values and weights, as long as scales neither saturate nor become subnormal.
static void scales_pass_through(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    float x[SEARCH_LEN], w[SEARCH_LEN], larger[SEARCH_LEN], heavier[SEARCH_LEN], y[SEARCH_LEN], z[SEARCH_LEN];
    uint8_t bytes[SEARCH_BYTES];
    for (int i = 0; i < SEARCH_LEN; i++) {
        x[i] = 3 * gaussian(&rng);
        w[i] = expf(gaussian(&rng));
        larger[i] = x[i] * 1024;
        heavier[i] = w[i] * 0x1p-90f;
    }
    encode_or_fail(x, w, bytes);
    decode_row(bytes, y, SEARCH_LEN);
    encode_or_fail(larger, heavier, bytes);
    decode_row(bytes, z, SEARCH_LEN);
    for (int i = 0; i < SEARCH_LEN; i++) {
        assert_true(z[i] == 1024 * y[i]);
    }
}

// Columns of weight 0 do not disturb the others, and still get something better than zeros: in the mean,
// which for the smallest types is 0.8, and 0.17 more or less in a row.
static void idle_columns(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    float x[SEARCH_LEN], w[SEARCH_LEN], idle[SEARCH_LEN];
    uint8_t bytes[SEARCH_BYTES];
    double error = 0, rest = 0;
    const int rounds = 128;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < SEARCH_LEN; i++) {
            x[i] = gaussian(&rng);
            w[i] = i % 4 != 1;
            idle[i] = 1 - w[i];
        }
        encode_or_fail(x, w, bytes);
        error += search_error(x, w, bytes) / rounds;
        rest += search_error(x, idle, bytes) / rounds;
    }
    if (!(error < suite.bound)) fail_msg("error %g where weights are 1", error);
    if (!(rest < 1)) fail_msg("error %g where weights are 0", rest);
}

// Beyond what the largest half reaches, values are as large as the type can say, with their signs.
static void huge_values_saturate(void ** state) {
    (void) state;
    float x[SEARCH_LEN], y[SEARCH_LEN];
    uint8_t bytes[SEARCH_BYTES];
    for (int i = 0; i < SEARCH_LEN; i++) {
        x[i] = i * i % 11 < 5 ? 1e30f : -1e30f;
    }
    encode_or_fail(x, NULL, bytes);
    decode_row(bytes, y, SEARCH_LEN);
    int right = 0;
    for (int i = 0; i < SEARCH_LEN; i++) {
        right += fabsf(y[i]) >= 65504 && (y[i] > 0) == (x[i] > 0);
    }
    if (right < SEARCH_LEN * 13 / 16) fail_msg("%d of %d are large and of the right sign", right, SEARCH_LEN);
}

static void nothing_is_allocated(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    float x[SEARCH_LEN], w[SEARCH_LEN];
    uint8_t bytes[SEARCH_BYTES], again[SEARCH_BYTES];
    for (int i = 0; i < SEARCH_LEN; i++) {
        x[i] = gaussian(&rng);
        w[i] = 1;
    }
    tn_mem_fail_nth(1);
    ggml_quantize_init(suite.type);
    encode_or_fail(x, w, bytes);
    assert_false(tn_mem_fail_nth(0));
    ggml_quantize_free();
    encode_or_fail(x, w, again);
    assert_memory_equal(bytes, again, row_bytes(SEARCH_LEN));
}

struct encoding {
    const float * x;
    uint8_t bytes[4][SEARCH_BYTES];
};

static void * encode_repeatedly(void * arg) {
    struct encoding * e = arg;
    float w[SEARCH_LEN];
    for (int i = 0; i < SEARCH_LEN; i++) {
        w[i] = 1;
    }
    for (int round = 0; round < 4; round++) {
        ggml_quantize_init(suite.type);
        ggml_quantize_chunk(suite.type, e->x, e->bytes[round], 0, 1, SEARCH_LEN, w);
    }
    return NULL;
}

// The first use of a type builds its tables: here by several threads at once, as this test comes first.
static void threads_agree(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    static struct encoding e[4];
    struct tn_thread threads[4];
    float x[SEARCH_LEN];
    for (int i = 0; i < SEARCH_LEN; i++) {
        x[i] = gaussian(&rng);
    }
    for (int k = 0; k < 4; k++) {
        e[k].x = x;
        assert_true(tn_thread_start(&threads[k], encode_repeatedly, &e[k]));
    }
    for (int k = 0; k < 4; k++) {
        tn_thread_join(&threads[k]);
    }
    uint8_t zeros[SEARCH_BYTES] = { 0 };
    assert_memory_not_equal(e[0].bytes[0], zeros, row_bytes(SEARCH_LEN));
    for (int k = 0; k < 16; k++) {
        assert_memory_equal(e[k / 4].bytes[k % 4], e[0].bytes[0], row_bytes(SEARCH_LEN));
    }
}

#define SEARCH_TESTS                                                                                         \
    cmocka_unit_test(threads_agree), cmocka_unit_test(decoded_blocks_are_found),                             \
        cmocka_unit_test(as_good_as_stored), cmocka_unit_test(scales_pass_through),                          \
        cmocka_unit_test(idle_columns), cmocka_unit_test(huge_values_saturate),                              \
        cmocka_unit_test(nothing_is_allocated)

#endif
