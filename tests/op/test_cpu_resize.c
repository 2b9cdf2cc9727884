// SPDX-License-Identifier: MIT
// UPSCALE on the CPU, all modes.
#include "cpu_check.h"

enum { ALIGN = GGML_SCALE_FLAG_ALIGN_CORNERS, SMOOTH = GGML_SCALE_FLAG_ANTIALIAS };

static const struct cpu_oracle close_to = { oracle_upscale, 1e-6, 2e-6 };

static const int modes[] = {
    GGML_SCALE_MODE_NEAREST,         GGML_SCALE_MODE_BILINEAR,
    GGML_SCALE_MODE_BICUBIC,         GGML_SCALE_MODE_BILINEAR | SMOOTH,
    GGML_SCALE_MODE_NEAREST | ALIGN, GGML_SCALE_MODE_BILINEAR | ALIGN,
    GGML_SCALE_MODE_BICUBIC | ALIGN, GGML_SCALE_MODE_BILINEAR | SMOOTH | ALIGN,
};
static const struct {
    int64_t in[4], out[4];
} sizes[] = {
    { { 7, 5, 2, 1 }, { 21, 10, 2, 1 } },  { { 1, 1, 1, 1 }, { 5, 3, 2, 2 } },
    { { 9, 13, 3, 2 }, { 4, 1, 2, 1 } },   { { 6, 4, 1, 2 }, { 1, 14, 3, 3 } },
    { { 14, 3, 1, 1 }, { 46, 5, 1, 1 } },  { { 3, 2, 2, 1 }, { 1100, 2, 2, 1 } },
    { { 600, 4, 1, 1 }, { 31, 6, 1, 1 } }, { { 8, 8, 2, 2 }, { 8, 8, 2, 2 } },
};
enum { MODES = 8, SIZES = 8, CASES = MODES * SIZES * CPU_LAYOUTS };

static void interpolations(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, sizes[k % SIZES].in,
                                            (enum cpu_layout)(k / SIZES % CPU_LAYOUTS), -1.0f, 1.0f);
        const int64_t * ne = sizes[k % SIZES].out;
        const int mode = modes[k / SIZES / CPU_LAYOUTS];
        struct ggml_tensor * y = ggml_interpolate(t.ctx, x, ne[0], ne[1], ne[2], ne[3], (uint32_t) mode);
        assert_int_equal(y->op, GGML_OP_UPSCALE);
        cpu_check(&t, y, close_to);
        cpu_test_free(&t);
    }
}

// Every pair of small sizes: the places where division in floats comes out one too low are among them.
static void nearest_pixels_are_exact(void ** state) {
    (void) state;
    for (int64_t in = 1; in < 40; in += 3) {
        struct cpu_test t = cpu_test_new(1);
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ in, in, 1, 1 }, CPU_DENSE, 0.0f, 1.0f);
        for (int64_t out = 1; out < 50; out += 2)
            cpu_check(&t, ggml_interpolate(t.ctx, x, out, 51 - out, 1, 1, 0),
                      (struct cpu_oracle){ oracle_upscale, 0, 0 });
        cpu_test_free(&t);
    }
}

static void what_is_in_its_place_stays_exact(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < MODES; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ 5, 4, 2, 1 }, CPU_DENSE, -1.0f, 1.0f);
        ((float *) x->data)[7] = INFINITY; // takes no part in its neighbours
        struct ggml_tensor * y = ggml_interpolate(t.ctx, x, 5, 4, 2, 1, (uint32_t) modes[k]);
        cpu_run(&t, y);
        if ((modes[k] & 0xff) != GGML_SCALE_MODE_BICUBIC)
            assert_memory_equal(y->data, x->data, ggml_nbytes(x));
        cpu_test_free(&t);
    }
}

static void whole_factors(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    struct ggml_tensor * x =
        cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ 33, 20, 3, 1 }, CPU_PERMUTED, -1.0f, 1.0f);
    cpu_check(&t, ggml_upscale(t.ctx, x, 2, GGML_SCALE_MODE_NEAREST), close_to);
    cpu_check(&t, ggml_upscale(t.ctx, x, 3, GGML_SCALE_MODE_BILINEAR), close_to);
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interpolations),
        cmocka_unit_test(nearest_pixels_are_exact),
        cmocka_unit_test(what_is_in_its_place_stays_exact),
        cmocka_unit_test(whole_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
