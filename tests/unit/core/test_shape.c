// SPDX-License-Identifier: MIT
// core/shape.c: counts, extents and predicates, against element offsets counted out one by one; overflow.
#include "harness.h"

#include "base/error.h"
#include "core/shape.h"

static struct ggml_tensor tensor(enum ggml_type type, const int64_t ne[4], const size_t nb[4]) {
    struct ggml_tensor t = { .type = type };
    memcpy(t.ne, ne, sizeof(t.ne));
    memcpy(t.nb, nb, sizeof(t.nb));
    return t;
}

static struct ggml_tensor dense(enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    struct ggml_tensor t = { .type = type, .ne = { ne0, ne1, ne2, ne3 } };
    size_t bytes;
    assert_true(tn_shape_strides(type, t.ne, t.nb, &bytes));
    assert_int_equal(bytes, ggml_nbytes(&t));
    return t;
}

static void counts_and_strides(void ** state) {
    (void) state;
    struct ggml_tensor t = dense(GGML_TYPE_F16, 3, 4, 5, 6);
    assert_int_equal(ggml_nelements(&t), 360);
    assert_int_equal(ggml_nrows(&t), 120);
    assert_int_equal(ggml_nbytes(&t), 720);
    assert_int_equal(t.nb[0], 2);
    assert_int_equal(t.nb[1], 6);
    assert_int_equal(t.nb[2], 24);
    assert_int_equal(t.nb[3], 120);
    t = dense(GGML_TYPE_Q4_0, 64, 3, 1, 1);
    assert_int_equal(ggml_element_size(&t), 18);
    assert_int_equal(t.nb[1], 36);
    assert_int_equal(ggml_nbytes(&t), 108);
    t = dense(GGML_TYPE_I8, 17, 1, 1, 1);
    assert_int_equal(ggml_nbytes_pad(&t), 32);
    t = dense(GGML_TYPE_F32, 3, 0, 5, 1);
    assert_int_equal(ggml_nelements(&t), 0);
    assert_int_equal(ggml_nbytes(&t), 0);
    assert_true(ggml_is_empty(&t));
    assert_int_equal(ggml_nrows(&t), 0);
}

static void dimensions(void ** state) {
    (void) state;
    static const struct {
        int64_t ne[4];
        int n_dims;
        bool scalar, vector, matrix, three;
    } cases[] = {
        { { 1, 1, 1, 1 }, 1, true, true, true, true },     { { 5, 1, 1, 1 }, 1, false, true, true, true },
        { { 1, 5, 1, 1 }, 2, false, false, true, true },   { { 5, 5, 2, 1 }, 3, false, false, false, true },
        { { 1, 1, 1, 2 }, 4, false, false, false, false }, { { 5, 0, 1, 1 }, 1, false, false, true, true },
    };
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        const struct ggml_tensor t =
            dense(GGML_TYPE_F32, cases[i].ne[0], cases[i].ne[1], cases[i].ne[2], cases[i].ne[3]);
        assert_int_equal(ggml_n_dims(&t), cases[i].n_dims);
        assert_int_equal(ggml_is_scalar(&t), cases[i].scalar);
        assert_int_equal(ggml_is_vector(&t), cases[i].vector);
        assert_int_equal(ggml_is_matrix(&t), cases[i].matrix);
        assert_int_equal(ggml_is_3d(&t), cases[i].three);
    }
}

// All element offsets in order of the indices; returns how many.
static int offsets(const struct ggml_tensor * t, size_t * out) {
    int n = 0;
    for (int64_t i = 0; i < t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]; i++) {
        int64_t i0, i1, i2, i3;
        ggml_unravel_index(t, i, &i0, &i1, &i2, &i3);
        out[n++] =
            (size_t) i0 * t->nb[0] + (size_t) i1 * t->nb[1] + (size_t) i2 * t->nb[2] + (size_t) i3 * t->nb[3];
    }
    return n;
}

static void predicates_agree_with_counted_offsets(void ** state) {
    (void) state;
    struct test_rng rng = { test_seed() };
    int contiguous = 0;
    for (int64_t round = 0; round < test_rounds(200000); round++) {
        const struct ggml_tensor d =
            dense(GGML_TYPE_F32, 1 + test_rng_below(&rng, 3), 1 + test_rng_below(&rng, 3),
                  1 + test_rng_below(&rng, 3), 1 + test_rng_below(&rng, 3));
        struct ggml_tensor t = d;
        // Two random transpositions and sometimes a gap or the stride of a dimension of size 1.
        for (int k = 0; k < 2; k++) {
            const int64_t a = test_rng_below(&rng, 4), b = test_rng_below(&rng, 4);
            const int64_t ne = t.ne[a];
            const size_t nb = t.nb[a];
            t.ne[a] = t.ne[b], t.nb[a] = t.nb[b];
            t.ne[b] = ne, t.nb[b] = nb;
        }
        if (test_rng_below(&rng, 3) == 0) t.nb[test_rng_below(&rng, 4)] += 4;
        size_t at[81], end = 0;
        const int n = offsets(&t, at);
        bool in_order = true;
        for (int i = 0; i < n; i++) {
            in_order = in_order && at[i] == 4u * (size_t) i;
            if (at[i] + 4 > end) end = at[i] + 4;
        }
        assert_int_equal(ggml_nbytes(&t), end);
        assert_int_equal(ggml_is_contiguous(&t), in_order);
        assert_int_equal(ggml_is_contiguous_0(&t), in_order);
        assert_int_equal(ggml_is_contiguously_allocated(&t), end == 4u * (size_t) n);
        contiguous += in_order;
    }
    assert_true(contiguous > 0);
}

static void contiguous_with_free_strides(void ** state) {
    (void) state;
    static const struct {
        int64_t ne[4];
        size_t nb[4];
        const char * yes; // of 0 1 2, a b c (to_1 to_2 to_3), R rows, A allocated, C channels, T transposed,
                          // P permuted
    } cases[] = {
        { { 4, 3, 2, 2 }, { 4, 16, 48, 96 }, "012abcRA" },
        { { 4, 3, 2, 2 }, { 4, 20, 60, 120 }, "12aR" },     // rows apart
        { { 4, 3, 2, 2 }, { 4, 16, 64, 128 }, "2abR" },     // planes apart
        { { 4, 3, 2, 2 }, { 4, 16, 48, 128 }, "abcR" },     // volumes apart
        { { 4, 3, 2, 2 }, { 4, 20, 64, 128 }, "2aR" },      // rows and planes apart
        { { 4, 3, 2, 2 }, { 8, 32, 96, 192 }, "" },         // elements apart
        { { 1, 3, 2, 2 }, { 8, 4, 12, 24 }, "012abcRATP" }, // a stride of no meaning
        { { 3, 4, 2, 1 }, { 16, 4, 48, 96 }, "ATP" },       // transposed
        { { 4, 3, 2, 1 }, { 8, 32, 4, 96 }, "ACP" },        // channels first: 2 channels, 4 by 3 pixels
        { { 4, 3, 2, 2 }, { 4, 16, 96, 48 }, "abRAP" },     // last two swapped
    };
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        const struct ggml_tensor t = tensor(GGML_TYPE_F32, cases[i].ne, cases[i].nb);
        const struct {
            char name;
            bool is;
        } given[] = {
            { '0', ggml_is_contiguous_0(&t) },
            { '1', ggml_is_contiguous_1(&t) },
            { '2', ggml_is_contiguous_2(&t) },
            { 'a', ggml_is_contiguous_to_1(&t) },
            { 'b', ggml_is_contiguous_to_2(&t) },
            { 'c', ggml_is_contiguous_to_3(&t) },
            { 'R', ggml_is_contiguous_rows(&t) },
            { 'A', ggml_is_contiguously_allocated(&t) },
            { 'C', ggml_is_contiguous_channels(&t) },
            { 'T', ggml_is_transposed(&t) },
            { 'P', ggml_is_permuted(&t) },
        };
        for (size_t k = 0; k < TN_COUNT(given); k++) {
            const bool wanted = strchr(cases[i].yes, given[k].name) != NULL;
            if (given[k].is != wanted)
                fail_msg("case %zu, predicate %c is %d", i, given[k].name, given[k].is);
        }
    }
    struct ggml_tensor q = dense(GGML_TYPE_Q8_0, 32, 2, 2, 1); // one block a row: its stride does not matter
    q.nb[0] = 1;
    assert_true(ggml_is_contiguous(&q));
    assert_true(ggml_is_contiguous_rows(&q));
}

static void comparisons(void ** state) {
    (void) state;
    const struct ggml_tensor a = dense(GGML_TYPE_F32, 4, 3, 2, 1), b = dense(GGML_TYPE_F16, 4, 3, 2, 1);
    const struct ggml_tensor row = dense(GGML_TYPE_F32, 4, 1, 1, 1), two = dense(GGML_TYPE_F32, 2, 3, 1, 1);
    const struct ggml_tensor three = dense(GGML_TYPE_F32, 3, 1, 1, 1),
                             none = dense(GGML_TYPE_F32, 4, 0, 2, 1);
    assert_true(ggml_are_same_shape(&a, &b));
    assert_false(ggml_are_same_shape(&a, &row));
    assert_false(ggml_are_same_stride(&a, &b));
    assert_true(ggml_are_same_stride(&a, &a));
    assert_true(ggml_can_repeat(&row, &a));
    assert_true(ggml_can_repeat(&two, &a));
    assert_true(ggml_can_repeat(&a, &a));
    assert_false(ggml_can_repeat(&a, &row));
    assert_false(ggml_can_repeat(&three, &a));
    assert_true(ggml_can_repeat(&row, &none));
    assert_false(ggml_can_repeat(&none, &a));
    assert_true(ggml_can_repeat(&none, &none));
}

static void indices(void ** state) {
    (void) state;
    const struct ggml_tensor t = dense(GGML_TYPE_F32, 2, 3, 4, 5), none = dense(GGML_TYPE_F32, 2, 0, 1, 1);
    int64_t i0 = -1, i1 = -1, i2 = -1, i3 = -1;
    ggml_unravel_index(&t, 1 + 2 * (2 + 3 * (3 + 4 * 4)), &i0, &i1, &i2, &i3);
    assert_int_equal(i0, 1);
    assert_int_equal(i1, 2);
    assert_int_equal(i2, 3);
    assert_int_equal(i3, 4);
    ggml_unravel_index(&t, 7, NULL, &i1, NULL, NULL);
    assert_int_equal(i1, 0);
    ggml_unravel_index(&none, 5, &i0, &i1, &i2, &i3);
    assert_int_equal(i0, 0);
    assert_int_equal(i3, 0);
}

static void null_is_answered(void ** state) {
    (void) state;
    assert_int_equal(ggml_nelements(NULL), 0);
    assert_int_equal(ggml_nrows(NULL), 0);
    assert_int_equal(ggml_nbytes(NULL), 0);
    assert_int_equal(ggml_nbytes_pad(NULL), 0);
    assert_int_equal(ggml_element_size(NULL), 0);
    assert_int_equal(ggml_n_dims(NULL), 1);
    assert_false(ggml_is_empty(NULL) || ggml_is_view(NULL) || ggml_is_scalar(NULL) || ggml_is_vector(NULL));
    assert_false(ggml_is_matrix(NULL) || ggml_is_3d(NULL) || ggml_is_transposed(NULL) ||
                 ggml_is_permuted(NULL));
    assert_false(ggml_is_contiguous(NULL) || ggml_is_contiguous_rows(NULL) ||
                 ggml_is_contiguous_channels(NULL));
    assert_false(ggml_is_contiguously_allocated(NULL) || ggml_is_contiguous_1(NULL) ||
                 ggml_is_contiguous_2(NULL));
    assert_false(ggml_are_same_shape(NULL, NULL) || ggml_are_same_stride(NULL, NULL) ||
                 ggml_can_repeat(NULL, NULL));
    ggml_unravel_index(NULL, 1, NULL, NULL, NULL, NULL);
}

static void products_that_overflow_saturate_or_are_refused(void ** state) {
    (void) state;
    const int64_t big[4] = { INT64_C(1) << 32, INT64_C(1) << 31, 1, 1 };
    const int64_t negative[4] = { 4, -1, 1, 1 };
    const int64_t half[4] = { INT64_C(1) << 31, INT64_C(1) << 30, 1, 1 };
    const size_t nb[4] = { 4, SIZE_MAX / 2, 8, 8 };
    int64_t count = 7;
    size_t strides[4], bytes;
    assert_false(tn_shape_count(big, &count));
    assert_contains(tn_error_text(),
                    "[4294967296, 2147483648, 1, 1]: the number of elements is 2^63 or more");
    assert_int_equal(count, 7);
    assert_false(tn_shape_count(negative, &count));
    assert_contains(tn_error_text(), "ne[1] is negative");
    assert_false(tn_shape_strides(GGML_TYPE_F32, half, strides, &bytes)); // 2^61 elements, 2^63 bytes
    assert_contains(tn_error_text(), "of type f32: 2^63 bytes or more");
    assert_true(tn_shape_strides(GGML_TYPE_I8, half, strides, &bytes));
    assert_int_equal(bytes, INT64_C(1) << 61);
    assert_false(tn_shape_strides(GGML_TYPE_Q4_0, negative, strides, &bytes));
    assert_false(tn_shape_strides((enum ggml_type) 4, (const int64_t[4]){ 32, 1, 1, 1 }, strides, &bytes));
    assert_false(tn_shape_strides(GGML_TYPE_Q4_0, (const int64_t[4]){ 33, 1, 1, 1 }, strides, &bytes));
    assert_false(tn_shape_extent(GGML_TYPE_F32, big, nb, &bytes));
    assert_contains(tn_error_text(), "strides reach 2^63 bytes or more");
    assert_false(tn_shape_extent(GGML_TYPE_COUNT, big, nb, &bytes));
    tn_error_clear();
    const struct ggml_tensor by_hand = tensor(GGML_TYPE_F32, big, nb);
    assert_true(ggml_nelements(&by_hand) == INT64_MAX);
    assert_int_equal(ggml_nrows(&by_hand), INT64_C(1) << 31);
    assert_true(ggml_nbytes(&by_hand) == SIZE_MAX);
    assert_true(ggml_nbytes_pad(&by_hand) == SIZE_MAX);
    assert_false(ggml_is_contiguously_allocated(&by_hand));
    const struct ggml_tensor no_type = tensor(GGML_TYPE_COUNT, half, nb);
    assert_int_equal(ggml_nbytes(&no_type), 0);
    assert_false(ggml_is_contiguous(&no_type));
    assert_string_equal(tn_error_text(), ""); // questions about a tensor are no failures
}

static void texts(void ** state) {
    (void) state;
    char buffer[TN_SHAPE_TENSOR_TEXT];
    struct ggml_tensor t = dense(GGML_TYPE_F16, 1, 2, 3, 4);
    memset(t.name, 'n', sizeof(t.name) - 1);
    assert_contains(tn_shape_tensor_text(buffer, &t), "nnn' f16 [1, 2, 3, 4]");
    assert_string_equal(tn_shape_tensor_text(buffer, NULL), "NULL");
    for (int i = 0; i < 4; i++)
        t.ne[i] = INT64_MIN;
    assert_contains(tn_shape_tensor_text(buffer, &t), "-9223372036854775808]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_strides),
        cmocka_unit_test(dimensions),
        cmocka_unit_test(predicates_agree_with_counted_offsets),
        cmocka_unit_test(contiguous_with_free_strides),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(indices),
        cmocka_unit_test(null_is_answered),
        cmocka_unit_test(products_that_overflow_saturate_or_are_refused),
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
