// SPDX-License-Identifier: MIT
// Where a NaN goes, as docs/numbers.md has it: nan.def says it for every operator, at the highest level of
// the machine and the lowest.
#include "numbers/every_op.h"

#include "cpu/kernels.h"

static const struct {
    enum ggml_op op;
    const char * letters;
} rows[] = {
#define TN_NAN(op, letters) { GGML_OP_##op, letters },
#include "numbers/nan.def"
#undef TN_NAN
};

static const char * letters_of(enum ggml_op op) {
    for (int k = 0; k < EVERY_COUNT(rows); k++) {
        if (rows[k].op == op) return rows[k].letters;
    }
    fail_msg("nan.def has no row of %s", ggml_op_name(op));
    return "";
}

// What is computed by functions: which of them swallow a NaN, or pooling by maximum.
static char letter_of(const struct ggml_tensor * node, int src) {
    const char letter = letters_of(node->op)[src];
    if (node->op == GGML_OP_UNARY) {
        switch (ggml_get_unary_op(node)) {
        case GGML_UNARY_OP_RELU:
        case GGML_UNARY_OP_STEP:
        case GGML_UNARY_OP_SGN:
        case GGML_UNARY_OP_HARDSIGMOID: return '0';
        default: return 'e';
        }
    }
    if (node->op == GGML_OP_POOL_1D || node->op == GGML_OP_POOL_2D)
        return node->op_params[0] == GGML_OP_POOL_MAX ? '0' : 's';
    if (node->op != GGML_OP_GLU) return letter;
    if (!node->src[1]) return 's';
    return src == 0 && ggml_get_glu_op(node) == GGML_GLU_OP_REGLU ? '0' : 'e';
}

static bool is_right(const struct ggml_tensor * node, char letter, const int64_t * place, int64_t * n_nan) {
    bool right = true;
    *n_nan = 0;
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(node); i++, cpu_next(node, at)) {
        const bool is_nan = isnan(cpu_get(node, at[0], at[1], at[2], at[3]));
        const bool same_row = memcmp(at + 1, place + 1, 3 * sizeof(*at)) == 0;
        *n_nan += is_nan;
        if (letter == 'e') right = right && is_nan == (same_row && at[0] == place[0]);
        if (letter == 'r') right = right && is_nan == same_row;
    }
    return right && (*n_nan == 0) == (letter == '0');
}

static void check_source(struct cpu_test * t, struct ggml_tensor * node, int src, const char * level) {
    const char letter = letter_of(node, src);
    struct ggml_tensor * x = node->src[src];
    struct every_memory before = every_save(t);
    int64_t place[4] = { 0 }, n_nan;
    for (int d = 0; d < 4; d++)
        place[d] = letter == 'S' ? x->ne[d] - 1 : letter == 'm' ? x->ne[d] / 2 : 0;
    cpu_put(x, place, NAN);
    if (cpu_compute(node, 2) != GGML_STATUS_SUCCESS) fail_msg("%s", ggml_ext_last_error());
    if (!is_right(node, letter, place, &n_nan))
        fail_msg("%s, %s: NaN in source %d (%s): %d in the result, which is not '%c'", ggml_op_desc(node),
                 level, src, ggml_type_name(x->type), (int) n_nan, letter);
    every_restore(t, &before);
    free(before.bytes);
}

static bool is_float(enum ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

// Of numbers below 0 roots and logarithms are NaN as well.
static void make_positive(struct ggml_tensor * x) {
    for (int64_t i = 0, at[4] = { 0 }; i < ggml_nelements(x); i++, cpu_next(x, at))
        cpu_put(x, at, 1.0 + fabs(cpu_get(x, at[0], at[1], at[2], at[3])));
}

static void check_node(struct cpu_test * t, struct ggml_tensor * node, void * n_checked) {
    if (node->op == GGML_OP_SQRT || node->op == GGML_OP_LOG) make_positive(node->src[0]);
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        if (!node->src[i] || !is_float(node->src[i]->type)) continue;
        if (ggml_is_quantized(node->type) || node->type == GGML_TYPE_I32) break; // hold no NaN
        assert_true((int) strlen(letters_of(node->op)) > i);
        if (letter_of(node, i) == '-') continue;
        tn_kernels_select(0);
        check_source(t, node, i, "scalar");
        tn_kernels_select(UINT64_MAX);
        check_source(t, node, i, "best");
        ++*(int *) n_checked;
    }
}

static void it_goes_where_the_table_says(void ** state) {
    (void) state;
    int n_checked = 0;
    every_node(check_node, &n_checked);
    assert_true(n_checked > EVERY_COUNT(every_ops));
}

// --- products: a NaN in a column makes that column NaN, one in a row that row; whatever the weights are

static void products(void ** state) {
    (void) state;
    enum { N = 40, COLUMNS = 19, AT = 5 };
    for (int k = 0; k < 2 * EVERY_COUNT(every_weights); k++) {
        struct cpu_test t = cpu_test_new((unsigned) k);
        const int64_t n_columns = k % 2 ? COLUMNS : 1, at = k % 2 ? AT : 0;
        struct ggml_tensor * b = every_f32(&t, 512, n_columns, 1, 1);
        struct ggml_tensor * y = ggml_mul_mat(t.ctx, every_weight(&t, every_weights[k / 2], 512, N, 1), b);
        cpu_put(b, (const int64_t[]){ 300, at, 0, 0 }, NAN);
        cpu_run(&t, y);
        for (int64_t i = 0; i < N * n_columns; i++) {
            if (isnan(cpu_get(y, i % N, i / N, 0, 0)) != (i / N == at))
                fail_msg("%s: [%d, %d] is %g", ggml_type_name(every_weights[k / 2]), (int) (i % N),
                         (int) (i / N), cpu_get(y, i % N, i / N, 0, 0));
        }
        cpu_test_free(&t);
    }
}

static void weights(void ** state) {
    (void) state;
    for (int k = 0; k < 6; k++) {
        struct cpu_test t = cpu_test_new((unsigned) k);
        struct ggml_tensor * a = every_source(&t, every_floats[k / 2], 300, 40, 1, 1);
        struct ggml_tensor * y = ggml_mul_mat(t.ctx, a, every_f32(&t, 300, k % 2 ? 19 : 1, 1, 1));
        cpu_put(a, (const int64_t[]){ 299, 7, 0, 0 }, NAN);
        cpu_run(&t, y);
        for (int64_t i = 0; i < ggml_nelements(y); i++)
            assert_int_equal(isnan(cpu_get(y, i % 40, i / 40, 0, 0)), i % 40 == 7);
        cpu_test_free(&t);
    }
}

// --- order

static void order(void ** state) {
    (void) state;
    const float values[] = { NAN, 2.0f, -0.0f, 0.0f, -INFINITY, -NAN, INFINITY, 2.0f };
    static const int32_t up[] = { 4, 2, 3, 1, 7, 6, 0, 5 }, down[] = { 6, 1, 7, 2, 3, 4, 0, 5 };
    static const int32_t best[] = { 1, 2, 6, 7 }, all_but_one[] = { 0, 1, 2, 3, 4, 6, 7 };
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 8);
    struct ggml_tensor * y[] = { ggml_argsort(t.ctx, x, GGML_SORT_ORDER_ASC),
                                 ggml_argsort(t.ctx, x, GGML_SORT_ORDER_DESC), ggml_top_k(t.ctx, x, 4),
                                 ggml_top_k(t.ctx, x, 7), ggml_argmax(t.ctx, x) };
    cpu_allocate(&t);
    memcpy(x->data, values, sizeof(values));
    for (int k = 0; k < EVERY_COUNT(y); k++)
        cpu_run(&t, y[k]);
    assert_memory_equal(y[0]->data, up, sizeof(up));
    assert_memory_equal(y[1]->data, down, sizeof(down));
    assert_memory_equal(y[2]->data, best, sizeof(best));
    assert_memory_equal(y[3]->data, all_but_one, sizeof(all_but_one));
    assert_int_equal(*(int32_t *) y[4]->data, 6);
    for (int i = 0; i < 8; i++)
        ((float *) x->data)[i] = NAN;
    cpu_run(&t, y[4]);
    assert_int_equal(*(int32_t *) y[4]->data, 0);
    cpu_test_free(&t);
}

// A window of NaN alone, or of nothing, has the maximum -infinity.
static void pools(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor * max = ggml_pool_1d(t.ctx, x, GGML_OP_POOL_MAX, 2, 2, 0);
    struct ggml_tensor * mean = ggml_pool_1d(t.ctx, x, GGML_OP_POOL_AVG, 2, 2, 0);
    cpu_allocate(&t);
    memcpy(x->data, (const float[]){ NAN, NAN, -3.0f, NAN }, 4 * sizeof(float));
    cpu_run(&t, max);
    cpu_run(&t, mean);
    assert_true(((float *) max->data)[0] == -INFINITY && ((float *) max->data)[1] == -3.0f);
    assert_true(isnan(((float *) mean->data)[0]) && isnan(((float *) mean->data)[1]));
    cpu_test_free(&t);
}

// --- infinity in a row: all of it, or that element and zeros beside it

static struct ggml_tensor * softmax(struct ggml_context * ctx, struct ggml_tensor * x) {
    return ggml_soft_max(ctx, x);
}

static struct ggml_tensor * norm(struct ggml_context * ctx, struct ggml_tensor * x) {
    return ggml_norm(ctx, x, 1e-5f);
}

static struct ggml_tensor * rms_norm(struct ggml_context * ctx, struct ggml_tensor * x) {
    return ggml_rms_norm(ctx, x, 1e-5f);
}

static struct ggml_tensor * l2_norm(struct ggml_context * ctx, struct ggml_tensor * x) {
    return ggml_l2_norm(ctx, x, 1e-5f);
}

static void infinity_in_a_row(void ** state) {
    static const struct {
        struct ggml_tensor * (*build)(struct ggml_context * ctx, struct ggml_tensor * x);
        bool is_all_nan;
    } cases[] = { { softmax, true }, { norm, true }, { rms_norm, false }, { l2_norm, false } };
    (void) state;
    for (int k = 0; k < EVERY_COUNT(cases); k++) {
        struct cpu_test t = cpu_test_new(1);
        struct ggml_tensor * x = every_f32(&t, 700, 3, 1, 1);
        struct ggml_tensor * y = cases[k].build(t.ctx, x);
        cpu_put(x, (const int64_t[]){ 600, 1, 0, 0 }, INFINITY);
        cpu_run(&t, y);
        for (int64_t i = 0; i < 700 * 3; i++) {
            const double v = cpu_get(y, i % 700, i / 700, 0, 0);
            const bool is_nan = i / 700 == 1 && (cases[k].is_all_nan || i % 700 == 600);
            if (isnan(v) != is_nan || (i / 700 == 1 && !is_nan && v != 0.0))
                fail_msg("%s, element %d: %g", ggml_op_desc(y), (int) i, v);
        }
        cpu_test_free(&t);
    }
}

// --- stores

static void halves_keep_it_integers_do_not(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 3);
    struct ggml_tensor * f16 = ggml_cast(t.ctx, x, GGML_TYPE_F16);
    struct ggml_tensor * bf16 = ggml_cast(t.ctx, x, GGML_TYPE_BF16);
    struct ggml_tensor * i32 = ggml_cast(t.ctx, x, GGML_TYPE_I32);
    static const uint32_t bits[] = { 0x7fc00000, 0xff812345, 0x7f800001 };
    static const uint16_t in_f16[] = { 0x7e00, 0xfe00, 0x7e00 }, in_bf16[] = { 0x7fc0, 0xffc1, 0x7fc0 };
    static const int32_t in_i32[] = { 0, 0, 0 };
    cpu_allocate(&t);
    memcpy(x->data, bits, sizeof(bits));
    cpu_run(&t, f16);
    cpu_run(&t, bf16);
    cpu_run(&t, i32);
    assert_memory_equal(f16->data, in_f16, sizeof(in_f16));
    assert_memory_equal(bf16->data, in_bf16, sizeof(in_bf16));
    assert_memory_equal(i32->data, in_i32, sizeof(in_i32));
    cpu_test_free(&t);
}

// A block that a NaN, an infinity or 1e30 is stored to holds finite numbers. But mxfp4, whose scale reaches
// beyond f32, keeps an infinity.
static void blocks_stay_well_formed(void ** state) {
    (void) state;
    static const float odd[] = { NAN, INFINITY, -INFINITY, 1e30f, -3e38f };
    int n_types = 0;
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        struct cpu_test t = cpu_test_new((unsigned) type);
        struct ggml_tensor * x = every_f32(&t, 512, 5, 1, 1);
        struct ggml_tensor * y = ggml_new_tensor_2d(t.ctx, GGML_TYPE_Q4_0, 512, 5);
        const bool is_known =
            ggml_is_quantized((enum ggml_type) type) && ggml_blck_size((enum ggml_type) type) > 0;
        if (is_known) y = ggml_cast(t.ctx, x, (enum ggml_type) type);
        if (is_known && ggml_backend_supports_op(t.backend, y)) {
            cpu_allocate(&t);
            for (int k = 0; k < 5; k++)
                cpu_put(x, (const int64_t[]){ 37 * k + 9, k, 0, 0 }, (double) odd[k]);
            cpu_run(&t, y);
            for (int64_t i = 0; i < 512 * 5; i++) {
                const double v = cpu_get(y, i % 512, i / 512, 0, 0);
                const bool is_odd = isinf(odd[i / 512]) && i % 512 == 37 * (i / 512) + 9;
                if (type == GGML_TYPE_MXFP4 && is_odd ? v != (double) odd[i / 512] : !isfinite(v))
                    fail_msg("%s: element %d is %g", ggml_type_name(y->type), (int) i, v);
            }
            n_types++;
        }
        cpu_test_free(&t);
    }
    assert_true(n_types >= 18);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_where_the_table_says),
        cmocka_unit_test(products),
        cmocka_unit_test(weights),
        cmocka_unit_test(order),
        cmocka_unit_test(pools),
        cmocka_unit_test(infinity_in_a_row),
        cmocka_unit_test(halves_keep_it_integers_do_not),
        cmocka_unit_test(blocks_stay_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
