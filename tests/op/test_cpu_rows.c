// SPDX-License-Identifier: MIT
// GET_ROWS, SET_ROWS, GET_ROWS_BACK and ADD_ID on the CPU: every type, bad indices, equal indices.
#include "cpu_check.h"

static struct ggml_tensor * indices(struct cpu_test * t, enum ggml_type type, const int64_t * ne,
                                    int64_t below) {
    struct ggml_tensor * x = cpu_source(t, type, ne, CPU_DENSE, 0.0f, 1.0f);
    int64_t i[4] = { 0 };
    if (ggml_nelements(x) == 0) return x;
    do
        cpu_put(x, i, (double) test_rng_below(&t->rng, below));
    while (cpu_next(x, i));
    return x;
}

static void rows_of_every_type(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < GGML_TYPE_COUNT * 3; k += cpu_step(GGML_TYPE_COUNT * 3)) {
        const enum ggml_type type = (enum ggml_type)(k / 3);
        const struct ggml_type_traits * traits = ggml_get_type_traits(type);
        if (!traits->to_float && type != GGML_TYPE_F32 && type != GGML_TYPE_I32) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne[] = { traits->is_quantized ? 768 : 70, 6, 2, 3 };
        const int64_t chosen[] = { 9, 2, 3, 1 };
        struct ggml_tensor * x = cpu_source(&t, type, ne, (enum cpu_layout)(k % 3), -2.0f, 2.0f);
        struct ggml_tensor * y = ggml_get_rows(t.ctx, x, indices(&t, GGML_TYPE_I32, chosen, 6));
        assert_int_equal(y->op, GGML_OP_GET_ROWS);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_get_rows, 0.0, 0.0 });
        cpu_test_free(&t);
    }
}

static void elements_far_apart(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 700, 6, 1, 1 }, chosen[] = { 5, 1, 1, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F16, ne, CPU_TURNED, -2.0f, 2.0f);
    cpu_check(&t, ggml_get_rows(t.ctx, x, indices(&t, GGML_TYPE_I32, chosen, 6)),
              (struct cpu_oracle){ oracle_get_rows, 0.0, 0.0 });
    cpu_test_free(&t);
}

static void a_bad_index_is_a_status_and_nothing_is_written(void ** state) {
    (void) state;
    static const int32_t bad[] = { 6, -1, INT32_MAX, INT32_MIN };
    for (int k = 0; k < 4; k++) {
        struct cpu_test t = cpu_test_new(1);
        const int64_t ne[] = { 4, 6, 1, 1 }, chosen[] = { 5, 1, 1, 1 };
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -2.0f, 2.0f);
        struct ggml_tensor * index = indices(&t, GGML_TYPE_I32, chosen, 6);
        ((int32_t *) index->data)[3] = bad[k];
        struct ggml_tensor * y = ggml_set_name(ggml_get_rows(t.ctx, x, index), "chosen");
        struct ggml_tensor * z = ggml_set_rows(
            t.ctx, x, cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ 4, 5, 1, 1 }, CPU_DENSE, 5.0f, 6.0f),
            index);
        cpu_allocate(&t);
        char before[5 * 4 * 4], rows[6 * 4 * 4], text[32];
        memcpy(before, y->data, sizeof(before));
        memcpy(rows, x->data, sizeof(rows));
        snprintf(text, sizeof(text), "index %d at position [3", bad[k]);
        assert_int_equal(cpu_compute(y, 2), GGML_STATUS_FAILED);
        assert_contains(ggml_ext_last_error(), text);
        assert_contains(ggml_ext_last_error(), "chosen");
        assert_memory_equal(before, y->data, sizeof(before));
        assert_int_equal(cpu_compute(z, 2), GGML_STATUS_FAILED);
        assert_contains(ggml_ext_last_error(), text);
        assert_memory_equal(rows, x->data, sizeof(rows));
        cpu_test_free(&t);
    }
}

static void rows_are_replaced(void ** state) {
    (void) state;
    static const struct {
        enum ggml_type type;
        double tolerance;
    } kinds[] = { { GGML_TYPE_F32, 0.0 },
                  { GGML_TYPE_F16, 1.01 * 0x1p-11 },
                  { GGML_TYPE_BF16, 1.01 * 0x1p-8 },
                  { GGML_TYPE_Q8_0, 0.0050 },
                  { GGML_TYPE_Q4_0, 0.14 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * 2 * 3; k += cpu_step(5 * 2 * 3)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne[] = { 544, 7, 2, 2 }, from[] = { 544, 5, 2, 2 },
                      chosen[] = { 5, 2, 1 + k / 2 % 2, 1 };
        const enum cpu_layout layout = (enum cpu_layout)(k / 10);
        struct ggml_tensor * a = cpu_source(&t, kinds[k % 5].type, ne, layout, -1.0f, 1.0f);
        struct ggml_tensor * b =
            cpu_source(&t, k / 5 % 2 ? GGML_TYPE_F16 : GGML_TYPE_F32, from, layout, -1.0f, 1.0f);
        struct ggml_tensor * c = indices(&t, k % 2 ? GGML_TYPE_I32 : GGML_TYPE_I64, chosen, 7);
        struct ggml_tensor * y = ggml_set_rows(t.ctx, a, b, c);
        assert_int_equal(y->op, GGML_OP_SET_ROWS);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_set_rows, 0.0, kinds[k % 5].tolerance });
        cpu_test_free(&t);
    }
}

static void gradients_of_rows(void ** state) {
    (void) state;
    static const int64_t shapes[][2] = { { 1, 1 }, { 70, 30 }, { 1300, 5 }, { 3, 0 } };
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * 3 * CPU_LAYOUTS; k += cpu_step(4 * 3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * shape = shapes[k % 4];
        const int64_t ne[] = { shape[0], shape[1], 1, 1 }, chosen[] = { shape[1], 1, 1, 1 };
        struct ggml_tensor * g = cpu_source(&t, types[k / 4 % 3], ne, (enum cpu_layout)(k / 12), -1.0f, 1.0f);
        struct ggml_tensor * like = ggml_new_tensor_2d(t.ctx, GGML_TYPE_F32, shape[0], 9);
        struct ggml_tensor * y = ggml_get_rows_back(t.ctx, g, indices(&t, GGML_TYPE_I32, chosen, 9), like);
        assert_int_equal(y->op, GGML_OP_GET_ROWS_BACK);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_get_rows_back, 1e-6, 2e-6 });
        cpu_test_free(&t);
    }
}

static void rows_are_added_by_index(void ** state) {
    (void) state;
    static const int64_t shapes[][4] = { { 1, 1, 1, 1 }, { 70, 4, 5, 1 }, { 1300, 2, 3, 1 }, { 3, 0, 2, 1 } };
    static const enum ggml_type types[][2] = { { GGML_TYPE_F32, GGML_TYPE_F32 },
                                               { GGML_TYPE_F16, GGML_TYPE_F32 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * 2 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k % 4];
        const int64_t rows[] = { ne[0], 9, 1, 1 }, chosen[] = { ne[1], ne[2], 1, 1 };
        const enum cpu_layout layout = (enum cpu_layout)(k / 8);
        struct ggml_tensor * a = cpu_source(&t, types[k / 4 % 2][0], ne, layout, -1.0f, 1.0f);
        struct ggml_tensor * b =
            cpu_source(&t, types[k / 4 % 2][1], rows, (enum cpu_layout)((k + 1) % 4), -1.0f, 1.0f);
        struct ggml_tensor * y = ggml_add_id(t.ctx, a, b, indices(&t, GGML_TYPE_I32, chosen, 9));
        assert_int_equal(y->op, GGML_OP_ADD_ID);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_add_id, 0x1p-24, 0.0 });
        cpu_test_free(&t);
    }
}

static void bad_indices_of_gradients_and_sums(void ** state) {
    (void) state;
    static const int32_t bad[] = { 9, -1, INT32_MAX, INT32_MIN };
    for (int k = 0; k < 4; k++) {
        struct cpu_test t = cpu_test_new(1);
        const int64_t ne[] = { 4, 5, 1, 1 }, rows[] = { 4, 9, 1, 1 }, chosen[] = { 5, 1, 1, 1 };
        struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, rows, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * index = indices(&t, GGML_TYPE_I32, chosen, 9);
        ((int32_t *) index->data)[2] = bad[k];
        struct ggml_tensor * y[] = { ggml_get_rows_back(t.ctx, a, index, b),
                                     ggml_add_id(t.ctx, a, b, index) };
        cpu_allocate(&t);
        char text[64];
        snprintf(text, sizeof(text), "index %d at position [2, 0, 0]", bad[k]);
        for (int i = 0; i < 2; i++) {
            char before[9 * 4 * 4];
            memcpy(before, y[i]->data, ggml_nbytes(y[i]));
            assert_int_equal(cpu_compute(y[i], 2), GGML_STATUS_FAILED);
            assert_contains(ggml_ext_last_error(), text);
            assert_memory_equal(before, y[i]->data, ggml_nbytes(y[i]));
        }
        cpu_test_free(&t);
    }
}

static void types_that_cannot_be_added_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 4, 5, 1, 1 }, chosen[] = { 5, 1, 1, 1 };
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * index = indices(&t, GGML_TYPE_I32, chosen, 5);
    cpu_refused(&t, ggml_get_rows_back(t.ctx, i, index, i), "rows of type i32");
    cpu_refused(&t, ggml_add_id(t.ctx, i, i, index), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_type),
        cmocka_unit_test(elements_far_apart),
        cmocka_unit_test(a_bad_index_is_a_status_and_nothing_is_written),
        cmocka_unit_test(rows_are_replaced),
        cmocka_unit_test(gradients_of_rows),
        cmocka_unit_test(rows_are_added_by_index),
        cmocka_unit_test(bad_indices_of_gradients_and_sums),
        cmocka_unit_test(types_that_cannot_be_added_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
