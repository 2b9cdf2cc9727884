// SPDX-License-Identifier: MIT
// PAD PAD_REFLECT_1D ROLL on the CPU.
#include "cpu_check.h"

// Elements are moved, so nothing may differ.
static struct cpu_oracle exactly(double (*value)(const struct ggml_tensor * node, const int64_t * i)) {
    return (struct cpu_oracle){ value, 0.0, 0.0 };
}

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 }, { 7, 5, 3, 2 }, { 1300, 3, 1, 2 }, { 511, 2, 2, 1 }, { 3, 70, 2, 2 },
};
enum { SHAPES = 5 };
static const enum ggml_type types[] = {
    GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I8, GGML_TYPE_I32, GGML_TYPE_I64,
};
enum { TYPES = 6, CASES = SHAPES * TYPES * CPU_LAYOUTS, DENSE_CASES = SHAPES * TYPES * CPU_TURNED };

static void paddings(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k % SHAPES];
        struct ggml_tensor * x = cpu_source(&t, types[k / SHAPES % TYPES], ne,
                                            (enum cpu_layout)(k / SHAPES / TYPES), -99.0f, 99.0f);
        int p[8];
        for (int d = 0; d < 8; d++)
            p[d] = (int) test_rng_below(&t.rng, d < 2 && k % 2 ? 600 : 4);
        struct ggml_tensor * y = ggml_pad_ext(t.ctx, x, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
        assert_int_equal(y->op, GGML_OP_PAD);
        cpu_check(&t, y, exactly(oracle_pad));
        cpu_check(&t, ggml_pad(t.ctx, x, p[0], p[1], p[2], p[3]), exactly(oracle_pad));
        y = ggml_pad_ext_circular(t.ctx, x, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
        cpu_check(&t, y, exactly(oracle_pad));
        cpu_test_free(&t);
    }
}

static void padding_of_nothing_is_zeros(void ** state) {
    (void) state;
    for (int d = 0; d < 4; d++) {
        struct cpu_test t = cpu_test_new(1);
        int64_t ne[] = { 5, 4, 3, 2 };
        ne[d] = 0;
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
        cpu_check(&t, ggml_pad_ext(t.ctx, x, 1, 2, 0, 1, 1, 0, 2, 2), exactly(oracle_pad));
        cpu_test_free(&t);
    }
}

static void reflections(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * SHAPES; k += cpu_step(4 * SHAPES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k % SHAPES];
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
        const int p0 = (int) test_rng_below(&t.rng, ne[0]), p1 = (int) test_rng_below(&t.rng, ne[0]);
        struct ggml_tensor * y = ggml_pad_reflect_1d(t.ctx, x, p0, p1);
        assert_int_equal(y->op, GGML_OP_PAD_REFLECT_1D);
        cpu_check(&t, y, exactly(oracle_pad_reflect));
        cpu_test_free(&t);
    }
}

static void rolls(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < DENSE_CASES; k += cpu_step(DENSE_CASES)) { // elements of a row lie side by side
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k % SHAPES];
        struct ggml_tensor * x = cpu_source(&t, types[k / SHAPES % TYPES], ne,
                                            (enum cpu_layout)(k / SHAPES / TYPES), -99.0f, 99.0f);
        int shift[4];
        for (int d = 0; d < 4; d++)
            shift[d] = (int) (test_rng_below(&t.rng, 2 * ne[d] - 1) - (ne[d] - 1));
        struct ggml_tensor * y = ggml_roll(t.ctx, x, shift[0], shift[1], shift[2], shift[3]);
        assert_int_equal(y->op, GGML_OP_ROLL);
        cpu_check(&t, y, exactly(oracle_roll));
        cpu_test_free(&t);
    }
}

static void blocks_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x =
        cpu_source(&t, GGML_TYPE_Q8_0, (const int64_t[]){ 64, 2, 1, 1 }, CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_pad(t.ctx, x, 32, 0, 0, 0), "q8_0");
    cpu_refused(&t, ggml_roll(t.ctx, x, 32, 0, 0, 0), "q8_0");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paddings),           cmocka_unit_test(padding_of_nothing_is_zeros),
        cmocka_unit_test(reflections),        cmocka_unit_test(rolls),
        cmocka_unit_test(blocks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
