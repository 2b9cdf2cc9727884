// SPDX-License-Identifier: MIT
// MAP_CUSTOM1, MAP_CUSTOM2, MAP_CUSTOM3 and CUSTOM on the CPU: what the functions are called with.
#include "cpu_check.h"

#include <stdatomic.h>

// What the calls of one run saw. Rows are dealt out by ith and nth, as functions do.
struct seen {
    _Atomic int calls[16]; // by ith
    _Atomic int nth;
};

static void note(struct seen * s, int ith, int nth) {
    atomic_fetch_add(&s->calls[ith], 1);
    atomic_store(&s->nth, nth);
}

static void add_rows(struct ggml_tensor * y, struct ggml_tensor ** src, int n_src, int ith, int nth) {
    for (int64_t r = ith; r < ggml_nrows(y); r += nth) {
        for (int64_t k = 0; k < y->ne[0]; k++) {
            double sum = 1.0;
            for (int s = 0; s < n_src; s++)
                sum += (s + 1) * cpu_get(src[s], k, r, 0, 0);
            cpu_put(y, (const int64_t[]){ k, r, 0, 0 }, sum);
        }
    }
}

static void custom1(struct ggml_tensor * y, const struct ggml_tensor * a, int ith, int nth, void * data) {
    struct ggml_tensor * src[] = { (struct ggml_tensor *) a };
    note(data, ith, nth);
    add_rows(y, src, 1, ith, nth);
}

static void custom2(struct ggml_tensor * y, const struct ggml_tensor * a, const struct ggml_tensor * b,
                    int ith, int nth, void * data) {
    struct ggml_tensor * src[] = { (struct ggml_tensor *) a, (struct ggml_tensor *) b };
    note(data, ith, nth);
    add_rows(y, src, 2, ith, nth);
}

static void custom3(struct ggml_tensor * y, const struct ggml_tensor * a, const struct ggml_tensor * b,
                    const struct ggml_tensor * c, int ith, int nth, void * data) {
    struct ggml_tensor * src[] = { (struct ggml_tensor *) a, (struct ggml_tensor *) b,
                                   (struct ggml_tensor *) c };
    note(data, ith, nth);
    add_rows(y, src, 3, ith, nth);
}

static void custom(struct ggml_tensor * y, int ith, int nth, void * data) {
    note(data, ith, nth);
    add_rows(y, y->src, 4, ith, nth);
}

static const struct cpu_oracle exact = { oracle_custom, 0.0, 0.0 };
static const int64_t ne[] = { 6, 9, 1, 1 };

static void all_four(void ** state) {
    (void) state;
    for (int k = 0; k < CPU_LAYOUTS; k++) {
        struct cpu_test t = cpu_test_new(test_seed());
        struct seen seen = { 0 };
        struct ggml_tensor * x[4];
        for (int i = 0; i < 4; i++)
            x[i] = cpu_source(&t, GGML_TYPE_F32, ne, (enum cpu_layout)((k + i) % 4), -4.0f, 4.0f);
        struct ggml_tensor * y[] = {
            ggml_map_custom1(t.ctx, x[0], custom1, GGML_N_TASKS_MAX, &seen),
            ggml_map_custom2(t.ctx, x[0], x[1], custom2, 3, &seen),
            ggml_map_custom3(t.ctx, x[0], x[1], x[2], custom3, 1, &seen),
            ggml_custom_4d(t.ctx, GGML_TYPE_F32, 6, 9, 1, 1, x, 4, custom, GGML_N_TASKS_MAX, &seen),
            ggml_map_custom1_inplace(t.ctx, x[0], custom1, 2, &seen),
        };
        const enum ggml_op ops[] = { GGML_OP_MAP_CUSTOM1, GGML_OP_MAP_CUSTOM2, GGML_OP_MAP_CUSTOM3,
                                     GGML_OP_CUSTOM, GGML_OP_MAP_CUSTOM1 };
        for (int i = 0; i < 5; i++) {
            assert_int_equal(y[i]->op, ops[i]);
            cpu_check(&t, y[i], exact);
        }
        cpu_test_free(&t);
    }
}

// min(n_tasks, threads) calls, each ith once.
static void every_task_once(void ** state) {
    (void) state;
    static const int cases[][3] = {
        { GGML_N_TASKS_MAX, 5, 5 }, { 2, 5, 2 }, { 9, 4, 4 }, { 1, 3, 1 }, { GGML_N_TASKS_MAX, 1, 1 }
    };
    for (int k = 0; k < 5; k++) {
        struct cpu_test t = cpu_test_new(1);
        struct seen seen = { 0 };
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -4.0f, 4.0f);
        struct ggml_tensor * y = ggml_map_custom1(t.ctx, x, custom1, cases[k][0], &seen);
        cpu_allocate(&t);
        assert_int_equal(cpu_compute(y, cases[k][1]), GGML_STATUS_SUCCESS);
        assert_int_equal(seen.nth, cases[k][2]);
        for (int i = 0; i < 16; i++)
            assert_int_equal(seen.calls[i], i < cases[k][2]);
        cpu_test_free(&t);
    }
}

// Any type is the function's own matter.
static void fill_bytes(struct ggml_tensor * y, int ith, int nth, void * data) {
    (void) nth;
    if (ith == 0) memset(y->data, *(const int *) data, ggml_nbytes(y));
}

static void any_type(void ** state) {
    (void) state;
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        if (ggml_blck_size((enum ggml_type) type) == 0) continue;
        struct cpu_test t = cpu_test_new(1);
        int byte = 0x37;
        struct ggml_tensor * y =
            ggml_custom_4d(t.ctx, (enum ggml_type) type, 256, 2, 1, 1, NULL, 0, fill_bytes, 1, &byte);
        cpu_run(&t, y);
        for (size_t i = 0; i < ggml_nbytes(y); i++)
            assert_int_equal(((const char *) y->data)[i], 0x37);
        cpu_test_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_four),
        cmocka_unit_test(every_task_once),
        cmocka_unit_test(any_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
