// SPDX-License-Identifier: MIT
// ARGSORT TOP_K on the CPU.
#include "cpu_check.h"

static void check(struct cpu_test * t, struct ggml_tensor * node) {
    cpu_run(t, node);
    if (!oracle_of(node->op)->accepts(node)) fail_msg("%s: wrong indices", ggml_op_desc(node));
}

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 },  { 7, 5, 3, 2 },   { 47, 2, 2, 1 },  { 48, 2, 2, 1 },
    { 49, 3, 1, 2 }, { 300, 3, 1, 1 }, { 700, 2, 1, 1 }, { 5, 0, 2, 1 },
};
static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
enum { SHAPES = 8, CASES = SHAPES * 3 * CPU_LAYOUTS };

// Values that meet often: small integers, both zeros, both infinities, NaN.
static void make_ties(struct cpu_test * t, struct ggml_tensor * x) {
    static const double special[] = { 0.0, -0.0, INFINITY, -INFINITY, NAN, -1.0, 1e-40, -1e-40 };
    int64_t i[4] = { 0 };
    if (ggml_nelements(x) == 0) return;
    do {
        if (test_rng_below(&t->rng, 3) == 0) cpu_put(x, i, special[test_rng_below(&t->rng, 8)]);
    } while (cpu_next(x, i));
}

static struct ggml_tensor * source(struct cpu_test * t, int k) {
    struct ggml_tensor * x = cpu_source(t, types[k / SHAPES % 3], shapes[k % SHAPES],
                                        (enum cpu_layout)(k / SHAPES / 3), -1.0f, 1.0f);
    if (test_rng_below(&t->rng, 2)) make_ties(t, x);
    return x;
}

static void sorted(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x = source(&t, k);
        struct ggml_tensor * y = ggml_argsort(t.ctx, x, GGML_SORT_ORDER_ASC);
        assert_int_equal(y->op, GGML_OP_ARGSORT);
        check(&t, y);
        check(&t, ggml_argsort(t.ctx, x, GGML_SORT_ORDER_DESC));
        cpu_test_free(&t);
    }
}

static void the_largest(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < CASES; k += cpu_step(CASES)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x = source(&t, k);
        struct ggml_tensor * y = ggml_top_k(t.ctx, x, 1 + (int) test_rng_below(&t.rng, x->ne[0]));
        assert_int_equal(y->op, GGML_OP_TOP_K);
        check(&t, y);
        check(&t, ggml_top_k(t.ctx, x, (int) x->ne[0]));
        cpu_test_free(&t);
    }
}

// Rows on which careless sorting takes quadratic time, long enough to notice; checked by neighbours.
static void long_rows(void ** state) {
    (void) state;
    for (int kind = 0; kind < 4; kind++) {
        struct cpu_test t = cpu_test_new(test_seed());
        const int64_t n = 1 << 20;
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ n, 1, 1, 1 }, CPU_DENSE, -1.0f, 1.0f);
        float * v = x->data;
        for (int64_t i = 0; i < n && kind > 0; i++)
            v[i] = kind == 1 ? 1.0f : kind == 2 ? (float) i : (float) (i < n / 2 ? i : n - i);
        struct ggml_tensor * y = ggml_argsort(t.ctx, x, GGML_SORT_ORDER_DESC);
        cpu_run(&t, y);
        const int32_t * index = y->data;
        for (int64_t i = 1; i < n; i++) {
            const float a = v[index[i - 1]], b = v[index[i]];
            assert_true(a > b || (a == b && index[i - 1] < index[i]));
        }
        struct ggml_tensor * top = ggml_top_k(t.ctx, x, 1000);
        cpu_run(&t, top);
        for (int i = 0; i < 1000; i++) {
            assert_true(v[((const int32_t *) top->data)[i]] >= v[index[999]]);
            assert_true(i == 0 || ((const int32_t *) top->data)[i - 1] < ((const int32_t *) top->data)[i]);
        }
        cpu_test_free(&t);
    }
}

static void the_first_columns_of_a_sorted_row(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    struct ggml_tensor * x =
        cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ 70, 3, 2, 1 }, CPU_TURNED, -1.0f, 1.0f);
    struct ggml_tensor * y = ggml_argsort_top_k(t.ctx, x, 5);
    check(&t, y->view_src);
    assert_int_equal(y->ne[0], 5);
    cpu_test_free(&t);
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_I32, shapes[1], CPU_DENSE, -9.0f, 9.0f);
    cpu_refused(&t, ggml_argsort(t.ctx, x, GGML_SORT_ORDER_ASC), "i32");
    cpu_refused(&t, ggml_top_k(t.ctx, x, 3), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted),
        cmocka_unit_test(the_largest),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(the_first_columns_of_a_sorted_row),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
