// SPDX-License-Identifier: MIT
// ACC and SET on the CPU: regions of every shape, in place, empty, with rows on top of each other.
#include "cpu_check.h"

static const struct cpu_oracle exact = { oracle_region, 3 * 0x1p-24, 2e-7 };

static const struct {
    int64_t a[4], b[4], at[4];
} regions[] = {
    { { 7, 5, 3, 2 }, { 7, 5, 3, 2 }, { 0, 0, 0, 0 } },
    { { 7, 5, 3, 2 }, { 3, 2, 2, 1 }, { 4, 3, 1, 1 } },
    { { 1100, 3, 1, 1 }, { 513, 2, 1, 1 }, { 500, 1, 0, 0 } },
    { { 1, 1, 1, 1 }, { 1, 1, 1, 1 }, { 0, 0, 0, 0 } },
    { { 8, 4, 2, 1 }, { 8, 0, 2, 1 }, { 0, 0, 0, 0 } },
    { { 4, 9, 1, 1 }, { 2, 1, 1, 1 }, { 1, 8, 0, 0 } },
};

static size_t offset_of(const struct ggml_tensor * a, const int64_t * at) {
    return (size_t) at[0] * a->nb[0] + (size_t) at[1] * a->nb[1] + (size_t) at[2] * a->nb[2] +
           (size_t) at[3] * a->nb[3];
}

static void accumulated(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F32, regions[k % 6].a, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * b =
            cpu_source(&t, GGML_TYPE_F32, regions[k % 6].b, (enum cpu_layout)(k / 6), -1.0f, 1.0f);
        const size_t offset = offset_of(a, regions[k % 6].at);
        struct ggml_tensor * y = ggml_acc(t.ctx, a, b, a->nb[1], a->nb[2], a->nb[3], offset);
        assert_int_equal(y->op, GGML_OP_ACC);
        cpu_check(&t, y, exact);
        y = ggml_acc_inplace(t.ctx, a, b, a->nb[1], a->nb[2], a->nb[3], offset);
        cpu_check(&t, y, exact);
        assert_ptr_equal(y->data, a->data);
        cpu_test_free(&t);
    }
}

static void replaced(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_I32, GGML_TYPE_F16, GGML_TYPE_I8 };
    for (int k = 0; k < 6 * 4 * CPU_LAYOUTS; k += cpu_step(6 * 4 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum ggml_type type = types[k / 6 % 4];
        const enum cpu_layout layout = (enum cpu_layout)(k / 24);
        struct ggml_tensor * a = cpu_source(&t, type, regions[k % 6].a, layout, -100.0f, 100.0f);
        struct ggml_tensor * b =
            cpu_source(&t, type, regions[k % 6].b, (enum cpu_layout)((layout + k) % 4), -100.0f, 100.0f);
        struct ggml_tensor * y = ggml_dup(t.ctx, a); // for its strides
        const size_t offset = offset_of(y, regions[k % 6].at);
        y = ggml_set(t.ctx, a, b, y->nb[1], y->nb[2], y->nb[3], offset);
        assert_int_equal(y->op, GGML_OP_SET);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_region, 0.0, 0.0 });
        if (layout != CPU_TURNED) {
            const size_t inside = offset_of(a, regions[k % 6].at);
            y = ggml_set_inplace(t.ctx, a, b, a->nb[1], a->nb[2], a->nb[3], inside);
            cpu_check(&t, y, (struct cpu_oracle){ oracle_region, 0.0, 0.0 });
        }
        cpu_test_free(&t);
    }
}

// Rows of the region that share bytes: every thread count gives what one after the other gives.
static void overlapping_rows(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne_a[] = { 4000, 1, 1, 1 }, ne_part[] = { 60, 5, 3, 2 };
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F32, ne_a, CPU_DENSE, 0.0f, 1.0f);
    struct ggml_tensor * part = cpu_source(&t, GGML_TYPE_F32, ne_part, CPU_DENSE, 0.0f, 1.0f);
    cpu_check(&t, ggml_acc(t.ctx, a, part, 128, 40, 1000, 64), exact);
    cpu_check(&t, ggml_acc(t.ctx, a, part, 240, 1200, 72, 64), exact);
    cpu_check(&t, ggml_set(t.ctx, a, part, 128, 40, 72, 64), (struct cpu_oracle){ oracle_region, 0.0, 0.0 });
    cpu_test_free(&t);
}

// So many of them that threads would meet.
static void many_overlapping_rows(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne_a[] = { 300000, 1, 1, 1 }, ne_b[] = { 700, 400, 1, 1 };
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F32, ne_a, CPU_DENSE, 0.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, ne_b, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * y = ggml_acc(t.ctx, a, b, 256, 0, 0, 64);
    for (int k = 0; k < 10; k++)
        cpu_run(&t, y);
    cpu_test_free(&t);
}

static void what_does_not_fit_is_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 64, 4, 1, 1 }, small[] = { 2, 2, 1, 1 };
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, 0.0f, 1.0f);
    struct ggml_tensor * b = cpu_source(&t, GGML_TYPE_F32, small, CPU_DENSE, 0.0f, 1.0f);
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, small, CPU_DENSE, 0.0f, 1.0f);
    struct ggml_tensor * q = cpu_source(&t, GGML_TYPE_Q8_0, ne, CPU_DENSE, 0.0f, 1.0f);
    cpu_refused(&t, ggml_acc(t.ctx, a, b, 16, 0, 0, 2), "the offset of 2 bytes");
    cpu_refused(&t, ggml_set(t.ctx, a, b, 18, 0, 0, 4), "nb1 of 18 bytes");
    cpu_refused(&t, ggml_set(t.ctx, a, i, 16, 0, 0, 0), "i32 cannot be put into f32");
    cpu_refused(&t, ggml_set(t.ctx, q, q, q->nb[1], q->nb[2], q->nb[3], 0), "q8_0 has blocks");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accumulated),
        cmocka_unit_test(replaced),
        cmocka_unit_test(overlapping_rows),
        cmocka_unit_test(many_overlapping_rows),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
