// SPDX-License-Identifier: MIT
// CPY, ADD, ADD1 and SET_ROWS into every type that has an encoder: what comes out is what the reference
// encoder makes of the same f32 values, byte for byte, whatever the layout of the source.
#include "cpu_check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // add1 must go on working

static bool has_encoder(enum ggml_type type) {
    const struct tn_type * t = tn_type_get(type);
    return t && t->encode_ref;
}

static int64_t row_length(enum ggml_type type) {
    return ggml_blck_size(type) > 1 ? 768 : 70;
}

// The row-major values of a tensor, converted by the reference encoder.
static char * encoded(enum ggml_type type, const float * values, int64_t n) {
    char * bytes = malloc(ggml_row_size(type, n) + 1);
    tn_type_get(type)->encode_ref(values, bytes, n);
    return bytes;
}

static float * values_of(const struct ggml_tensor * x) {
    float * v = malloc((size_t) ggml_nelements(x) * sizeof(float) + 1);
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(x); k++, cpu_next(x, i))
        v[k] = (float) cpu_get(x, i[0], i[1], i[2], i[3]);
    return v;
}

// Takes values. y: contiguous.
static void check(struct cpu_test * t, struct ggml_tensor * y, float * values) {
    char * expected = encoded(y->type, values, ggml_nelements(y));
    cpu_run(t, y);
    if (memcmp(expected, y->data, ggml_nbytes(y)) != 0)
        fail_msg("%s into %s: other bytes than the encoder's", ggml_op_desc(y), ggml_type_name(y->type));
    free(expected);
    free(values);
}

static const enum ggml_type floats[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };

static void copies(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < GGML_TYPE_COUNT * 3; k++) {
        const enum ggml_type type = (enum ggml_type)(k / 3);
        if (!has_encoder(type)) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne[] = { row_length(type), 3, 2, 1 };
        struct ggml_tensor * x =
            cpu_source(&t, floats[k % 3], ne, (enum cpu_layout)((k + k / 3) % 4), -2.0f, 2.0f);
        struct ggml_tensor * y = ggml_cast(t.ctx, x, type);
        assert_int_equal(y->op, GGML_OP_CPY);
        check(&t, y, values_of(x));
        struct ggml_tensor * into = ggml_new_tensor_1d(t.ctx, type, ggml_nelements(x));
        check(&t, ggml_cpy(t.ctx, x, into), values_of(x));
        cpu_test_free(&t);
    }
}

static void rows(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < GGML_TYPE_COUNT * 2; k++) {
        const enum ggml_type type = (enum ggml_type)(k / 2);
        if (!has_encoder(type)) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne[] = { row_length(type), 4, 1, 1 };
        struct ggml_tensor * x = cpu_source(&t, floats[k % 2], ne, (enum cpu_layout)(k / 2 % 3), -2.0f, 2.0f);
        struct ggml_tensor * index = ggml_new_tensor_1d(t.ctx, k % 3 ? GGML_TYPE_I32 : GGML_TYPE_I64, 4);
        cpu_allocate(&t);
        for (int64_t i = 0; i < 4; i++)
            cpu_put(index, (const int64_t[]){ i, 0, 0, 0 }, (double) i);
        struct ggml_tensor * into = ggml_new_tensor_2d(t.ctx, type, ne[0], 4);
        struct ggml_tensor * y = ggml_set_rows(t.ctx, into, x, index);
        assert_int_equal(y->op, GGML_OP_SET_ROWS);
        check(&t, y, values_of(x));
        cpu_test_free(&t);
    }
}

// Values of a + values of b in f32. Frees b.
static float * sum_of(float * a, float * b, int64_t n, int64_t n_b) {
    for (int64_t i = 0; i < n; i++)
        a[i] += b[i % n_b];
    free(b);
    return a;
}

static void sums_of_quantised_rows(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < GGML_TYPE_COUNT; k++) {
        const enum ggml_type type = (enum ggml_type) k;
        if (!has_encoder(type) || !ggml_is_quantized(type)) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne[] = { 768, 3, 2, 1 };
        struct ggml_tensor * a = cpu_source(&t, type, ne, (enum cpu_layout)(k % 3), -2.0f, 2.0f);
        struct ggml_tensor * b =
            cpu_source(&t, GGML_TYPE_F32, ne, (enum cpu_layout)((k + 1) % 4), -2.0f, 2.0f);
        struct ggml_tensor * one = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 1);
        cpu_allocate(&t);
        *(float *) one->data = 0.75f;
        const int64_t n = ggml_nelements(a);
        check(&t, ggml_add(t.ctx, a, b), sum_of(values_of(a), values_of(b), n, n));
        const enum ggml_type other = k % 2 ? GGML_TYPE_Q5_0 : GGML_TYPE_F16;
        check(&t, ggml_add_cast(t.ctx, a, b, other), sum_of(values_of(a), values_of(b), n, n));
        if (ggml_is_contiguous(a))
            check(&t, ggml_add1(t.ctx, a, one), sum_of(values_of(a), values_of(one), n, 1));
        cpu_test_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies),
        cmocka_unit_test(rows),
        cmocka_unit_test(sums_of_quantised_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
