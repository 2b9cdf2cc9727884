// SPDX-License-Identifier: MIT
// Precision settings are floors: with F32 for the source and the sum nothing is rounded below f32 on the way,
// and with less the error stays within what the setting allows. In each case rounding would show.
#include "numbers/every_op.h"
#include "op/oracle/oracle.h"

enum { K = 512, ROWS = 33 };

// Columns with numbers of more bits than a half float has; one in 32 is a hundred times as large, so that
// blocks of 8 bits leave little of the others.
static void fill_fine(struct cpu_test * t, struct ggml_tensor * b) {
    for (int64_t i = 0; i < ggml_nelements(b); i++) {
        const float v = test_rng_float(&t->rng, 0.5f, 1.0f) * (i % 3 ? 1.0f : -1.0f);
        ((float *) b->data)[i] = i % 32 == 9 ? 100.0f * v : v;
    }
}

// The exact product of two rows, and how far from it a result may be that rounds nothing below f32.
struct product {
    double value, magnitude, weight, largest;
};

static struct product product_of(const struct ggml_tensor * a, int64_t row, int64_t matrix,
                                 const struct ggml_tensor * b, int64_t column) {
    struct product p = { 0 };
    for (int64_t k = 0; k < K; k++) {
        const double x = cpu_get(a, k, row, matrix, 0), y = ((const float *) b->data)[column * K + k];
        p.value += x * y;
        p.magnitude += fabs(x * y);
        p.weight += fabs(x);
        p.largest = fmax(p.largest, fabs(y));
    }
    return p;
}

// What adding K terms up in f32 may do, as in oracle_error.
static double f32_error(const struct product * p) {
    return 0x1p-24 * (4.0 + 2.0 * sqrt((double) K)) * p->magnitude;
}

static double allowed(const struct product * p, enum ggml_prec source) {
    switch (source) {
    case GGML_PREC_F32: return f32_error(p);
    case GGML_PREC_BF16:
    case GGML_PREC_F16: return f32_error(p) + 0x1p-9 * p->magnitude; // bf16 lies above f16
    default: return f32_error(p) + p->weight * p->largest / 250.0;   // 8 bits: half a step of 1/127
    }
}

// The error of a product whose column is rounded to the type that the CPU's dot product of the weight takes.
static double rounded_error(const struct ggml_tensor * a, int64_t row, const struct ggml_tensor * b,
                            int64_t column, double exact) {
    char bytes[K * 8];
    float back[K];
    const enum ggml_type partner = ggml_get_type_traits_cpu(a->type)->vec_dot_type;
    if (partner == GGML_TYPE_F32) return 0.0;
    tn_type_get(partner)->encode_ref((const float *) b->data + column * K, bytes, K);
    tn_type_get(partner)->decode(bytes, back, K);
    double sum = 0.0;
    for (int64_t k = 0; k < K; k++)
        sum += cpu_get(a, k, row, 0, 0) * (double) back[k];
    return fabs(sum - exact);
}

static struct ggml_tensor * product_node(struct cpu_test * t, enum ggml_type type, int64_t columns,
                                         bool by_id) {
    struct ggml_tensor * a = every_weight(t, type, K, ROWS, 1);
    struct ggml_tensor * b = every_f32(t, K, by_id ? 1 : columns, by_id ? columns : 1, 1);
    fill_fine(t, b);
    return by_id ? ggml_mul_mat_id(t->ctx, a, b, every_index(t, 1, columns, 1, 1))
                 : ggml_mul_mat(t->ctx, a, b);
}

static void check_floor(enum ggml_type type, enum ggml_prec source, int64_t columns, bool by_id) {
    struct cpu_test t = cpu_test_new((unsigned) type * 7u + (unsigned) columns);
    struct ggml_tensor * y = product_node(&t, type, columns, by_id);
    double would_show = 0.0;
    assert_true(ggml_prec_set_src(y, source, 1));
    assert_true(ggml_prec_set_acc(y, GGML_PREC_F32));
    cpu_run(&t, y);
    for (int64_t i = 0; i < ROWS * columns; i++) {
        const struct product p = product_of(y->src[0], i % ROWS, 0, y->src[1], i / ROWS);
        const double got = (double) ((const float *) y->data)[i], most = allowed(&p, source);
        if (!(fabs(got - p.value) <= most))
            fail_msg("%s %s, source %d: %.9g, not %.9g by %.3g", ggml_op_name(y->op), ggml_type_name(type),
                     source, got, p.value, most);
        would_show =
            fmax(would_show, rounded_error(y->src[0], i % ROWS, y->src[1], i / ROWS, p.value) / most);
    }
    // Or the case would not tell a floor that is honoured from one that is not.
    if (source == GGML_PREC_F32 && type != GGML_TYPE_F32 && would_show < 2.0)
        fail_msg("%s: rounding would not show: %g", ggml_type_name(type), would_show);
    cpu_test_free(&t);
}

static void sources(void ** state) {
    static const enum ggml_prec floors[] = { GGML_PREC_F32, GGML_PREC_BF16, GGML_PREC_F16, GGML_PREC_Q8,
                                             GGML_PREC_DEFAULT };
    (void) state;
    for (int k = 0; k < EVERY_COUNT(every_weights); k++) {
        for (int f = 0; f < EVERY_COUNT(floors); f++) {
            check_floor(every_weights[k], floors[f], 1, false);
            check_floor(every_weights[k], floors[f], 19, false);
            check_floor(every_weights[k], floors[f], 5, true);
        }
    }
}

// The setting of the sum: 16129 and then ones, which a half float, or a bf16 one, does not count.
static void sums(void ** state) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0 };
    (void) state;
    for (int k = 0; k < 2 * EVERY_COUNT(types); k++) {
        struct cpu_test t = cpu_test_new(1);
        const int64_t columns = k % 2 ? 19 : 1;
        struct ggml_tensor * a = every_source(&t, GGML_TYPE_F32, 2048, 4, 1, 1);
        struct ggml_tensor * b = every_f32(&t, 2048, columns, 1, 1);
        for (int64_t i = 0; i < ggml_nelements(a); i++)
            ((float *) a->data)[i] = i % 32 == 0 ? 127.0f : 1.0f; // q8_0: a scale of 1
        for (int64_t i = 0; i < ggml_nelements(b); i++)
            ((float *) b->data)[i] = i % 2048 == 0 ? 127.0f : i % 32 == 0 ? 0.0f : 1.0f;
        struct ggml_tensor * y = ggml_mul_mat(t.ctx, ggml_cast(t.ctx, a, types[k / 2]), b);
        assert_true(ggml_prec_set_acc(y, GGML_PREC_F32));
        assert_true(ggml_prec_set_src(y, GGML_PREC_F32, 1));
        cpu_allocate(&t);
        assert_int_equal(cpu_compute(y, 2), GGML_STATUS_SUCCESS);
        for (int64_t i = 0; i < ggml_nelements(y); i++) {
            if (((float *) y->data)[i] != 127.0f * 127.0f + 31.0f * 64.0f)
                fail_msg("%s: %g", ggml_type_name(types[k / 2]), (double) ((float *) y->data)[i]);
        }
        cpu_test_free(&t);
    }
}

// Attention with F32: scores and sums in f32, so that a query which no half float holds is told from its
// neighbour, and values are averaged to f32.
static void attention(void ** state) {
    static const enum ggml_type types[] = { GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32, GGML_TYPE_Q8_0 };
    (void) state;
    for (int k = 0; k < 2 * EVERY_COUNT(types); k++) {
        struct cpu_test t = cpu_test_new((unsigned) k);
        struct ggml_tensor * q = every_f32(&t, 64, k % 2 ? 18 : 1, 2, 1);
        fill_fine(&t, q);
        struct ggml_tensor * keys = every_source(&t, types[k / 2], 64, 300, 1, 1);
        struct ggml_tensor * y = ggml_flash_attn_ext(t.ctx, q, keys, keys, NULL, 0.5f, 0.0f, 0.0f);
        assert_true(ggml_prec_set_acc(y, GGML_PREC_F32));
        cpu_run(&t, y);
        oracle_checks++;
        double off = 0.0, would_be_off = 0.0;
        for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(y); i++, cpu_next(y, at))
            off = fmax(
                off, fabs((double) ((float *) y->data)[i] - oracle_of(GGML_OP_FLASH_ATTN_EXT)->value(y, at)));
        for (int64_t i = 0; i < ggml_nelements(q); i++)
            ((float *) q->data)[i] = ggml_fp16_to_fp32(ggml_fp32_to_fp16(((float *) q->data)[i]));
        oracle_checks++;
        for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(y); i++, cpu_next(y, at))
            would_be_off = fmax(would_be_off, fabs((double) ((float *) y->data)[i] -
                                                   oracle_of(GGML_OP_FLASH_ATTN_EXT)->value(y, at)));
        if (off > 2e-4 || would_be_off < 3.0 * off)
            fail_msg("%s: off by %g, with rounded queries by %g", ggml_type_name(types[k / 2]), off,
                     would_be_off);
        cpu_test_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources),
        cmocka_unit_test(sums),
        cmocka_unit_test(attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
