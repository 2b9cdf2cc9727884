// SPDX-License-Identifier: MIT
// POOL_1D POOL_2D POOL_2D_BACK on the CPU.
#include "cpu_check.h"

static const struct cpu_oracle pool = { oracle_pool, 1e-7, 1e-8 }, back = { oracle_pool_back, 1e-6, 1e-6 };

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 }, { 7, 5, 3, 2 }, { 1300, 3, 1, 2 }, { 40, 33, 2, 1 }, { 9, 70, 2, 2 },
};
static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
enum { SHAPES = 5, CASES = SHAPES * 3 * CPU_LAYOUTS * 2 };

static struct ggml_tensor * source(struct cpu_test * t, int k) {
    return cpu_source(t, types[k / SHAPES % 3], shapes[k % SHAPES],
                      (enum cpu_layout)(k / SHAPES / 3 % CPU_LAYOUTS), -1.0f, 1.0f);
}

static enum ggml_op_pool kind_of(int k) {
    return k / SHAPES / 3 / CPU_LAYOUTS ? GGML_OP_POOL_AVG : GGML_OP_POOL_MAX;
}

struct window {
    int k0, k1, s0, s1, p0, p1;
};

// Sizes, strides and paddings such that a window fits.
static struct window random_window(struct cpu_test * t, const int64_t * ne) {
    struct window w;
    w.p0 = (int) test_rng_below(&t->rng, 4);
    w.p1 = (int) test_rng_below(&t->rng, 4);
    w.k0 = 1 + (int) test_rng_below(&t->rng, ne[0] + 2 * w.p0 > 5 ? 5 : ne[0] + 2 * w.p0);
    w.k1 = 1 + (int) test_rng_below(&t->rng, ne[1] + 2 * w.p1 > 5 ? 5 : ne[1] + 2 * w.p1);
    w.s0 = 1 + (int) test_rng_below(&t->rng, 4);
    w.s1 = 1 + (int) test_rng_below(&t->rng, 4);
    return w;
}

static void rows(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x = source(&t, k);
        const struct window w = random_window(&t, x->ne);
        struct ggml_tensor * y = ggml_pool_1d(t.ctx, x, kind_of(k), w.k0, w.s0, w.p0);
        assert_int_equal(y->op, GGML_OP_POOL_1D);
        cpu_check(&t, y, pool);
        cpu_test_free(&t);
    }
}

static void planes(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x = source(&t, k);
        const struct window w = random_window(&t, x->ne);
        const float part = k % 3 == 0 ? 0.5f : 0.0f; // half a padding counts in the size alone
        struct ggml_tensor * y = ggml_pool_2d(t.ctx, x, kind_of(k), w.k0, w.k1, w.s0, w.s1,
                                              (float) w.p0 + part, (float) w.p1 + part);
        assert_int_equal(y->op, GGML_OP_POOL_2D);
        cpu_check(&t, y, pool);
        cpu_test_free(&t);
    }
}

// Windows longer than what is converted at once.
static void wide_windows(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 12; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x =
            cpu_source(&t, types[k % 3], (const int64_t[]){ 1500, 3, 1, 1 }, CPU_DENSE, -1.0f, 1.0f);
        const enum ggml_op_pool kind = k / 3 % 2 ? GGML_OP_POOL_AVG : GGML_OP_POOL_MAX;
        cpu_check(&t, ggml_pool_1d(t.ctx, x, kind, 1300, 100, 10), pool);
        cpu_check(&t, ggml_pool_2d(t.ctx, x, kind, 1300, 3, 100, 1, 10, 0), pool);
        cpu_test_free(&t);
    }
}

static void gradients(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        if (k % SHAPES == 2) {
            cpu_test_free(&t);
            continue; // too long for this oracle
        }
        struct ggml_tensor * x = source(&t, k);
        const struct window w = random_window(&t, x->ne);
        if (k % 2) { // few different values: the first of equal ones gets the gradient
            int64_t i[4] = { 0 };
            do
                cpu_put(x, i, floor(2 * cpu_get(x, i[0], i[1], i[2], i[3])));
            while (cpu_next(x, i));
        }
        struct ggml_tensor * f =
            ggml_pool_2d(t.ctx, x, kind_of(k), w.k0, w.k1, w.s0, w.s1, (float) w.p0, (float) w.p1);
        struct ggml_tensor * g =
            cpu_source(&t, types[k % 3], f->ne, (enum cpu_layout)(k % CPU_LAYOUTS), -1.0f, 1.0f);
        struct ggml_tensor * y =
            ggml_pool_2d_back(t.ctx, g, x, kind_of(k), w.k0, w.k1, w.s0, w.s1, (float) w.p0, (float) w.p1);
        assert_int_equal(y->op, GGML_OP_POOL_2D_BACK);
        cpu_check(&t, y, back);
        cpu_test_free(&t);
    }
}

static void nan_is_skipped_by_maxima(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x =
        cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ 6, 1, 1, 1 }, CPU_DENSE, 0.0f, 0.0f);
    memcpy(x->data, (const float[]){ NAN, -3.0f, -2.0f, NAN, -INFINITY, -INFINITY }, 6 * sizeof(float));
    struct ggml_tensor * y = ggml_pool_1d(t.ctx, x, GGML_OP_POOL_MAX, 2, 2, 0);
    cpu_run(&t, y);
    assert_memory_equal(y->data, ((const float[]){ -3.0f, -2.0f, -INFINITY }), 3 * sizeof(float));
    cpu_test_free(&t);
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_I32, shapes[1], CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_pool_1d(t.ctx, x, GGML_OP_POOL_MAX, 2, 1, 0), "i32");
    cpu_refused(&t, ggml_pool_2d(t.ctx, x, GGML_OP_POOL_MAX, 2, 2, 1, 1, 0, 0), "i32");
    struct ggml_tensor * g = cpu_source(&t, GGML_TYPE_F32, shapes[1], CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_pool_2d_back(t.ctx, g, x, GGML_OP_POOL_MAX, 1, 1, 1, 1, 0, 0), "src1");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(planes),
        cmocka_unit_test(wide_windows),
        cmocka_unit_test(gradients),
        cmocka_unit_test(nan_is_skipped_by_maxima),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
