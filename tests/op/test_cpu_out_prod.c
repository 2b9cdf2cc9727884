// SPDX-License-Identifier: MIT
// OUT_PROD on the CPU: every type, layouts, repeated matrices.
#include "cpu_check.h"

// Rounding of k additions in a row: partial sums grow like sqrt(k), their errors add up like a random walk.
static struct cpu_oracle close_to(int64_t k) {
    return (struct cpu_oracle){ oracle_out_prod, 1e-6, 6e-7 * sqrt((double) k + 1.0) + 7e-8 * (double) k };
}

struct product {
    int64_t m, n, k;
    int64_t a2, a3, b2, b3;
};

static const struct product products[] = {
    { 1, 1, 1, 1, 1, 1, 1 },    { 64, 40, 9, 1, 1, 1, 1 },  { 7, 5, 33, 2, 1, 4, 3 },
    { 1100, 3, 6, 1, 1, 1, 1 }, { 5, 17, 0, 1, 1, 2, 1 },   { 513, 35, 4, 1, 2, 3, 2 },
    { 0, 4, 3, 1, 1, 1, 1 },    { 3, 2, 2000, 1, 1, 1, 1 },
};

static void check(struct cpu_test * t, const struct product * p, const enum ggml_type * types,
                  const enum cpu_layout * layouts) {
    const int64_t ne_a[] = { p->m, p->k, p->a2, p->a3 }, ne_b[] = { p->n, p->k, p->b2, p->b3 };
    const enum cpu_layout layout = p->m == 0 ? CPU_PADDED : layouts[0];
    struct ggml_tensor * a = cpu_source(t, types[0], ne_a, layout, -1.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(t, types[1], ne_b, layouts[1], -1.0f, 1.0f);
    struct ggml_tensor * y = ggml_out_prod(t->ctx, a, b);
    assert_int_equal(y->op, GGML_OP_OUT_PROD);
    cpu_check(t, y, close_to(p->k));
}

static void shapes_types_and_layouts(void ** state) {
    (void) state;
    static const enum ggml_type types[][2] = {
        { GGML_TYPE_F32, GGML_TYPE_F32 },
        { GGML_TYPE_F16, GGML_TYPE_F32 },
        { GGML_TYPE_BF16, GGML_TYPE_F32 },
        { GGML_TYPE_F32, GGML_TYPE_F16 },
    };
    static const enum cpu_layout layouts[][2] = {
        { CPU_DENSE, CPU_DENSE },
        { CPU_PADDED, CPU_PERMUTED },
        { CPU_PERMUTED, CPU_TURNED },
    };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 8 * 4 * 3; k += cpu_step(8 * 4 * 3)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        check(&t, &products[k % 8], types[k / 8 % 4], layouts[k / 32]);
        cpu_test_free(&t);
    }
}

static void every_quantised_type(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct ggml_type_traits * traits = ggml_get_type_traits((enum ggml_type) type);
        if (!traits->is_quantized || !traits->to_float) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) type);
        const struct product p = { 768, 18, 3, 1, 1, 2, 1 };
        check(&t, &p, (const enum ggml_type[]){ (enum ggml_type) type, GGML_TYPE_F32 },
              (const enum cpu_layout[]){ (enum cpu_layout)(type % 3), CPU_TURNED });
        cpu_test_free(&t);
    }
}

static void integers_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 4, 4, 1, 1 };
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_I32, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_out_prod(t.ctx, a, b), "i32");
    cpu_refused(&t, ggml_out_prod(t.ctx, b, a), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_types_and_layouts),
        cmocka_unit_test(every_quantised_type),
        cmocka_unit_test(integers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
