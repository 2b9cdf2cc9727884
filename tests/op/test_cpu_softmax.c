// SPDX-License-Identifier: MIT
// SOFT_MAX, SOFT_MAX_BACK, DIAG_MASK_INF and DIAG_MASK_ZERO on the CPU.
#include "cpu_check.h"

static double parameter(const struct ggml_tensor * node, int word) {
    float f;
    memcpy(&f, &node->op_params[word], sizeof(f));
    return (double) f;
}

static double slope(double max_bias, int64_t n_heads, int64_t h) {
    if (max_bias == 0.0) return 1.0;
    const double n = exp2(floor(log2((double) n_heads)));
    if ((double) h < n) return pow(2.0, -max_bias * (double) (h + 1) / n);
    return pow(2.0, -max_bias / 2.0 * (2.0 * ((double) h - n) + 1.0) / n);
}

static double scaled(const struct ggml_tensor * node, int64_t k, const int64_t * i) {
    const struct ggml_tensor * m = node->src[1];
    const double v = parameter(node, 0) * cpu_get(node->src[0], k, i[1], i[2], i[3]);
    if (!m) return v;
    return v + slope(parameter(node, 1), node->ne[2], i[2]) *
                   cpu_get(m, k, i[1], i[2] % m->ne[2], i[3] % m->ne[3]);
}

// All weights of the row, kept while elements of the same row are asked for.
static const double * row_of(const struct ggml_tensor * node, const int64_t * i) {
    static int check;
    static int64_t at[3];
    static double w[2048];
    if (check == cpu_checks && memcmp(at, i + 1, sizeof(at)) == 0) return w;
    check = cpu_checks;
    memcpy(at, i + 1, sizeof(at));
    const struct ggml_tensor * sinks = node->src[2];
    const double sink = sinks ? cpu_get(sinks, i[2], 0, 0, 0) : -INFINITY;
    double max = sink, sum = 0.0;
    for (int64_t k = 0; k < node->ne[0]; k++) {
        w[k] = scaled(node, k, i);
        max = fmax(max, w[k]);
    }
    for (int64_t k = 0; k < node->ne[0]; k++) {
        w[k] = isinf(max) ? 0.0 : exp(w[k] - max);
        sum += w[k];
    }
    sum += isinf(max) ? 1.0 : exp(sink - max);
    for (int64_t k = 0; k < node->ne[0]; k++)
        w[k] /= sum;
    return w;
}

static double softmax(const struct ggml_tensor * node, const int64_t * i) {
    return row_of(node, i)[i[0]];
}

static double masked(const struct ggml_tensor * node, const int64_t * i) {
    if (i[0] <= node->op_params[0] + i[1]) return cpu_get(node->src[0], i[0], i[1], i[2], i[3]);
    return node->op == GGML_OP_DIAG_MASK_INF ? -INFINITY : 0.0;
}

static const struct cpu_oracle close_to = { softmax, 5e-6, 1e-12 };

static const int64_t shapes[][4] = {
    { 1, 1, 1, 1 }, { 7, 5, 3, 2 }, { 130, 3, 12, 1 }, { 1030, 3, 2, 1 }, { 64, 64, 4, 1 }, { 5, 0, 2, 1 },
};

static void masks_sinks_and_slopes(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * 8; k += cpu_step(6 * 8)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * ne = shapes[k % 6];
        const int kind = k / 6; // bit 0: mask, bit 1: f16 mask, bit 2: sinks
        const int64_t ne_mask[] = { ne[0], ne[1] + (kind & 2), ne[2] % 2 == 0 ? 2 : 1, ne[3] };
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -6.0f, 6.0f);
        struct ggml_tensor * m = !(kind & 1) ? NULL
                                             : cpu_source(&t, kind & 2 ? GGML_TYPE_F16 : GGML_TYPE_F32,
                                                          ne_mask, CPU_DENSE, -3.0f, 0.0f);
        struct ggml_tensor * y = ggml_soft_max_ext(t.ctx, x, m, 0.7f, m && k % 2 ? 8.0f : 0.0f);
        assert_int_equal(y->op, GGML_OP_SOFT_MAX);
        if (kind & 4) {
            const int64_t ne_sinks[] = { ne[2], 1, 1, 1 };
            ggml_soft_max_add_sinks(y, cpu_source(&t, GGML_TYPE_F32, ne_sinks, CPU_DENSE, -3.0f, 9.0f));
        }
        cpu_check(&t, y, close_to);
        cpu_check(&t, ggml_soft_max_inplace(t.ctx, x), close_to);
        cpu_test_free(&t);
    }
}

static void a_fully_masked_row_gives_zeros(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 20, 3, 2, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -6.0f, 6.0f);
    struct ggml_tensor * m = cpu_source(&t, GGML_TYPE_F16, ne, CPU_DENSE, -1.0f, 0.0f);
    for (int64_t i = 0; i < 20; i++) {
        cpu_put(m, (const int64_t[]){ i, 1, 0, 0 }, -INFINITY);
        if (i > 4) cpu_put(m, (const int64_t[]){ i, 2, 1, 0 }, -INFINITY);
    }
    struct ggml_tensor * y = ggml_soft_max_ext(t.ctx, x, m, 1.0f, 0.0f);
    cpu_check(&t, y, close_to);
    assert_true(cpu_get(y, 3, 1, 0, 0) == 0.0);
    assert_true(cpu_get(y, 3, 2, 1, 0) > 0.0);
    cpu_test_free(&t);
}

static void diagonals(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * CPU_LAYOUTS; k += cpu_step(6 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, shapes[k % 6], (enum cpu_layout)(k / 6), -6.0f, 6.0f);
        const struct cpu_oracle exact = { masked, 0.0, 0.0 };
        struct ggml_tensor * y = ggml_diag_mask_inf(t.ctx, x, k % 3);
        struct ggml_tensor * z = ggml_diag_mask_zero(t.ctx, x, 600);
        assert_int_equal(y->op, GGML_OP_DIAG_MASK_INF);
        assert_int_equal(z->op, GGML_OP_DIAG_MASK_ZERO);
        cpu_check(&t, y, exact);
        cpu_check(&t, z, exact);
        cpu_check(&t, ggml_diag_mask_inf_inplace(t.ctx, x, 2), exact);
        cpu_test_free(&t);
    }
}

static double back(const struct ggml_tensor * node, const int64_t * i) {
    const struct ggml_tensor * g = node->src[0];
    const struct ggml_tensor * p = node->src[1];
    double sum = 0.0;
    for (int64_t k = 0; k < p->ne[0]; k++)
        sum += cpu_get(p, k, i[1], i[2], i[3]) * cpu_get(g, k, i[1], i[2], i[3]);
    return parameter(node, 0) * cpu_get(p, i[0], i[1], i[2], i[3]) *
           (cpu_get(g, i[0], i[1], i[2], i[3]) - sum);
}

static void gradients(void ** state) {
    (void) state;
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    const uint64_t seed = test_seed();
    const struct cpu_oracle near = { back, 1e-6, 1e-7 };
    for (int k = 0; k < 6 * 3 * CPU_LAYOUTS; k += cpu_step(6 * 3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum cpu_layout layout = (enum cpu_layout)(k / 18);
        struct ggml_tensor * g = cpu_source(&t, types[k / 6 % 3], shapes[k % 6], layout, -1.0f, 1.0f);
        struct ggml_tensor * p =
            cpu_source(&t, GGML_TYPE_F32, shapes[k % 6], (enum cpu_layout)((k + layout) % 4), 0.0f, 0.1f);
        struct ggml_tensor * y = ggml_soft_max_ext_back(t.ctx, g, p, 0.3f, 0.0f);
        assert_int_equal(y->op, GGML_OP_SOFT_MAX_BACK);
        cpu_check(&t, y, near);
        cpu_check(&t, ggml_soft_max_ext_back_inplace(t.ctx, g, p, 2.0f, 8.0f), near);
        cpu_test_free(&t);
    }
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F16, shapes[1], CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, shapes[1], CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_soft_max(t.ctx, x), "f16");
    cpu_refused(&t, ggml_diag_mask_inf(t.ctx, i, 0), "i32");
    cpu_refused(&t, ggml_soft_max_ext_back(t.ctx, x, i, 1.0f, 0.0f), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_sinks_and_slopes),
        cmocka_unit_test(a_fully_masked_row_gives_zeros),
        cmocka_unit_test(diagonals),
        cmocka_unit_test(gradients),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
