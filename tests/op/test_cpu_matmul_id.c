// SPDX-License-Identifier: MIT
// MUL_MAT_ID on the CPU: every type, layouts, matrices that nobody chooses, bad indices.
#include "cpu_check.h"

// Nothing is rounded below f32, but for what oracle_dot allows.
static struct cpu_oracle close_to(int64_t k) {
    return (struct cpu_oracle){ oracle_mul_mat_id, 1e-6, 6e-7 * sqrt((double) k + 1.0) };
}

struct product {
    int64_t k, m, n_matrices;
    int64_t b1; // columns of a token
    int64_t used, tokens;
};

static const struct product products[] = {
    { 1, 1, 1, 1, 1, 1 },     { 64, 40, 4, 1, 2, 5 }, { 300, 33, 3, 2, 2, 1 },  { 257, 5, 8, 3, 6, 9 },
    { 64, 31, 128, 1, 4, 2 }, { 0, 7, 2, 1, 2, 3 },   { 520, 70, 2, 1, 1, 17 }, { 8, 3, 5, 1, 2, 0 },
};

static struct ggml_tensor * choose(struct cpu_test * t, const struct product * p, enum cpu_layout layout) {
    const int64_t ne[] = { p->used, p->tokens, 1, 1 };
    struct ggml_tensor * ids = cpu_source(t, GGML_TYPE_I32, ne, layout, 0.0f, 1.0f);
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(ids); k++, cpu_next(ids, i))
        cpu_put(ids, i, (double) test_rng_below(&t->rng, p->n_matrices));
    return ids;
}

static void check(struct cpu_test * t, const struct product * p, const enum ggml_type * types,
                  const enum cpu_layout * layouts) {
    const int64_t ne_a[] = { p->k, p->m, p->n_matrices, 1 }, ne_b[] = { p->k, p->b1, p->tokens, 1 };
    // Contiguous rows of no elements all begin at the same place, which counts as transposed.
    const enum cpu_layout layout = p->k == 0 ? CPU_PADDED : layouts[0];
    struct ggml_tensor * a = cpu_source(t, types[0], ne_a, layout, -1.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(t, types[1], ne_b, layouts[1], -1.0f, 1.0f);
    struct ggml_tensor * y = ggml_mul_mat_id(t->ctx, a, b, choose(t, p, layouts[2]));
    assert_int_equal(y->op, GGML_OP_MUL_MAT_ID);
    cpu_check(t, y, close_to(p->k));
}

static void shapes_types_and_layouts(void ** state) {
    (void) state;
    static const enum ggml_type types[][2] = {
        { GGML_TYPE_F32, GGML_TYPE_F32 },  { GGML_TYPE_F16, GGML_TYPE_F32 },
        { GGML_TYPE_F16, GGML_TYPE_F16 },  { GGML_TYPE_BF16, GGML_TYPE_BF16 },
        { GGML_TYPE_BF16, GGML_TYPE_F32 },
    };
    static const enum cpu_layout layouts[][3] = {
        { CPU_DENSE, CPU_DENSE, CPU_DENSE },
        { CPU_PADDED, CPU_PERMUTED, CPU_PADDED },
        { CPU_PERMUTED, CPU_TURNED, CPU_TURNED },
    };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 8 * 5 * 3; k += cpu_step(8 * 5 * 3)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        check(&t, &products[k % 8], types[k / 8 % 5], layouts[k / 40]);
        cpu_test_free(&t);
    }
}

static enum ggml_type dot_type(enum ggml_type type) {
    if (type == GGML_TYPE_Q4_1 || type == GGML_TYPE_Q5_1) return GGML_TYPE_Q8_1;
    return ggml_blck_size(type) == 256 ? GGML_TYPE_Q8_K : GGML_TYPE_Q8_0;
}

// With f32 columns, and with columns in the type that the type's dot product takes.
static void every_quantised_type(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct ggml_type_traits * traits = ggml_get_type_traits((enum ggml_type) type);
        if (!traits->is_quantized || !traits->to_float) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) type);
        const struct product p = { 512, 5, 3, 2, 4, 3 };
        static const enum cpu_layout dense[3] = { CPU_DENSE, CPU_DENSE, CPU_DENSE };
        check(&t, &p, (const enum ggml_type[]){ (enum ggml_type) type, GGML_TYPE_F32 }, dense);
        check(&t, &p, (const enum ggml_type[]){ (enum ggml_type) type, dot_type((enum ggml_type) type) },
              dense);
        cpu_test_free(&t);
    }
}

// Few tokens and many; columns from 1e-30 to 1e30, one with an infinity and one with a NaN, with a floor or
// without.
static void extreme_columns_and_floors(void ** state) {
    (void) state;
    static const float extremes[] = { 1e30f, INFINITY, NAN, 1e-30f };
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        if (!ggml_get_type_traits((enum ggml_type) type)->to_float) continue;
        for (int64_t tokens = 2; tokens <= 10; tokens += 8) {
            struct cpu_test t = cpu_test_new(seed + (uint64_t) (16 * type + tokens));
            const struct product p = { 512, 5, 3, 2, 4, tokens };
            const int64_t ne_a[] = { 512, 5, 3, 1 }, ne_b[] = { 512, 2, tokens, 1 };
            struct ggml_tensor * a = cpu_source(&t, (enum ggml_type) type, ne_a, CPU_DENSE, -1.0f, 1.0f);
            struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, ne_b, CPU_DENSE, -1.0f, 1.0f);
            for (int64_t k = 0; k < 4; k++)
                cpu_put(b, (const int64_t[]){ 100 * k, k % 2, k / 2, 0 }, (double) extremes[k]);
            struct ggml_tensor * y = ggml_mul_mat_id(t.ctx, a, b, choose(&t, &p, CPU_DENSE));
            cpu_check(&t, y, (struct cpu_oracle){ oracle_mul_mat_id, 1e-6, 6e-7 * 23 });
            y = ggml_mul_mat_id(t.ctx, a, b, y->src[2]);
            assert_true(ggml_prec_set_src(y, GGML_PREC_F32, 1));
            cpu_check(&t, y, (struct cpu_oracle){ oracle_mul_mat_id, 1e-6, 6e-7 * 23 });
            cpu_test_free(&t);
        }
    }
}

static void a_bad_index_is_a_status_and_nothing_is_written(void ** state) {
    (void) state;
    static const int32_t bad[] = { 3, -1, INT32_MAX, INT32_MIN };
    for (int k = 0; k < 4; k++) {
        struct cpu_test t = cpu_test_new(1);
        const struct product p = { 4, 6, 3, 1, 2, 4 };
        const int64_t ne_a[] = { 4, 6, 3, 1 }, ne_b[] = { 4, 1, 4, 1 };
        struct ggml_tensor * ids = choose(&t, &p, CPU_DENSE);
        ((int32_t *) ids->data)[5] = bad[k];
        struct ggml_tensor * y =
            ggml_mul_mat_id(t.ctx, cpu_source(&t, GGML_TYPE_F32, ne_a, CPU_DENSE, -1.0f, 1.0f),
                            cpu_source(&t, GGML_TYPE_F32, ne_b, CPU_DENSE, -1.0f, 1.0f), ids);
        ggml_set_name(y, "experts");
        cpu_allocate(&t);
        char before[6 * 2 * 4 * 4], text[64];
        memcpy(before, y->data, sizeof(before));
        snprintf(text, sizeof(text), "index %d at position [1, 2, 0], but src0 has 3 matrices", bad[k]);
        assert_int_equal(cpu_compute(y, 2), GGML_STATUS_FAILED);
        assert_contains(ggml_ext_last_error(), text);
        assert_contains(ggml_ext_last_error(), "experts");
        assert_memory_equal(before, y->data, sizeof(before));
        cpu_test_free(&t);
    }
}

static void integers_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const struct product p = { 4, 4, 2, 1, 1, 2 };
    const int64_t ne[] = { 4, 4, 2, 1 }, columns[] = { 4, 1, 2, 1 };
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_I32, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, columns, CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_mul_mat_id(t.ctx, a, b, choose(&t, &p, CPU_DENSE)), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_types_and_layouts),
        cmocka_unit_test(every_quantised_type),
        cmocka_unit_test(extreme_columns_and_floors),
        cmocka_unit_test(a_bad_index_is_a_status_and_nothing_is_written),
        cmocka_unit_test(integers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
