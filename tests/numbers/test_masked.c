// SPDX-License-Identifier: MIT
// Rows of which nothing is seen: softmax and attention give zeros, with slopes, sinks, masks of any type, in
// place, for few queries and many.
#include "numbers/every_op.h"

enum { LENGTH = 133, N = 21, HEADS = 6 };
enum { NO_SINKS, SINKS, NO_VALUE_SINKS, SINK_KINDS };

// Rows 0, 4, 8 ... of the mask are -infinity throughout.
static bool is_blind(int64_t row) {
    return row % 4 == 0;
}

static struct ggml_tensor * mask_of(struct cpu_test * t, enum ggml_type type, int64_t n) {
    struct ggml_tensor * mask = every_source(t, type, LENGTH, n, 1, 1);
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(mask); i++, cpu_next(mask, at)) {
        if (is_blind(at[1]) || test_rng_below(&t->rng, 3) == 0) cpu_put(mask, at, -INFINITY);
    }
    return mask;
}

static struct ggml_tensor * sinks_of(struct cpu_test * t, int kind) {
    if (kind == NO_SINKS) return NULL;
    struct ggml_tensor * sinks = every_f32(t, HEADS, 1, 1, 1);
    for (int64_t h = 0; kind == NO_VALUE_SINKS && h < HEADS; h++)
        ((float *) sinks->data)[h] = -INFINITY;
    return sinks;
}

// Of a row that sees something the sum is 1, or less with a sink.
static void check_softmax_row(const struct ggml_tensor * y, int64_t row, int64_t head, int kind) {
    double sum = 0.0;
    for (int64_t i = 0; i < LENGTH; i++) {
        const double v = cpu_get(y, i, row, head, 0);
        if (is_blind(row) && v != 0.0) fail_msg("row %d, element %d: %g, not 0", (int) row, (int) i, v);
        sum += v;
    }
    if (is_blind(row)) return;
    assert_true(kind == SINKS ? sum > 0.0 && sum < 1.0 : fabs(sum - 1.0) < 1e-5);
}

static void softmax(void ** state) {
    static const enum ggml_type types[] = { GGML_TYPE_F16, GGML_TYPE_F32 };
    const uint64_t seed = test_seed();
    (void) state;
    for (int k = 0; k < 2 * 2 * SINK_KINDS * 2; k++) {
        const int kind = k / 4 % SINK_KINDS;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x = every_f32(&t, LENGTH, N, HEADS, 1);
        struct ggml_tensor * mask = mask_of(&t, types[k / 4 / SINK_KINDS], N);
        struct ggml_tensor * sinks = sinks_of(&t, kind);
        const float bias = k % 2 ? 5.0f : 0.0f;
        struct ggml_tensor * y = k / 2 % 2 ? ggml_soft_max_ext_inplace(t.ctx, x, mask, 0.7f, bias)
                                           : ggml_soft_max_ext(t.ctx, x, mask, 0.7f, bias);
        if (sinks) ggml_soft_max_add_sinks(y, sinks);
        cpu_run(&t, y);
        for (int64_t r = 0; r < N * HEADS; r++)
            check_softmax_row(y, r % N, r / N, kind);
        cpu_test_free(&t);
    }
}

// Without a mask, scores themselves can be -infinity.
static void softmax_of_nothing(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = every_f32(&t, LENGTH, N, 1, 1);
    for (int64_t i = 0; i < LENGTH * N; i++) {
        if (is_blind(i / LENGTH)) ((float *) x->data)[i] = -INFINITY;
    }
    struct ggml_tensor * y = ggml_soft_max(t.ctx, x);
    cpu_run(&t, y);
    for (int64_t r = 0; r < N; r++)
        check_softmax_row(y, r, 0, NO_SINKS);
    cpu_test_free(&t);
}

struct shape {
    enum ggml_type type; // of keys and values
    int64_t n, kv_heads;
};

static const struct shape shapes[] = {
    { GGML_TYPE_F16, 1, 1 },  { GGML_TYPE_F16, N, 2 },  { GGML_TYPE_F32, N, 6 },
    { GGML_TYPE_Q8_0, 1, 2 }, { GGML_TYPE_Q4_0, N, 3 }, { GGML_TYPE_BF16, 5, 1 },
};

// Values are between 1 and 2: only a query without keys, or with a sink of all the weight, can give 0.
static void check_attention_row(const struct ggml_tensor * y, int64_t query, int64_t head, int kind) {
    for (int64_t i = 0; i < y->ne[0]; i++) {
        const double v = cpu_get(y, i, head, query, 0);
        const bool is_right = is_blind(query) ? v == 0.0
                              : kind == SINKS ? v > 0.0 && v < 2.2
                                              : v > 0.8 && v < 2.2;
        if (!is_right) fail_msg("query %d, element %d: %g", (int) query, (int) i, v);
    }
}

static void attention(void ** state) {
    const uint64_t seed = test_seed();
    (void) state;
    for (int k = 0; k < 2 * SINK_KINDS * EVERY_COUNT(shapes); k++) {
        const struct shape * s = &shapes[k / 2 / SINK_KINDS];
        const int kind = k / 2 % SINK_KINDS;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t ne_v[] = { 64, LENGTH, s->kv_heads, 1 };
        struct ggml_tensor * y = ggml_flash_attn_ext(
            t.ctx, every_f32(&t, 64, s->n, HEADS, 1), every_source(&t, s->type, 64, LENGTH, s->kv_heads, 1),
            cpu_source(&t, s->type, ne_v, CPU_DENSE, 1.0f, 2.0f), mask_of(&t, GGML_TYPE_F16, s->n), 0.3f,
            k % 2 ? 5.0f : 0.0f, 0.0f);
        if (kind) ggml_flash_attn_ext_add_sinks(y, sinks_of(&t, kind));
        cpu_run(&t, y);
        for (int64_t r = 0; r < s->n * HEADS; r++)
            check_attention_row(y, r % s->n, r / s->n, kind);
        cpu_test_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax),
        cmocka_unit_test(softmax_of_nothing),
        cmocka_unit_test(attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
