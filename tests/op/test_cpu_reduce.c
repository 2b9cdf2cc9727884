// SPDX-License-Identifier: MIT
// SUM SUM_ROWS MEAN CUMSUM ARGMAX COUNT_EQUAL on the CPU.
#include "cpu_check.h"

// Sums are kept in double: right to the last bit of an f32 unless they cancel.
static const struct cpu_oracle close_to = { oracle_reduce, 0x1p-24, 1e-9 };

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 }, { 7, 5, 3, 2 }, { 1300, 3, 1, 2 }, { 3, 900, 1, 1 }, { 100000, 1, 1, 1 }, { 8, 4, 0, 1 },
};
static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };

static void sums(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * 3 * CPU_LAYOUTS; k += cpu_step(6 * 3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x =
            cpu_source(&t, types[k % 3], shapes[k / 3 % 6], (enum cpu_layout)(k / 18), -1.0f, 1.0f);
        struct ggml_tensor * y = ggml_sum(t.ctx, x);
        assert_int_equal(y->op, GGML_OP_SUM);
        cpu_check(&t, y, close_to);
        y = ggml_sum_rows(t.ctx, x);
        assert_int_equal(y->op, GGML_OP_SUM_ROWS);
        cpu_check(&t, y, close_to);
        y = ggml_mean(t.ctx, x);
        assert_int_equal(y->op, GGML_OP_MEAN);
        cpu_check(&t, y, close_to);
        cpu_test_free(&t);
    }
}

static void rows_of_a_million_keep_their_digits(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 1 << 20, 2, 1, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, 0.0f, 1.0f);
    cpu_check(&t, ggml_sum_rows(t.ctx, x), close_to);
    cpu_check(&t, ggml_mean(t.ctx, x), close_to);
    cpu_check(&t, ggml_sum(t.ctx, x), close_to);
    cpu_test_free(&t);
}

static void the_last_of_equal_maxima(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 3 * CPU_LAYOUTS; k += cpu_step(3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne[] = { k % 3 == 0 ? 1 : k % 3 == 1 ? 70 : 1300, 9, 1, 1 };
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, (enum cpu_layout)(k / 3), 0.0f, 6.0f);
        int64_t i[4] = { 0 };
        do // few different values: ties
            cpu_put(x, i, floor(cpu_get(x, i[0], i[1], i[2], i[3])));
        while (cpu_next(x, i));
        struct ggml_tensor * y = ggml_argmax(t.ctx, x);
        assert_int_equal(y->op, GGML_OP_ARGMAX);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_reduce, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void running_sums(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * CPU_LAYOUTS; k += cpu_step(6 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, shapes[k % 6], (enum cpu_layout)(k / 6), -1.0f, 1.0f);
        struct ggml_tensor * y = ggml_cumsum(t.ctx, x);
        assert_int_equal(y->op, GGML_OP_CUMSUM);
        cpu_check(&t, y, close_to);
        cpu_test_free(&t);
    }
}

static void equal_integers(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * CPU_LAYOUTS; k += cpu_step(6 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k % 6];
        struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_I32, ne, (enum cpu_layout)(k / 6), 0.0f, 3.0f);
        struct ggml_tensor * b =
            cpu_source(&t, GGML_TYPE_I32, ne, (enum cpu_layout)((k / 6 + k) % 4), 0.0f, 3.0f);
        struct ggml_tensor * y = ggml_count_equal(t.ctx, a, b);
        assert_int_equal(y->op, GGML_OP_COUNT_EQUAL);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_reduce, 0.0, 0.0 });
        cpu_check(&t, ggml_count_equal(t.ctx, a, a), (struct cpu_oracle){ oracle_reduce, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_I32, shapes[1], CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_sum(t.ctx, x), "i32");
    struct ggml_tensor * f = cpu_source(&t, GGML_TYPE_F32, shapes[1], CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_count_equal(t.ctx, x, f), "i32 and f32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(rows_of_a_million_keep_their_digits),
        cmocka_unit_test(the_last_of_equal_maxima),
        cmocka_unit_test(running_sums),
        cmocka_unit_test(equal_integers),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
