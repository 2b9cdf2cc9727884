// SPDX-License-Identifier: MIT
// What the test of every block type does: decoding against an oracle that reads bits, encoding against an
// oracle where bytes are prescribed, errors within a bound, and inputs meant to break encoders. Oracles share
// no code with the library: halves and bits are read in bits.h.
#ifndef TN_TESTS_BLOCKS_H
#define TN_TESTS_BLOCKS_H

#include "ggml-ext.h"
#include "ggml.h"
#include "unit/quant/bits.h"

enum { ROW = 1024, ROWS = 3 };

struct block_suite {
    enum ggml_type type;
    int len;                                          // elements of a block
    int size;                                         // bytes of a block
    int half_at[2];                                   // where halves are, for making and breaking blocks
    int n_halves;                                     //
    void (*mend)(uint8_t * block);                    // makes a scale in pieces finite; or NULL
    float (*decode)(const uint8_t * block, int j);    // element j
    void (*encode)(const float * x, uint8_t * block); // NULL where the encoder is a search
    double bound;  // of the error of a gaussian row, relative to its energy
    bool weighted; // importance weights count
    bool needs_weights;
};

// Each test program has one.
static const struct block_suite suite;

// ---------------------------------------------------------------- rows

static inline void decode_row(const void * bytes, float * y, int64_t n) {
    const struct ggml_type_traits * traits = ggml_get_type_traits(suite.type);
    assert_non_null(traits->to_float);
    traits->to_float(bytes, y, n);
}

static inline size_t row_bytes(int64_t n) {
    return (size_t) (n / suite.len * suite.size);
}

// Weighted squared error of row x in bytes, relative to the row's energy.
static inline double row_error(const float * x, const void * bytes, const float * w) {
    float y[ROW];
    double error = 0, energy = 0;
    decode_row(bytes, y, ROW);
    for (int i = 0; i < ROW; i++) {
        const double k = w ? w[i] : 1, r = (double) x[i] - y[i];
        error += k * r * r;
        energy += k * x[i] * x[i];
    }
    return energy > 0 ? error / energy : error;
}

static inline void ones(float * w) {
    for (int i = 0; i < ROW; i++) {
        w[i] = 1;
    }
}

// ---------------------------------------------------------------- tests

static void decodes_as_written(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    uint8_t block[512];
    float y[256];
    for (int64_t round = 0; round < test_rounds(20000); round++) {
        for (int i = 0; i < suite.size; i++) {
            block[i] = (uint8_t) test_rng_u64(&rng);
        }
        for (int k = 0; k < suite.n_halves; k++) { // finite ones: NaN bits need not survive
            if ((block[suite.half_at[k] + 1] & 0x7c) == 0x7c) block[suite.half_at[k] + 1] ^= 0x40;
        }
        if (suite.mend) suite.mend(block);
        decode_row(block, y, suite.len);
        for (int j = 0; j < suite.len; j++) {
            const float want = suite.decode(block, j);
            if (float_bits(y[j]) == float_bits(want) || (want == 0 && y[j] == 0)) continue;
            fail_msg("element %d is %.9g, not %.9g", j, (double) y[j], (double) want);
        }
    }
}

// Kinds of rows an encoder meets; ties and zeros come often.
static void fill_ordinary(struct test_rng * rng, float * x, int n) {
    const int kind = (int) test_rng_below(rng, 5);
    const float unit = ldexpf(1, (int) test_rng_below(rng, 16) - 10);
    for (int i = 0; i < n; i++) {
        switch (kind) {
        case 0: x[i] = gaussian(rng); break;
        case 1: x[i] = (float) (test_rng_below(rng, 17) - 8); break;
        case 2: x[i] = test_rng_below(rng, 3) == 0 ? gaussian(rng) : 0; break;
        case 3: x[i] = 1 + 0.25f * gaussian(rng); break;
        default: x[i] = test_rng_below(rng, 50) == 0 ? 30 * gaussian(rng) : gaussian(rng); break;
        }
        x[i] *= unit;
    }
    if (test_rng_below(rng, 20) == 0) memset(x, 0, (size_t) n * sizeof(*x));
}

static void encodes_as_written(void ** state) {
    (void) state;
    if (!suite.encode) return;
    struct test_rng rng = { test_seed() };
    float x[256];
    uint8_t want[512], got[512];
    for (int64_t round = 0; round < test_rounds(50000); round++) {
        fill_ordinary(&rng, x, suite.len);
        suite.encode(x, want);
        assert_int_equal(ggml_quantize_chunk(suite.type, x, got, 0, 1, suite.len, NULL), suite.size);
        assert_memory_equal(got, want, suite.size);
        memset(got, 0xaa, sizeof(got));
        ggml_get_type_traits(suite.type)->from_float_ref(x, got, suite.len);
        assert_memory_equal(got, want, suite.size);
        assert_int_equal(got[suite.size], 0xaa);
    }
}

static void error_is_small(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    static float x[ROW], w[ROW];
    static uint8_t bytes[4 * ROW];
    double sum = 0;
    const int rounds = 8;
    for (int round = 0; round < rounds; round++) {
        const float unit = ldexpf(1, 2 * round - 6);
        for (int i = 0; i < ROW; i++) {
            x[i] = unit * gaussian(&rng);
        }
        ones(w);
        assert_true(ggml_quantize_chunk(suite.type, x, bytes, 0, 1, ROW, suite.needs_weights ? w : NULL) ==
                    row_bytes(ROW));
        sum += row_error(x, bytes, NULL);
    }
    if (!(sum / rounds <= suite.bound)) fail_msg("error %g, at most %g expected", sum / rounds, suite.bound);
}

// Weights are heeded: the error that they measure is smaller with them than without.
static void weights_count(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    static float x[ROW], w[ROW], flat[ROW];
    static uint8_t with[4 * ROW], without[4 * ROW];
    double sum_with = 0, sum_without = 0;
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < ROW; i++) {
            x[i] = gaussian(&rng);
            w[i] = expf(2 * gaussian(&rng));
        }
        ones(flat);
        assert_true(ggml_quantize_chunk(suite.type, x, with, 0, 1, ROW, w) > 0);
        assert_true(
            ggml_quantize_chunk(suite.type, x, without, 0, 1, ROW, suite.needs_weights ? flat : NULL) > 0);
        sum_with += row_error(x, with, w);
        sum_without += row_error(x, without, w);
    }
    if (suite.weighted) {
        if (!(sum_with < 0.98 * sum_without))
            fail_msg("weighted error %g with weights, %g without", sum_with, sum_without);
    } else {
        assert_memory_equal(with, without, row_bytes(ROW));
    }
}

// Inputs at the ends of what a float holds.
static const char * fill_extreme(int kind, struct test_rng * rng, float * x, int n) {
    static const char * const names[] = { "zeros",
                                          "denormals",
                                          "mixed denormals",
                                          "FLT_MAX",
                                          "-FLT_MAX",
                                          "+-FLT_MAX",
                                          "1e30",
                                          "outlier of FLT_MAX",
                                          "outlier of 1e30 among zeros",
                                          "1e-20",
                                          "ones",
                                          "smallest normals",
                                          "minus zeros",
                                          "1e-7",
                                          "half overflow",
                                          "powers of two",
                                          "random bits",
                                          "all positive",
                                          "one denormal" };
    for (int i = 0; i < n; i++) {
        const float g = gaussian(rng);
        const float each[] = { 0,
                               1e-45f,
                               1e-41f * g,
                               FLT_MAX,
                               -FLT_MAX,
                               i % 2 ? FLT_MAX : -FLT_MAX,
                               1e30f * g,
                               i % 37 == 5 ? -FLT_MAX : g,
                               i % 37 == 5 ? 1e30f : 0,
                               1e-20f * g,
                               1,
                               FLT_MIN * g,
                               -0.0f,
                               1e-7f * g,
                               3e6f * g,
                               ldexpf(i % 3 ? 1 : -1, i % 277 - 149),
                               0,
                               1 + 0.1f * g,
                               i == 3 ? 1e-45f : 0 };
        if (kind == (int) (sizeof(each) / sizeof(each[0]))) return NULL;
        x[i] = each[kind];
        if (kind == 16) {
            const uint32_t u = (uint32_t) test_rng_u64(rng);
            memcpy(&x[i], &u, sizeof(u));
            if (!isfinite(x[i])) x[i] = FLT_MAX;
        }
    }
    return names[kind];
}

static const char * fill_weights(int kind, struct test_rng * rng, float * w, int n) {
    static const char * const names[] = { "weights 0",  "denormal weights",      "weights FLT_MAX",
                                          "one weight", "weights 0 and FLT_MAX", "all magnitudes" };
    for (int i = 0; i < n; i++) {
        const bool odd = test_rng_below(rng, 2) == 0;
        const float each[] = { 0,
                               1e-45f,
                               FLT_MAX,
                               i == 7 ? 1 : 0,
                               odd ? 0 : FLT_MAX,
                               ldexpf(1, (int) test_rng_below(rng, 270) - 145) };
        if (kind == (int) (sizeof(each) / sizeof(each[0]))) return NULL;
        w[i] = each[kind];
    }
    return names[kind];
}

static void check_finite(const float * x, const float * w, const char * x_name, const char * w_name) {
    static uint8_t bytes[4 * ROW];
    static float y[ROW];
    memset(bytes, 0xff, sizeof(bytes));
    if (ggml_quantize_chunk(suite.type, x, bytes, 0, 1, ROW, w) != row_bytes(ROW))
        fail_msg("%s, %s: refused", x_name, w_name);
    if (!ggml_validate_row_data(suite.type, bytes, row_bytes(ROW)))
        fail_msg("%s, %s: not valid", x_name, w_name);
    decode_row(bytes, y, ROW);
    for (int i = 0; i < ROW; i++) {
        if (!isfinite(y[i])) fail_msg("%s, %s: element %d decodes to %g", x_name, w_name, i, (double) y[i]);
        if (strstr(x_name, "zeros") == x_name && y[i] != 0)
            fail_msg("%s, %s: %g is not 0", x_name, w_name, (double) y[i]);
    }
}

static void extremes_stay_finite(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    static float x[ROW], w[ROW];
    for (int i = 0;; i++) {
        const char * x_name = fill_extreme(i, &rng, x, ROW);
        if (!x_name) break;
        if (!suite.needs_weights) check_finite(x, NULL, x_name, "no weights");
        for (int k = 0;; k++) {
            const char * w_name = fill_weights(k, &rng, w, ROW);
            if (!w_name) break;
            check_finite(x, w, x_name, w_name);
        }
    }
}

// A NaN or an infinity is refused by name; what calls the plain encoder all the same does not crash.
static void non_finite_is_refused(void ** state) {
    (void) state;
    static float x[ROWS * ROW], w[ROW];
    static uint8_t bytes[4 * ROWS * ROW];
    const float bad[] = { NAN, INFINITY, -INFINITY };
    ones(w);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < ROWS * ROW; i++) {
            x[i] = (float) (i % 7) - 3;
        }
        x[ROW + 77] = bad[k];
        assert_int_equal(ggml_quantize_chunk(suite.type, x, bytes, 0, ROWS, ROW, w), 0);
        assert_contains(ggml_ext_last_error(), ggml_type_name(suite.type));
        assert_contains(ggml_ext_last_error(), "row 1, column 77");
        ggml_from_float_t encode = ggml_get_type_traits(suite.type)->from_float_ref;
        if (encode) encode(x, bytes, ROWS * ROW);
        for (int i = 0; encode && i < ROWS * ROW; i++) {
            x[i] = bad[(i + k) % 3];
        }
        if (encode) encode(x, bytes, ROWS * ROW);
    }
}

static void bad_weights(void ** state) {
    (void) state;
    static float x[ROW], w[ROW];
    static uint8_t bytes[4 * ROW];
    const float bad[] = { NAN, INFINITY, -1e-45f };
    for (int k = 0; k < 3; k++) {
        ones(w);
        w[1000] = bad[k];
        const size_t size = ggml_quantize_chunk(suite.type, x, bytes, 0, 1, ROW, w);
        assert_int_equal(size, suite.weighted ? 0 : row_bytes(ROW));
        if (suite.weighted) assert_contains(ggml_ext_last_error(), "column 1000");
    }
    if (!suite.needs_weights) return;
    assert_int_equal(ggml_quantize_chunk(suite.type, x, bytes, 0, 1, ROW, NULL), 0);
    assert_contains(ggml_ext_last_error(), "weights");
    assert_contains(ggml_ext_last_error(), ggml_type_name(suite.type));
}

static void broken_halves_are_found(void ** state) {
    (void) state;
    static float x[ROW], w[ROW];
    static uint8_t bytes[4 * ROW];
    const unsigned bad[] = { 0x7c00, 0xfc00, 0x7e00, 0xffff };
    ones(w);
    assert_int_equal(ggml_quantize_chunk(suite.type, x, bytes, 0, 1, ROW, w), row_bytes(ROW));
    assert_true(ggml_validate_row_data(suite.type, bytes, row_bytes(ROW)));
    assert_false(ggml_validate_row_data(suite.type, bytes, row_bytes(ROW) - 1));
    for (int k = 0; k < suite.n_halves; k++) {
        for (int i = 0; i < 4; i++) {
            uint8_t * at = bytes + suite.size + suite.half_at[k]; // of the second block
            const uint8_t before[2] = { at[0], at[1] };
            at[0] = (uint8_t) bad[i];
            at[1] = (uint8_t) (bad[i] >> 8);
            assert_false(ggml_validate_row_data(suite.type, bytes, row_bytes(ROW)));
            assert_contains(ggml_ext_last_error(), "block 1");
            assert_contains(ggml_ext_last_error(), ggml_type_name(suite.type));
            memcpy(at, before, 2);
        }
    }
    assert_true(ggml_validate_row_data(suite.type, bytes, row_bytes(ROW)));
}

#define BLOCK_TESTS                                                                                          \
    cmocka_unit_test(decodes_as_written), cmocka_unit_test(encodes_as_written),                              \
        cmocka_unit_test(error_is_small), cmocka_unit_test(weights_count),                                   \
        cmocka_unit_test(extremes_stay_finite), cmocka_unit_test(non_finite_is_refused),                     \
        cmocka_unit_test(bad_weights), cmocka_unit_test(broken_halves_are_found)

#endif
