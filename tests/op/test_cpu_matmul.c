// SPDX-License-Identifier: MIT
// MUL_MAT on the CPU: all weight types, broadcasts over matrices, layouts, one column and many, long and
// empty rows.
#include "cpu_check.h"

// Nothing is rounded below f32, but for what oracle_dot allows: with values up to 1 and k terms the error
// stays near sqrt(k) ulp of the largest sum.
static struct cpu_oracle close_to(int64_t k) {
    return (struct cpu_oracle){ oracle_mul_mat, 1e-6, 6e-7 * sqrt((double) k + 1.0) };
}

struct product {
    int64_t k, m, n;
    int64_t a2, a3, b2, b3;
};

static const struct product products[] = {
    { 1, 1, 1, 1, 1, 1, 1 },    { 64, 64, 64, 1, 1, 4, 1 }, { 37, 33, 9, 1, 1, 1, 1 },
    { 300, 5, 3, 2, 1, 4, 3 },  { 256, 70, 1, 1, 1, 1, 1 }, { 1000, 6, 17, 1, 1, 1, 1 },
    { 5, 100, 2, 3, 2, 3, 2 },  { 0, 4, 9, 1, 1, 2, 1 },    { 16, 0, 4, 1, 1, 1, 1 },
    { 513, 31, 4, 1, 1, 1, 1 }, { 8, 7, 25, 1, 2, 6, 4 },
};

static void check(struct cpu_test * t, const struct product * p, const enum ggml_type * types,
                  const enum cpu_layout * layouts) {
    const int64_t ne_a[] = { p->k, p->m, p->a2, p->a3 };
    const int64_t ne_b[] = { p->k, p->n, p->b2, p->b3 };
    // Contiguous rows of no elements all begin at the same place, which counts as transposed.
    const enum cpu_layout layout = p->k == 0 ? CPU_PADDED : layouts[0];
    struct ggml_tensor * a = cpu_source(t, types[0], ne_a, layout, -1.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(t, types[1], ne_b, layouts[1], -1.0f, 1.0f);
    struct ggml_tensor * y = ggml_mul_mat(t->ctx, a, b);
    assert_int_equal(y->op, GGML_OP_MUL_MAT);
    cpu_check(t, y, close_to(p->k));
}

static void shapes_types_and_layouts(void ** state) {
    (void) state;
    static const enum ggml_type types[][2] = {
        { GGML_TYPE_F32, GGML_TYPE_F32 },  { GGML_TYPE_F16, GGML_TYPE_F32 },
        { GGML_TYPE_F16, GGML_TYPE_F16 },  { GGML_TYPE_BF16, GGML_TYPE_F32 },
        { GGML_TYPE_F32, GGML_TYPE_BF16 }, { GGML_TYPE_BF16, GGML_TYPE_BF16 },
    };
    static const enum cpu_layout layouts[][2] = {
        { CPU_DENSE, CPU_DENSE },
        { CPU_PADDED, CPU_PERMUTED },
        { CPU_PERMUTED, CPU_TURNED },
        { CPU_DENSE, CPU_PADDED },
    };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 11 * 6 * 4; k += cpu_step(11 * 6 * 4)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        check(&t, &products[k % 11], types[k / 11 % 6], layouts[k / 66]);
        cpu_test_free(&t);
    }
}

static enum ggml_type dot_type(enum ggml_type type) {
    if (type == GGML_TYPE_Q4_1 || type == GGML_TYPE_Q5_1) return GGML_TYPE_Q8_1;
    return ggml_blck_size(type) == 256 ? GGML_TYPE_Q8_K : GGML_TYPE_Q8_0;
}

// Against f32, and against the type that the type's dot product takes.
static void every_quantised_type(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct ggml_type_traits * traits = ggml_get_type_traits((enum ggml_type) type);
        if (!traits->is_quantized || !traits->to_float) continue;
        for (int64_t n = 1; n <= 9; n += 8) {
            struct cpu_test t = cpu_test_new(seed + (uint64_t) (16 * type + n));
            const struct product p = { 512, 5, n, 1, 1, 1, 1 };
            check(&t, &p, (const enum ggml_type[]){ (enum ggml_type) type, GGML_TYPE_F32 },
                  (const enum cpu_layout[]){ CPU_DENSE, CPU_DENSE });
            check(&t, &p, (const enum ggml_type[]){ (enum ggml_type) type, dot_type((enum ggml_type) type) },
                  (const enum cpu_layout[]){ CPU_DENSE, CPU_DENSE });
            cpu_test_free(&t);
        }
    }
}

// More columns than are packed at once: several rounds, which meet in the middle of a matrix.
static void several_rounds(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const struct product p = { 40000, 3, 50, 1, 1, 2, 1 };
    check(&t, &p, (const enum ggml_type[]){ GGML_TYPE_F32, GGML_TYPE_F32 },
          (const enum cpu_layout[]){ CPU_DENSE, CPU_DENSE });
    cpu_test_free(&t);
}

// Precision settings are floors, and this is f32 throughout: no setting changes a bit. Values that no half
// float can hold come through, also against f16 weights.
static void precision(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 64, 8, 1, 1 };
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F16, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1e30f, 1e30f);
    struct ggml_tensor * y = ggml_mul_mat(t.ctx, a, b);
    cpu_check(&t, y, (struct cpu_oracle){ oracle_mul_mat, 1e-6, 1e24 });
    char first[64 * sizeof(float)];
    memcpy(first, y->data, sizeof(first));
    assert_true(ggml_prec_set_acc(y, GGML_PREC_F32));
    assert_true(ggml_prec_set_src(y, GGML_PREC_F32, 1));
    cpu_run(&t, y);
    assert_memory_equal(first, y->data, sizeof(first));
    cpu_test_free(&t);
}

// A quantised type with one column and with many, a node each; `ask` sets what the node asks for.
static void check_quantised(void (*ask)(struct ggml_tensor * y), float lo, float hi) {
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct ggml_type_traits * traits = ggml_get_type_traits((enum ggml_type) type);
        if (!traits->to_float) continue;
        for (int64_t n = 1; n <= 9; n += 8) {
            struct cpu_test t = cpu_test_new(seed + (uint64_t) (16 * type + n));
            const int64_t ne_a[] = { 512, 5, 1, 1 }, ne_b[] = { 512, n, 1, 1 };
            struct ggml_tensor * a = cpu_source(&t, (enum ggml_type) type, ne_a, CPU_DENSE, -1.0f, 1.0f);
            struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, ne_b, CPU_DENSE, lo, hi);
            struct ggml_tensor * y = ggml_mul_mat(t.ctx, a, b);
            if (ask) ask(y);
            cpu_check_with(&t, y, (struct cpu_oracle){ oracle_mul_mat, 1e-6, 0 }, true);
            cpu_test_free(&t);
        }
    }
}

static void ask_for_sums(struct ggml_tensor * y) {
    assert_true(ggml_prec_set_acc(y, GGML_PREC_F32));
}

static void ask_for_f32(struct ggml_tensor * y) {
    assert_true(ggml_prec_set_src(y, GGML_PREC_F32, 1));
}

static void ask_for_bf16(struct ggml_tensor * y) {
    assert_true(ggml_prec_set_src(y, GGML_PREC_BF16, 1));
}

static void ask_for_blocks(struct ggml_tensor * y) {
    assert_true(ggml_prec_set_src(y, GGML_PREC_Q8, 1));
}

// With f32 nothing is rounded to eight bits: the oracle allows it only where the node does.
static void floors_are_kept(void ** state) {
    (void) state;
    check_quantised(ask_for_sums, -1.0f, 1.0f);
    check_quantised(ask_for_f32, -1.0f, 1.0f);
    check_quantised(ask_for_bf16, -1.0f, 1.0f);
    check_quantised(ask_for_blocks, -1.0f, 1.0f);
}

// Numbers far outside the range of a half, on either side: no infinity, no NaN and no zero on the way.
static void large_and_small_activations(void ** state) {
    (void) state;
    check_quantised(NULL, -1e30f, 1e30f);
    check_quantised(NULL, 1e-30f, 2e-30f);
    check_quantised(NULL, 60000.0f, 70000.0f);
}

// One element of 1e30 among ones, and a column each with an infinity and a NaN beside one without.
static void extreme_elements(void ** state) {
    (void) state;
    static const float extremes[] = { 1e30f, INFINITY, NAN, -1e30f, -INFINITY };
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        if (!ggml_get_type_traits((enum ggml_type) type)->to_float) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) type);
        const int64_t ne_a[] = { 512, 5, 1, 1 }, ne_b[] = { 512, 3, 1, 2 };
        struct ggml_tensor * a = cpu_source(&t, (enum ggml_type) type, ne_a, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, ne_b, CPU_DENSE, -1.0f, 1.0f);
        for (int64_t k = 0; k < 5; k++)
            cpu_put(b, (const int64_t[]){ 100 * k, k % 3, 0, k / 3 }, (double) extremes[k]);
        cpu_check(&t, ggml_mul_mat(t.ctx, a, b), (struct cpu_oracle){ oracle_mul_mat, 1e-6, 6e-7 * 23 });
        cpu_test_free(&t);
    }
}

static void integers_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 4, 4, 1, 1 };
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_I32, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_mul_mat(t.ctx, a, b), "i32");
    cpu_refused(&t, ggml_mul_mat(t.ctx, b, a), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_types_and_layouts), cmocka_unit_test(every_quantised_type),
        cmocka_unit_test(several_rounds),           cmocka_unit_test(precision),
        cmocka_unit_test(floors_are_kept),          cmocka_unit_test(large_and_small_activations),
        cmocka_unit_test(extreme_elements),         cmocka_unit_test(integers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
