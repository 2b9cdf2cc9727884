// SPDX-License-Identifier: MIT
// SSM_CONV and SSM_SCAN on the CPU.
#include "cpu_whole.h"

static void conv(void ** state) {
    (void) state;
    static const int64_t sizes[][4] = { // K, C, T, S
                                        { 1, 1, 1, 1 },  { 4, 16, 1, 2 }, { 4, 35, 7, 3 },
                                        { 3, 5, 40, 1 }, { 2, 7, 0, 1 },  { 9, 17, 2, 2 }
    };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * s = sizes[k % 6];
        const int64_t ne_x[] = { s[0] - 1 + s[2], s[1], s[3], 1 }, ne_w[] = { s[0], s[1], 1, 1 };
        const enum cpu_layout layout = (enum cpu_layout)(k / 6);
        struct ggml_tensor * y =
            ggml_ssm_conv(t.ctx, cpu_source(&t, GGML_TYPE_F32, ne_x, layout, -1.0f, 1.0f),
                          cpu_source(&t, GGML_TYPE_F32, ne_w, layout, -1.0f, 1.0f));
        assert_int_equal(y->op, GGML_OP_SSM_CONV);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_ssm_conv, 0.0, 2e-6 });
        cpu_test_free(&t);
    }
}

struct scan {
    int64_t n, rows, heads, groups, tokens, sequences, slots;
    bool each; // a decay for each state
};

static const struct scan scans[] = {
    { 1, 1, 1, 1, 1, 1, 1, false }, { 16, 1, 9, 1, 5, 2, 1, true }, { 128, 4, 4, 2, 3, 1, 1, false },
    { 7, 3, 6, 3, 4, 3, 6, false }, { 5, 2, 2, 1, 0, 2, 1, false }, { 16, 3, 2, 2, 6, 1, 3, false },
    { 8, 2, 4, 4, 2, 2, 1, true },
};

static struct ggml_tensor * scan(struct cpu_test * t, const struct scan * s, enum cpu_layout layout,
                                 int32_t id) {
    const int64_t ne_s[] = { s->n, s->rows, s->heads, s->sequences + 2 };
    const int64_t ne_x[] = { s->rows, s->heads, s->tokens, s->sequences };
    const int64_t ne_dt[] = { s->heads, s->tokens, s->sequences, 1 };
    const int64_t ne_a[] = { s->each ? s->n : 1, s->heads, 1, 1 };
    const int64_t ne_b[] = { s->n, s->groups, s->tokens, s->sequences };
    const int64_t ne_ids[] = { s->sequences, 1, 1, 1 };
    struct ggml_tensor * ids = cpu_source(t, GGML_TYPE_I32, ne_ids, CPU_DENSE, 0.0f, 0.0f);
    for (int32_t i = 0; i < s->sequences; i++)
        ((int32_t *) ids->data)[i] = (int32_t) s->sequences + id - i;
    // Dimensions 0 and 1 stay dense: what is padded is a wider tensor's part.
    struct ggml_tensor * x = cpu_source(t, GGML_TYPE_F32, ne_x, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(t, GGML_TYPE_F32, ne_b, CPU_DENSE, -1.0f, 1.0f);
    if (layout == CPU_PADDED && s->tokens > 0) {
        const int64_t ne_wide[] = { s->n, s->groups, s->tokens + 1, s->sequences };
        struct ggml_tensor * wide = cpu_source(t, GGML_TYPE_F32, ne_wide, CPU_DENSE, -1.0f, 1.0f);
        b = ggml_view_4d(t->ctx, wide, s->n, s->groups, s->tokens, s->sequences, wide->nb[1], wide->nb[2],
                         wide->nb[3], wide->nb[2]);
        b->op = GGML_OP_NONE;
    }
    return ggml_ssm_scan(t->ctx, cpu_source(t, GGML_TYPE_F32, ne_s, CPU_DENSE, -1.0f, 1.0f), x,
                         cpu_source(t, GGML_TYPE_F32, ne_dt, CPU_DENSE, -3.0f, 23.0f),
                         cpu_source(t, GGML_TYPE_F32, ne_a, CPU_DENSE, -1.0f, 0.0f), b,
                         cpu_source(t, GGML_TYPE_F32, ne_b, CPU_DENSE, -1.0f, 1.0f), ids, s->slots);
}

static void scan_values(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 7 * 2; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * y = scan(&t, &scans[k % 7], k / 7 ? CPU_PADDED : CPU_DENSE, 1);
        if (!ggml_ext_tensor_valid(y)) fail_msg("%s", ggml_ext_last_error());
        assert_int_equal(y->op, GGML_OP_SSM_SCAN);
        cpu_check_whole(&t, y, oracle_ssm_scan, 2e-6, 2e-5);
        cpu_test_free(&t);
    }
}

// The first sequence's id is one too many, the last one's -1.
static void ids_out_of_range_fail(void ** state) {
    (void) state;
    static const struct {
        int32_t id;
        const char * text;
    } rows[] = { { 2, "index 5 at position [0, 0, 0]" }, { -1 - 1, "index -1 at position [2, 0, 0]" } };
    for (int k = 0; k < 2; k++) {
        struct cpu_test t = cpu_test_new(1);
        struct ggml_tensor * y = scan(&t, &scans[3], CPU_DENSE, rows[k].id);
        ggml_set_name(y, "scan");
        cpu_allocate(&t);
        assert_true(ggml_backend_supports_op(t.backend, y));
        assert_int_equal(cpu_compute(y, 2), GGML_STATUS_FAILED);
        assert_contains(ggml_ext_last_error(), rows[k].text);
        assert_contains(ggml_ext_last_error(), "'scan'");
        for (size_t i = 0; i < ggml_nbytes(y); i++)
            assert_int_equal(((unsigned char *) y->data)[i], 0x5a);
        cpu_test_free(&t);
    }
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne_x[] = { 8, 3, 1, 1 }, ne_w[] = { 4, 3, 1, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne_x, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * w = cpu_source(&t, GGML_TYPE_F16, ne_w, CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_ssm_conv(t.ctx, x, w), "src1 is f16");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv),
        cmocka_unit_test(scan_values),
        cmocka_unit_test(ids_out_of_range_fail),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
