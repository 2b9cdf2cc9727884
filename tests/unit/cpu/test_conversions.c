// SPDX-License-Identifier: MIT
// ggml_cpu_fp32_to_fp16 and its like, at every level that this machine runs: all halves and all bf16, and
// floats of all bit patterns (every one of them with TENON_FULL=1) against the places where the result
// changes. NaN and subnormals included. Nothing in it is shared with the library's conversions.
#include "harness.h"

#include <math.h>

#include "cpu/isa.h"
#include "cpu/kernels.h"
#include "ggml-cpu.h"

enum { BLOCK = 4096, BLOCKS = 1 << 20, ALL = 65536 }; // 2^32 floats

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

// What the bits of a half that is no NaN mean; 0x7c00: what comes after the largest.
static double half_value(uint32_t h) {
    const int e = (int) (h >> 10 & 31), m = (int) (h & 1023);
    return e == 0 ? m * 0x1p-24 : ldexp(1024 + m, e - 25);
}

// By level, highest last. The test runs `what` under each.
static void at_every_level(void (*what)(void)) {
    const uint64_t machine = tn_isa_machine();
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        if (!(machine >> i & 1)) continue;
        tn_kernels_select(tn_isa_up_to((enum tn_isa) i));
        what();
    }
    tn_kernels_select(UINT64_MAX);
}

static void check_halves(void) {
    static ggml_fp16_t h[ALL], back[ALL];
    static float f[ALL];
    for (uint32_t i = 0; i < ALL; i++)
        h[i] = (ggml_fp16_t) i;
    ggml_cpu_fp16_to_fp32(h, f, ALL);
    ggml_cpu_fp32_to_fp16(f, back, ALL);
    for (uint32_t i = 0; i < ALL; i++) {
        const uint32_t magnitude = i & 0x7fff;
        assert_int_equal(bits_of(f[i]) >> 31, i >> 15);
        if (magnitude > 0x7c00) {
            assert_true(isnan(f[i]));
            assert_int_equal(back[i], (i & 0x8000) | 0x7e00);
            continue;
        }
        const double value = magnitude == 0x7c00 ? INFINITY : half_value(magnitude);
        assert_true((double) fabsf(f[i]) == value);
        assert_int_equal(back[i], i);
    }
}

static void every_half(void ** state) {
    (void) state;
    at_every_level(check_halves);
}

static void check_bf16(void) {
    static ggml_bf16_t b[ALL], back[ALL];
    static float f[ALL];
    for (uint32_t i = 0; i < ALL; i++)
        b[i].bits = (uint16_t) i;
    ggml_cpu_bf16_to_fp32(b, f, ALL);
    ggml_cpu_fp32_to_bf16(f, back, ALL);
    for (uint32_t i = 0; i < ALL; i++) {
        const bool nan = (i & 0x7fff) > 0x7f80;
        assert_true(nan ? isnan(f[i]) : bits_of(f[i]) == i << 16);
        assert_int_equal(back[i].bits, nan ? i | 64 : i);
    }
}

static void every_bf16(void ** state) {
    (void) state;
    at_every_level(check_bf16);
}

// The half that the positive float lies nearest to; `near` is one at or below it.
static uint32_t half_from(uint32_t near, float f) {
    while (near < 0x7c00) {
        const double middle = (half_value(near) + half_value(near + 1)) / 2;
        if ((double) f < middle || ((double) f == middle && near % 2 == 0)) break;
        near++;
    }
    return near;
}

static uint32_t last_half_below(float f) {
    uint32_t low = 0, high = 0x7c00;
    while (high - low > 1) {
        const uint32_t mid = (low + high) / 2;
        if (half_value(mid) <= (double) f) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

static uint16_t bf16_from(uint32_t bits) {
    const uint32_t upper = bits >> 16, rest = bits & 0xffff;
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t) (upper | 64);
    return (uint16_t) (upper + (rest > 0x8000 || (rest == 0x8000 && upper % 2 == 1)));
}

// The floats of a block follow one another, so the expected half only goes up.
static void check_block(uint32_t first) {
    static float x[BLOCK];
    static ggml_fp16_t h[BLOCK];
    static ggml_bf16_t b[BLOCK];
    for (uint32_t i = 0; i < BLOCK; i++)
        x[i] = float_of(first + i);
    ggml_cpu_fp32_to_fp16(x, h, BLOCK);
    ggml_cpu_fp32_to_bf16(x, b, BLOCK);
    const uint32_t sign = first >> 31 << 15;
    uint32_t half = isnan(x[0]) ? 0 : last_half_below(fabsf(x[0]));
    for (uint32_t i = 0; i < BLOCK; i++) {
        if (!isnan(x[i])) half = half_from(half, fabsf(x[i]));
        const uint32_t expected = isnan(x[i]) ? 0x7e00 : half;
        if (h[i] != (sign | expected)) fail_msg("%a becomes the half 0x%04x", (double) x[i], (unsigned) h[i]);
        if (b[i].bits != bf16_from(first + i))
            fail_msg("%a becomes the bf16 0x%04x", (double) x[i], b[i].bits);
    }
}

static uint64_t seed;

// Every k-th block, from a random one on.
static void check_floats(void) {
    const uint32_t share = (uint32_t) (BLOCKS / test_rounds(BLOCKS)), step = share * share;
    struct test_rng rng = { seed };
    for (uint32_t i = (uint32_t) test_rng_below(&rng, step); i < BLOCKS; i += step)
        check_block(i * BLOCK);
}

static void floats_of_all_bits(void ** state) {
    (void) state;
    seed = test_seed();
    at_every_level(check_floats);
}

static int32_t truncated(float f) {
    if (isnan(f)) return 0;
    const double t = trunc((double) f);
    return t >= 2147483647.0 ? INT32_MAX : t <= -2147483648.0 ? INT32_MIN : (int32_t) t;
}

static void check_integers(void) {
    static float x[BLOCK], same[BLOCK];
    static int32_t y[BLOCK];
    struct test_rng rng = { seed };
    for (int64_t round = 0; round < test_rounds(2000); round++) {
        for (int i = 0; i < BLOCK; i++) // half of them where integers lie
            x[i] = i % 2 ? float_of((uint32_t) test_rng_u64(&rng)) : test_rng_float(&rng, -3e9f, 3e9f);
        ggml_cpu_fp32_to_i32(x, y, BLOCK);
        for (int i = 0; i < BLOCK; i++)
            assert_int_equal(y[i], truncated(x[i]));
        ggml_cpu_fp32_to_fp32(x, same, BLOCK);
        assert_memory_equal(x, same, sizeof(x)); // NaN as well
    }
}

static void integers_and_copies(void ** state) {
    (void) state;
    seed = test_seed();
    at_every_level(check_integers);
}

// Any length, at any element, and not one element more.
static void check_lengths(void) {
    enum { MOST = 130, ROOM = MOST + 16 };
    float x[ROOM], f[ROOM];
    ggml_fp16_t h[ROOM];
    ggml_bf16_t b[ROOM];
    int32_t n32[ROOM];
    for (int i = 0; i < ROOM; i++)
        x[i] = (float) (i - 70);
    for (int n = 0; n <= MOST; n++) {
        const int at = 1 + n % 7;
        memset(h, 0x55, sizeof(h));
        memset(b, 0x55, sizeof(b));
        memset(n32, 0x55, sizeof(n32));
        ggml_cpu_fp32_to_fp16(x + at, h + at, n);
        ggml_cpu_fp32_to_bf16(x + at, b + at, n);
        ggml_cpu_fp32_to_i32(x + at, n32 + at, n);
        for (int k = 0; k < 3; k++) { // back again, each
            memset(f, 0x55, sizeof(f));
            if (k == 0) ggml_cpu_fp16_to_fp32(h + at, f + at, n);
            if (k == 1) ggml_cpu_bf16_to_fp32(b + at, f + at, n);
            if (k == 2) ggml_cpu_fp32_to_fp32(x + at, f + at, n);
            for (int i = 0; i < ROOM; i++) {
                const bool inside = i >= at && i < at + n;
                assert_int_equal(bits_of(f[i]), inside ? bits_of(x[i]) : 0x55555555);
                assert_int_equal(n32[i], inside ? i - 70 : 0x55555555);
                assert_true(inside || (h[i] == 0x5555 && b[i].bits == 0x5555));
            }
        }
    }
}

static void lengths_and_places(void ** state) {
    (void) state;
    at_every_level(check_lengths);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half),         cmocka_unit_test(every_bf16),
        cmocka_unit_test(floats_of_all_bits), cmocka_unit_test(integers_and_copies),
        cmocka_unit_test(lengths_and_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
