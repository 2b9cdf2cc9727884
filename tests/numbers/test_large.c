// SPDX-License-Identifier: MIT
// Finite inputs up to 1e30 give finite results wherever the exact result is one, whatever the weights are
// stored as: nothing on the way is a half float, or a block with a scale that is one, without being scaled.
#include "numbers/every_op.h"
#include "op/oracle/oracle.h"

enum { K = 512, ROWS = 40 };

// A row with numbers of all magnitudes up to 1e30, or of one magnitude.
static void fill_large(struct cpu_test * t, struct ggml_tensor * x, int kind) {
    for (int64_t i = 0; i < ggml_nelements(x); i++) {
        const float v = test_rng_float(&t->rng, -1.0f, 1.0f);
        const float size = kind == 0   ? 1e30f
                           : kind == 1 ? powf(10.0f, test_rng_float(&t->rng, -30.0f, 30.0f))
                                       : 0;
        ((float *) x->data)[i] = kind == 2 ? (i % 97 == 5 ? 1e30f : v) : v * size;
    }
}

// The largest magnitude of a column of b, which is what 8-bit blocks divide.
static double largest(const struct ggml_tensor * b, int64_t i1, int64_t i2) {
    double max = 0.0;
    for (int64_t k = 0; k < b->ne[0]; k++)
        max = fmax(max, fabs(cpu_get(b, k, i1, i2, 0)));
    return max;
}

// How far the product of a row and a column may be off: by the sums' rounding, and by that of an element to
// 8 bits of the largest one, if that is allowed.
static void check_product(const struct ggml_tensor * a, const struct ggml_tensor * b, const int64_t * at,
                          double got, bool is_precise) {
    double sum = 0.0, magnitude = 0.0, weight = 0.0;
    for (int64_t k = 0; k < a->ne[0]; k++) {
        const double x = cpu_get(a, k, at[0], at[1], 0), y = cpu_get(b, k, at[2], at[3], 0);
        sum += x * y;
        magnitude += fabs(x * y);
        weight += fabs(x);
    }
    const double rounding = 2e-6 * magnitude + (is_precise ? 0.0 : weight * largest(b, at[2], at[3]) / 200.0);
    if (!isfinite(got) || fabs(got - sum) > rounding)
        fail_msg("%s: row %d, column %d: %.9g, not %.9g by %.3g", ggml_type_name(a->type), (int) at[0],
                 (int) at[2], got, sum, rounding);
}

static void check_mul_mat(enum ggml_type type, int kind, int64_t columns, bool is_precise) {
    struct cpu_test t = cpu_test_new(100u * (unsigned) type + (unsigned) kind);
    struct ggml_tensor * a = every_weight(&t, type, K, ROWS, 1);
    struct ggml_tensor * b = every_f32(&t, K, columns, 1, 1);
    fill_large(&t, b, kind);
    struct ggml_tensor * y = ggml_mul_mat(t.ctx, a, b);
    if (is_precise) assert_true(ggml_prec_set_src(y, GGML_PREC_F32, 1));
    cpu_run(&t, y);
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t i = 0; i < ROWS; i++)
            check_product(a, b, (const int64_t[]){ i, 0, j, 0 }, cpu_get(y, i, j, 0, 0), is_precise);
    }
    cpu_test_free(&t);
}

static void products(void ** state) {
    (void) state;
    for (int k = 0; k < EVERY_COUNT(every_weights); k++) {
        for (int kind = 0; kind < 3; kind++) {
            check_mul_mat(every_weights[k], kind, 1, false);
            check_mul_mat(every_weights[k], kind, 19, kind == 1);
        }
    }
}

static void chosen_products(void ** state) {
    (void) state;
    for (int k = 0; k < 3 * EVERY_COUNT(every_weights); k++) {
        struct cpu_test t = cpu_test_new(77u * (unsigned) k);
        struct ggml_tensor * as = every_weight(&t, every_weights[k / 3], K, ROWS, 3);
        struct ggml_tensor * b = every_f32(&t, K, 1, 5, 1);
        struct ggml_tensor * ids = every_index(&t, 2, 5, 1, 3);
        fill_large(&t, b, k % 3);
        struct ggml_tensor * y = ggml_mul_mat_id(t.ctx, as, b, ids);
        cpu_run(&t, y);
        for (int64_t n = 0; n < ggml_nelements(y); n++) {
            const int64_t i = n % ROWS, e = n / ROWS % 2, token = n / ROWS / 2;
            const int64_t at[] = { i, (int64_t) cpu_get(ids, e, token, 0, 0), 0, token };
            check_product(as, b, at, cpu_get(y, i, e, token, 0), false);
        }
        cpu_test_free(&t);
    }
}

// Sums over rows of a, which may be any type: an f32 operation throughout.
static double outer(const struct ggml_tensor * node, const int64_t * i) {
    double sum = 0.0;
    for (int64_t c = 0; c < node->src[0]->ne[1]; c++)
        sum += cpu_get(node->src[0], i[0], c, 0, 0) * cpu_get(node->src[1], i[1], c, 0, 0);
    return sum;
}

static void outer_products(void ** state) {
    (void) state;
    for (int k = 0; k < EVERY_COUNT(every_weights); k++) {
        struct cpu_test t = cpu_test_new((unsigned) k);
        struct ggml_tensor * b = every_f32(&t, 7, 9, 1, 1);
        fill_large(&t, b, 0);
        cpu_check(&t, ggml_out_prod(t.ctx, every_weight(&t, every_weights[k], 256, 9, 1), b),
                  (struct cpu_oracle){ outer, 1e-5, 1e25 });
        cpu_test_free(&t);
    }
}

// --- attention

enum { D = 256, KEYS = 70, QUERIES = 3 };

// What the keys weigh for a query, in double; they add up to 1.
static void weigh(const struct ggml_tensor * node, int64_t head, int64_t query, double * weights) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1];
    double max = -INFINITY, sum = 0.0;
    for (int64_t m = 0; m < KEYS; m++) {
        weights[m] = 0.0;
        for (int64_t d = 0; d < D; d++)
            weights[m] += oracle_param(node, 0) * cpu_get(q, d, query, head, 0) * cpu_get(k, d, m, 0, 0);
        max = fmax(max, weights[m]);
    }
    for (int64_t m = 0; m < KEYS; m++)
        sum += weights[m] = exp(weights[m] - max);
    for (int64_t m = 0; m < KEYS; m++)
        weights[m] /= sum;
}

// With scores around 1 a result is close to the exact one; with scores of 1e30 and more it lies between the
// smallest and the largest value all the same.
static void check_query(const struct ggml_tensor * node, int64_t head, int64_t query, bool is_close) {
    const struct ggml_tensor * v = node->src[2];
    double weights[KEYS];
    weigh(node, head, query, weights);
    for (int64_t i = 0; i < D; i++) {
        double value = 0.0, lowest = INFINITY, highest = -INFINITY;
        for (int64_t m = 0; m < KEYS; m++) {
            const double x = cpu_get(v, i, m, 0, 0);
            value += weights[m] * x;
            lowest = fmin(lowest, x);
            highest = fmax(highest, x);
        }
        const double got = cpu_get(node, i, head, query, 0), slack = 1e-5 * fmax(fabs(lowest), fabs(highest));
        if (!(got >= lowest - slack && got <= highest + slack))
            fail_msg("%s: %g is not between %g and %g", ggml_type_name(v->type), got, lowest, highest);
        if (is_close && fabs(got - value) > 0.05 * (highest - lowest) + slack)
            fail_msg("%s: %g, not %g", ggml_type_name(v->type), got, value);
    }
}

static void check_attention(enum ggml_type type, float q_size, float scale) {
    struct cpu_test t = cpu_test_new((unsigned) type);
    struct ggml_tensor * q = every_f32(&t, D, QUERIES, 2, 1);
    struct ggml_tensor * k = every_weight(&t, type, D, KEYS, 1);
    struct ggml_tensor * v = every_weight(&t, type, D, KEYS, 1);
    for (int64_t i = 0; i < ggml_nelements(q); i++)
        ((float *) q->data)[i] *= q_size;
    struct ggml_tensor * y = ggml_flash_attn_ext(t.ctx, q, k, v, NULL, scale, 0.0f, 0.0f);
    cpu_run(&t, y);
    for (int64_t n = 0; n < 2 * QUERIES; n++)
        check_query(y, n % 2, n / 2, q_size * scale < 10.0f);
    cpu_test_free(&t);
}

static void attention(void ** state) {
    (void) state;
    for (int k = 0; k < EVERY_COUNT(every_weights); k++) {
        check_attention(every_weights[k], 5e29f, 1e-31f);
        check_attention(every_weights[k], 5e29f, 0.0625f);
        check_attention(every_weights[k], 5e29f, 1e8f);
    }
}

// Queries, keys and values of 1e30: scores of 1e60, of which one key has the largest.
static void scores_beyond_f32_count_as_its_largest(void ** state) {
    (void) state;
    for (int cap = 0; cap < 2; cap++) {
        struct cpu_test t = cpu_test_new(1);
        struct ggml_tensor *q = every_f32(&t, 8, 1, 1, 1), *k = every_f32(&t, 8, 40, 1, 1);
        struct ggml_tensor * v = every_f32(&t, 8, 40, 1, 1);
        for (int64_t i = 0; i < 8 * 40; i++) {
            ((float *) q->data)[i % 8] = 1e30f;
            ((float *) k->data)[i] = i / 8 == 17 ? 1e30f : -1e30f;
            ((float *) v->data)[i] = i / 8 == 17 ? 9e29f : -1e30f;
        }
        ((float *) k->data)[17 * 8] = -1e30f; // sums that leave the range on both sides
        struct ggml_tensor * y = ggml_flash_attn_ext(t.ctx, q, k, v, NULL, 0.5f, 0.0f, cap ? 30.0f : 0.0f);
        cpu_run(&t, y);
        for (int i = 0; i < 8; i++)
            assert_true(((float *) y->data)[i] == 9e29f);
        cpu_test_free(&t);
    }
}

// --- operators by element, by row, and over images: none leaves the range where the exact result does not

static const enum ggml_op bounded[] = {
    GGML_OP_SCALE,
    GGML_OP_CLAMP,
    GGML_OP_SQRT,
    GGML_OP_SIN,
    GGML_OP_COS,
    GGML_OP_SUM,
    GGML_OP_SUM_ROWS,
    GGML_OP_CUMSUM,
    GGML_OP_MEAN,
    GGML_OP_ADD,
    GGML_OP_SUB,
    GGML_OP_ADD1,
    GGML_OP_ADD_ID,
    GGML_OP_ACC,
    GGML_OP_SILU_BACK,
    GGML_OP_NORM,
    GGML_OP_RMS_NORM,
    GGML_OP_L2_NORM,
    GGML_OP_SOFT_MAX,
    GGML_OP_GROUP_NORM,
    GGML_OP_ROPE,
    GGML_OP_IM2COL,
    GGML_OP_IM2COL_3D,
    GGML_OP_CONV_2D,
    GGML_OP_CONV_3D,
    GGML_OP_CONV_2D_DW,
    GGML_OP_POOL_1D,
    GGML_OP_POOL_2D,
    GGML_OP_UPSCALE,
    GGML_OP_UNARY,
    GGML_OP_COL2IM_1D,
    GGML_OP_CONV_TRANSPOSE_1D,
    GGML_OP_CONV_TRANSPOSE_2D,
    GGML_OP_REPEAT_BACK,
    GGML_OP_GET_ROWS_BACK,
    GGML_OP_IM2COL_BACK,
    GGML_OP_DSV4_HC_PRE,
    GGML_OP_TIMESTEP_EMBEDDING,
};

static bool is_bounded(const struct ggml_tensor * node) {
    bool found = false;
    for (int k = 0; k < EVERY_COUNT(bounded); k++)
        found = found || bounded[k] == node->op;
    if (node->op == GGML_OP_UNARY) {
        const enum ggml_unary_op op = ggml_get_unary_op(node);
        return op != GGML_UNARY_OP_EXP && op != GGML_UNARY_OP_EXPM1 && op != GGML_UNARY_OP_XIELU &&
               node->src[0]->type == GGML_TYPE_F32;
    }
    return found && node->type == GGML_TYPE_F32; // f16 ends at 65504
}

// The source that grows: the data, not a kernel; a gradient's partner stays as it is.
static struct ggml_tensor * data_of(const struct ggml_tensor * node) {
    struct ggml_tensor * x = node->src[0];
    switch (node->op) {
    case GGML_OP_IM2COL:
    case GGML_OP_IM2COL_3D:
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_3D:
    case GGML_OP_CONV_2D_DW:
    case GGML_OP_CONV_TRANSPOSE_1D:
    case GGML_OP_CONV_TRANSPOSE_2D:
    case GGML_OP_SILU_BACK: x = node->src[1]; break;
    default: break;
    }
    return x->type == GGML_TYPE_F32 ? x : NULL;
}

static void check_bounded(struct cpu_test * t, struct ggml_tensor * node, void * n_checked) {
    struct ggml_tensor * x = is_bounded(node) ? data_of(node) : NULL;
    (void) t;
    if (!x) return;
    x = cpu_base(x);
    for (int64_t i = 0; i < ggml_nelements(x); i++) {
        float * v = &((float *) x->data)[i];
        *v = node->op == GGML_OP_SQRT ? fabsf(*v) * 5e29f : *v * 5e29f;
    }
    assert_int_equal(cpu_compute(node, 3), GGML_STATUS_SUCCESS);
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(node); i++, cpu_next(node, at)) {
        const double y = cpu_get(node, at[0], at[1], at[2], at[3]);
        if (!isfinite(y)) fail_msg("%s: element %d is %g", ggml_op_desc(node), (int) i, y);
    }
    ++*(int *) n_checked;
}

static void other_operators_stay_in_range(void ** state) {
    (void) state;
    int n_checked = 0;
    every_node(check_bounded, &n_checked);
    assert_true(n_checked > EVERY_COUNT(bounded));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(chosen_products),
        cmocka_unit_test(outer_products),
        cmocka_unit_test(attention),
        cmocka_unit_test(scores_beyond_f32_count_as_its_largest),
        cmocka_unit_test(other_operators_stay_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
