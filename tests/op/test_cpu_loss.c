// SPDX-License-Identifier: MIT
// CROSS_ENTROPY_LOSS, its gradient, OPT_STEP_ADAMW and OPT_STEP_SGD on the CPU.
#include "cpu_check.h"

static const int64_t shapes[][4] = { { 1, 1, 1, 1 }, { 10, 7, 1, 1 }, { 1300, 3, 2, 1 }, { 5, 400, 1, 2 } };

static void losses(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * 2 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const enum ggml_type type = k / 4 % 2 ? GGML_TYPE_F16 : GGML_TYPE_F32;
        const int64_t one[] = { 1, 1, 1, 1 };
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, shapes[k % 4], (enum cpu_layout)(k / 8), -9.0f, 9.0f);
        struct ggml_tensor * labels =
            cpu_source(&t, type, shapes[k % 4], (enum cpu_layout)((k + 1) % 4), 0.0f, 0.1f);
        struct ggml_tensor * g = cpu_source(&t, GGML_TYPE_F32, one, CPU_DENSE, 1.0f, 2.0f);
        struct ggml_tensor * y = ggml_cross_entropy_loss(t.ctx, x, labels);
        struct ggml_tensor * back = ggml_cross_entropy_loss_back(t.ctx, g, x, labels);
        assert_int_equal(y->op, GGML_OP_CROSS_ENTROPY_LOSS);
        assert_int_equal(back->op, GGML_OP_CROSS_ENTROPY_LOSS_BACK);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_cross_entropy, 2e-6, 1e-7 });
        cpu_check(&t, back, (struct cpu_oracle){ oracle_cross_entropy_back, 2e-6, 1e-7 });
        cpu_test_free(&t);
    }
}

// Large logits do not overflow; a class that cannot be (-infinity) and is not the label costs nothing.
static void extreme_logits(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    struct ggml_tensor * x = ggml_new_tensor_2d(t.ctx, GGML_TYPE_F32, 3, 2);
    struct ggml_tensor * labels = ggml_new_tensor_2d(t.ctx, GGML_TYPE_F32, 3, 2);
    struct ggml_tensor * g = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 1);
    cpu_allocate(&t);
    const float logits[] = { 1e30f, 0.0f, -1e30f, 1.0f, -INFINITY, 1.0f };
    const float wanted[] = { 1.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f };
    memcpy(x->data, logits, sizeof(logits));
    memcpy(labels->data, wanted, sizeof(wanted));
    *(float *) g->data = 2.0f;
    cpu_check(&t, ggml_cross_entropy_loss(t.ctx, x, labels),
              (struct cpu_oracle){ oracle_cross_entropy, 2e-6, 0.0 });
    cpu_check(&t, ggml_cross_entropy_loss_back(t.ctx, g, x, labels),
              (struct cpu_oracle){ oracle_cross_entropy_back, 2e-6, 0.0 });
    cpu_test_free(&t);
}

// Weights, gradient, both moments: the operands of a step, and what they must be afterwards.
struct step {
    struct ggml_tensor * x[4];
    double * expected[3]; // w, m, v
    char * before[4];
};

static void start(struct cpu_test * t, struct step * s, const int64_t * ne, enum cpu_layout layout) {
    for (int i = 0; i < 4; i++) {
        s->x[i] = cpu_source(t, GGML_TYPE_F32, ne, (enum cpu_layout)((layout + i) % 4), i == 3 ? 0.0f : -1.0f,
                             1.0f);
        struct ggml_tensor * base = cpu_base(s->x[i]);
        s->before[i] = malloc(ggml_nbytes(base) + 1);
        memcpy(s->before[i], base->data, ggml_nbytes(base));
    }
    for (int i = 0; i < 3; i++)
        s->expected[i] = malloc((size_t) ggml_nelements(s->x[0]) * sizeof(double) + 1);
    ggml_set_param(s->x[0]);
}

static void end(struct step * s) {
    for (int i = 0; i < 4; i++)
        free(s->before[i]);
    for (int i = 0; i < 3; i++)
        free(s->expected[i]);
}

static void compare(const struct ggml_tensor * x, const double * expected, const char * what) {
    int64_t i[4] = { 0 };
    for (int64_t k = 0; k < ggml_nelements(x); k++, cpu_next(x, i)) {
        const double v = cpu_get(x, i[0], i[1], i[2], i[3]);
        if (fabs(v - expected[k]) > 1e-6 * fabs(expected[k]) + 1e-7)
            fail_msg("%s: %g, not %g", what, v, expected[k]);
    }
}

// Once with each of these numbers of threads, from the same state; the moments are compared as well.
static void run_step(struct step * s, struct ggml_tensor * y, int n_moments) {
    for (int n = 1; n <= 5; n += 2) {
        for (int i = 0; i < 4; i++)
            memcpy(cpu_base(s->x[i])->data, s->before[i], ggml_nbytes(cpu_base(s->x[i])));
        if (cpu_compute(y, n) != GGML_STATUS_SUCCESS) fail_msg("%s", ggml_ext_last_error());
        compare(s->x[0], s->expected[0], "weight");
        for (int i = 0; i < n_moments; i++)
            compare(s->x[2 + i], s->expected[1 + i], "moment");
    }
}

static const int64_t step_shapes[][4] = {
    { 1, 1, 1, 1 }, { 7, 5, 3, 2 }, { 1100, 30, 1, 1 }, { 4, 0, 2, 1 }
};

static void adamw(void ** state) {
    (void) state;
    static const float kinds[][7] = { { 0.01f, 0.9f, 0.999f, 1e-8f, 0.1f, 2.5f, 50.0f },
                                      { 0.3f, 0.6f, 0.8f, 0.2f, 0.05f, 1.5f, 3.0f } };
    for (int k = 0; k < 4 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(test_seed());
        struct step s;
        start(&t, &s, step_shapes[k % 4], (enum cpu_layout)(k / 4));
        struct ggml_tensor * params = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 7);
        struct ggml_tensor * y = ggml_opt_step_adamw(t.ctx, s.x[0], s.x[1], s.x[2], s.x[3], params);
        assert_int_equal(y->op, GGML_OP_OPT_STEP_ADAMW);
        cpu_allocate(&t);
        memcpy(params->data, kinds[k % 2], sizeof(kinds[0]));
        int64_t i[4] = { 0 };
        for (int64_t e = 0; e < ggml_nelements(y); e++, cpu_next(y, i)) {
            s.expected[0][e] = oracle_adamw(y, i);
            s.expected[1][e] = oracle_adamw_m(y, i);
            s.expected[2][e] = oracle_adamw_v(y, i);
        }
        run_step(&s, y, 2);
        end(&s);
        cpu_test_free(&t);
    }
}

static void sgd(void ** state) {
    (void) state;
    for (int k = 0; k < 4 * CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(test_seed());
        struct step s;
        start(&t, &s, step_shapes[k % 4], (enum cpu_layout)(k / 4));
        struct ggml_tensor * params = ggml_new_tensor_1d(t.ctx, GGML_TYPE_F32, 2);
        struct ggml_tensor * y = ggml_opt_step_sgd(t.ctx, s.x[0], s.x[1], params);
        assert_int_equal(y->op, GGML_OP_OPT_STEP_SGD);
        cpu_allocate(&t);
        ((float *) params->data)[0] = 0.1f;
        ((float *) params->data)[1] = 0.01f;
        int64_t i[4] = { 0 };
        for (int64_t e = 0; e < ggml_nelements(y); e++, cpu_next(y, i))
            s.expected[0][e] = oracle_sgd(y, i);
        run_step(&s, y, 0);
        end(&s);
        cpu_test_free(&t);
    }
}

static void what_cannot_be_is_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 4, 2, 1, 1 }, two[] = { 2, 1, 1, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, 0.0f, 1.0f);
    struct ggml_tensor * i = cpu_source(&t, GGML_TYPE_I32, ne, CPU_DENSE, 0.0f, 1.0f);
    struct ggml_tensor * params = cpu_source(&t, GGML_TYPE_F32, two, CPU_DENSE, 0.0f, 1.0f);
    cpu_refused(&t, ggml_cross_entropy_loss(t.ctx, x, i), "src1: type i32");
    ggml_set_param(x);
    cpu_refused(&t, ggml_opt_step_sgd(t.ctx, x, i, params), "src1: type i32");
    struct ggml_tensor * y = ggml_opt_step_sgd(t.ctx, x, x, params);
    assert_true(ggml_backend_supports_op(t.backend, y));
    y->view_src = NULL;
    cpu_refused(&t, y, "own memory");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses),
        cmocka_unit_test(extreme_logits),
        cmocka_unit_test(adamw),
        cmocka_unit_test(sgd),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
