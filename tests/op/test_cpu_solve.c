// SPDX-License-Identifier: MIT
// SOLVE_TRI on the CPU.
#include "cpu_whole.h"

// Above the diagonal A holds what must not be looked at.
static struct ggml_tensor * triangle(struct cpu_test * t, const int64_t * ne) {
    struct ggml_tensor * a = cpu_source(t, GGML_TYPE_F32, ne, CPU_DENSE, -0.5f, 0.5f);
    for (int64_t k = 0, at[4] = { 0 }; k < ggml_nelements(a); k++, cpu_next(a, at)) {
        if (at[0] == at[1]) cpu_put(a, at, 1.0 + cpu_get(a, at[0], at[1], at[2], at[3]));
        if (at[0] > at[1]) cpu_put(a, at, NAN);
    }
    return a;
}

static void solves(void ** state) {
    (void) state;
    static const int64_t sizes[][4] = { // n, k, batches
                                        { 1, 1, 1, 1 },   { 5, 3, 2, 3 },    { 12, 64, 1, 2 },
                                        { 17, 65, 1, 1 }, { 30, 130, 2, 1 }, { 8, 1, 1, 1 }
    };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * s = sizes[k];
        const int64_t ne_a[] = { s[0], s[0], s[2], s[3] }, ne_b[] = { s[1], s[0], s[2], s[3] };
        struct ggml_tensor * y =
            ggml_solve_tri(t.ctx, triangle(&t, ne_a),
                           cpu_source(&t, GGML_TYPE_F32, ne_b, CPU_DENSE, -1.0f, 1.0f), true, true, false);
        assert_int_equal(y->op, GGML_OP_SOLVE_TRI);
        cpu_check_whole(&t, y, oracle_solve_tri, 5e-4, 1e-4); // errors of early rows grow in later ones
        cpu_test_free(&t);
    }
}

// Diagonal: the identity apart, nothing is rounded.
static void exact_where_it_can_be(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne_a[] = { 3, 3, 1, 1 }, ne_b[] = { 2, 3, 1, 1 };
    static const float a[] = { 2, 9, 9, 1, 4, 9, -3, 2, 0.5f }, b[] = { 2, 4, 5, -2, 0, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne_a, CPU_DENSE, 0.0f, 0.0f);
    struct ggml_tensor * y = cpu_source(&t, GGML_TYPE_F32, ne_b, CPU_DENSE, 0.0f, 0.0f);
    memcpy(x->data, a, sizeof(a));
    memcpy(y->data, b, sizeof(b));
    struct ggml_tensor * node = ggml_solve_tri(t.ctx, x, y, true, true, false);
    cpu_run(&t, node);
    static const float expected[] = { 1, 2, 1, -1, 2, 18 };
    for (int i = 0; i < 6; i++)
        assert_float_equal(((float *) node->data)[i], expected[i], 0.0f);
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves),
        cmocka_unit_test(exact_where_it_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
