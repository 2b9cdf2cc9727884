// SPDX-License-Identifier: MIT
// Indices out of range, in every operator that has any: a status, a text with node, value and position, and
// nothing is written anywhere. Integers that are no indices may have any value.
#include "numbers/every_op.h"

#include <inttypes.h>

// Every operator with a source of integers: which of them are indices, and the dimension of which source (-1:
// of the result) bounds them; limit 0: they are no indices.
static const struct {
    enum ggml_op op;
    int src;
    int of, dim;
} integers[] = {
    { GGML_OP_GET_ROWS, 1, 0, 1 },      { GGML_OP_GET_ROWS_BACK, 1, -1, 1 },
    { GGML_OP_SET_ROWS, 1, -1, 1 },     { GGML_OP_MUL_MAT_ID, 2, 0, 2 },
    { GGML_OP_ADD_ID, 2, 1, 1 },        { GGML_OP_SSM_SCAN, 6, 0, 3 },
    { GGML_OP_ROPE, 1, -1, -1 },        { GGML_OP_ROPE_BACK, 1, -1, -1 },
    { GGML_OP_COUNT_EQUAL, 0, -1, -1 }, { GGML_OP_COUNT_EQUAL, 1, -1, -1 },
    { GGML_OP_GET_ROWS, 0, -1, -1 },    { GGML_OP_CPY, 1, -1, -1 }, // ggml_cast: the result itself
};

static int find(enum ggml_op op, int src) {
    for (int k = 0; k < EVERY_COUNT(integers); k++) {
        if (integers[k].op == op && integers[k].src == src) return k;
    }
    fail_msg("%s: are the integers of source %d indices?", ggml_op_name(op), src);
    return -1;
}

static int64_t limit_of(const struct ggml_tensor * node, int k) {
    const struct ggml_tensor * x = integers[k].of < 0 ? node : node->src[integers[k].of];
    return integers[k].dim < 0 ? 0 : x->ne[integers[k].dim];
}

// With element i of the indices being v.
static void check_one(struct cpu_test * t, struct ggml_tensor * node, struct ggml_tensor * index, int64_t i,
                      int32_t v) {
    char value[32], place[96];
    int64_t at[4];
    int32_t * element = (int32_t *) index->data + i;
    const int32_t right = *element;
    ggml_unravel_index(index, i, &at[0], &at[1], &at[2], &at[3]);
    snprintf(value, sizeof(value), "index %d ", v);
    snprintf(place, sizeof(place), "position [%d, %d, %d]", (int) at[0], (int) at[1], (int) at[2]);
    *element = v;
    struct every_memory before = every_save(t);
    assert_int_equal(cpu_compute(node, 3), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), value);
    assert_contains(ggml_ext_last_error(), place);
    assert_contains(ggml_ext_last_error(), "'the node'");
    struct every_memory after = every_save(t);
    assert_memory_equal(before.bytes, after.bytes, before.size);
    free(before.bytes);
    free(after.bytes);
    *element = right;
}

static void check_source(struct cpu_test * t, struct ggml_tensor * node, int src) {
    struct ggml_tensor * x = node->src[src];
    const int64_t limit = limit_of(node, find(node->op, src)), n = ggml_nelements(x);
    const int32_t wrong[] = { -1, (int32_t) limit, INT32_MIN, INT32_MAX };
    if (limit == 0) {
        if (x == node) return;
        for (int k = 0; k < 4; k++)
            ((int32_t *) x->data)[k * (n - 1) / 3] = wrong[k];
    } else {
        for (int k = 0; k < 4; k++)
            check_one(t, node, x, k * (n - 1) / 3, wrong[k]);
    }
    if (cpu_compute(node, 3) != GGML_STATUS_SUCCESS) fail_msg("%s", ggml_ext_last_error());
}

static void check_node(struct cpu_test * t, struct ggml_tensor * node, void * n_checked) {
    ggml_set_name(node, "the node");
    if (node->op >= GGML_OP_MAP_CUSTOM1 && node->op <= GGML_OP_CUSTOM) return; // the caller's matter
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (!node->src[i] || node->src[i]->type != GGML_TYPE_I32) continue;
        check_source(t, node, i);
        ++*(int *) n_checked;
    }
}

static void indices_are_checked_before_anything_is_written(void ** state) {
    (void) state;
    int n_checked = 0;
    every_node(check_node, &n_checked);
    assert_true(n_checked > EVERY_COUNT(integers));
}

// i64 indices, which set_rows takes.
static void long_indices_as_well(void ** state) {
    static const int64_t wrong[] = { -1, 9, (int64_t) 1 << 32, INT64_MIN, ((int64_t) 5 << 32) + 3 };
    const uint64_t seed = test_seed();
    (void) state;
    for (int k = 0; k < EVERY_COUNT(wrong); k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * index = ggml_new_tensor_2d(t.ctx, GGML_TYPE_I64, 6, 2);
        struct ggml_tensor * y =
            ggml_set_rows(t.ctx, every_f32(&t, 40, 9, 2, 1), every_f32(&t, 40, 6, 2, 1), index);
        char text[96];
        cpu_allocate(&t);
        memset(index->data, 0, ggml_nbytes(index));
        ((int64_t *) index->data)[10] = wrong[k];
        struct every_memory before = every_save(&t);
        assert_int_equal(cpu_compute(y, 2), GGML_STATUS_FAILED);
        snprintf(text, sizeof(text), "index %" PRId64 " at position [4, 1, 0]", wrong[k]);
        assert_contains(ggml_ext_last_error(), text);
        struct every_memory after = every_save(&t);
        assert_memory_equal(before.bytes, after.bytes, before.size);
        free(before.bytes);
        free(after.bytes);
        cpu_test_free(&t);
    }
}

// Indices that the graph itself computes: those of the best 4 of 9 values choose among `rows` rows.
static enum ggml_status choose(struct cpu_test * t, int64_t rows) {
    struct ggml_tensor * scores = ggml_new_tensor_1d(t->ctx, GGML_TYPE_F32, 9);
    cpu_allocate(t);
    for (int i = 0; i < 9; i++)
        ((float *) scores->data)[i] = i == 7 ? 100.0f : (float) -i;
    struct ggml_tensor * best = ggml_argsort_top_k(t->ctx, scores, 4);
    struct ggml_tensor * y = ggml_get_rows(t->ctx, every_f32(t, 10, rows, 1, 1), best);
    ggml_set_name(y, "chosen");
    cpu_allocate(t);
    return cpu_compute(y, 2);
}

static void computed_indices_are_checked(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    assert_int_equal(choose(&t, 8), GGML_STATUS_SUCCESS);
    assert_int_equal(choose(&t, 7), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "'chosen'");
    assert_contains(ggml_ext_last_error(), "index 7 at position [0, 0, 0]");
    assert_contains(ggml_ext_last_error(), "7 rows");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_are_checked_before_anything_is_written),
        cmocka_unit_test(long_indices_as_well),
        cmocka_unit_test(computed_indices_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
