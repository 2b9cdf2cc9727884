// SPDX-License-Identifier: MIT
// WIN_PART WIN_UNPART GET_REL_POS ADD_REL_POS on the CPU.
#include "cpu_check.h"

static const struct cpu_oracle part = { oracle_win_part, 0.0, 0.0 }, unpart = { oracle_win_unpart, 0.0, 0.0 },
                               get = { oracle_get_rel_pos, 0.0, 0.0 },
                               add = { oracle_add_rel_pos, 1e-7, 1e-7 };

static const int64_t images[][4] = {
    { 1, 1, 1, 1 }, { 3, 12, 8, 1 }, { 600, 5, 7, 1 }, { 33, 14, 9, 1 }, { 2, 40, 40, 1 },
};

static void windows(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * CPU_LAYOUTS * 4; k += cpu_step(5 * CPU_LAYOUTS * 4)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int w = (int) (const int64_t[]){ 1, 2, 5, 14 }[k / 5 / CPU_LAYOUTS];
        struct ggml_tensor * x =
            cpu_source(&t, GGML_TYPE_F32, images[k % 5], (enum cpu_layout)(k / 5 % CPU_LAYOUTS), -1.0f, 1.0f);
        struct ggml_tensor * y = ggml_win_part(t.ctx, x, w);
        assert_int_equal(y->op, GGML_OP_WIN_PART);
        cpu_check(&t, y, part);
        cpu_test_free(&t);
    }
}

static void windows_put_together(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 5 * CPU_LAYOUTS * 4; k += cpu_step(5 * CPU_LAYOUTS * 4)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t w = (const int64_t[]){ 1, 2, 5, 14 }[k / 5 / CPU_LAYOUTS];
        const int64_t * image = images[k % 5];
        const int64_t n = ((image[1] + w - 1) / w) * ((image[2] + w - 1) / w);
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ image[0], w, w, n },
                                            (enum cpu_layout)(k / 5 % CPU_LAYOUTS), -1.0f, 1.0f);
        struct ggml_tensor * y = ggml_win_unpart(t.ctx, x, (int) image[1], (int) image[2], (int) w);
        assert_int_equal(y->op, GGML_OP_WIN_UNPART);
        cpu_check(&t, y, unpart);
        cpu_test_free(&t);
    }
}

static void positions(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int k = 0; k < 3 * CPU_LAYOUTS; k += cpu_step(3 * CPU_LAYOUTS)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int n = 1 + (int) test_rng_below(&t.rng, 20);
        const int64_t ne[] = { (const int64_t[]){ 1, 19, 700 }[k % 3], 2 * n - 1, 1, 1 };
        struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F16, ne, (enum cpu_layout)(k / 3), -1.0f, 1.0f);
        struct ggml_tensor * y = ggml_get_rel_pos(t.ctx, x, n, n);
        assert_int_equal(y->op, GGML_OP_GET_REL_POS);
        cpu_check(&t, y, get);
        cpu_test_free(&t);
    }
}

// The bits of bf16 are moved into a result that is called f16.
static void positions_of_bf16_keep_their_bits(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    struct ggml_tensor * x =
        cpu_source(&t, GGML_TYPE_BF16, (const int64_t[]){ 10, 9, 1, 1 }, CPU_PADDED, -1.0f, 1.0f);
    struct ggml_tensor * y = ggml_get_rel_pos(t.ctx, x, 5, 5);
    cpu_run(&t, y);
    int64_t i[4] = { 0 };
    do
        assert_memory_equal(cpu_at(y, i[0], i[1], i[2], 0), cpu_at(x, i[0], 4 - i[1] + i[2], 0, 0), 2);
    while (cpu_next(y, i));
    cpu_test_free(&t);
}

static void added_positions(void ** state) {
    (void) state;
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    static const int64_t sizes[][4] = { { 1, 1, 1, 1 }, { 5, 4, 5, 1 }, { 31, 3, 2, 2 }, { 2, 9, 30, 3 } };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 4 * 3 * 2; k += cpu_step(4 * 3 * 2)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        const int64_t * s = sizes[k / 6];
        const int64_t ne[] = { s[0] * s[0], s[1] * s[2], s[3], 1 };
        struct ggml_tensor * a = cpu_source(&t, types[k % 3], ne, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * w = cpu_source(&t, GGML_TYPE_F32, s, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * h = cpu_source(&t, GGML_TYPE_F32, s, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * y =
            k / 3 % 2 ? ggml_add_rel_pos_inplace(t.ctx, a, w, h) : ggml_add_rel_pos(t.ctx, a, w, h);
        assert_int_equal(y->op, GGML_OP_ADD_REL_POS);
        cpu_check(&t, y, add);
        cpu_test_free(&t);
    }
}

static void other_types_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 4, 3, 1, 1 }, four[] = { 4, 1, 1, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_get_rel_pos(t.ctx, x, 2, 2), "f32");
    struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_I32, four, CPU_DENSE, -9.0f, 9.0f);
    struct ggml_tensor * w =
        cpu_source(&t, GGML_TYPE_F32, (const int64_t[]){ 2, 1, 1, 1 }, CPU_DENSE, -1.0f, 1.0f);
    cpu_refused(&t, ggml_add_rel_pos(t.ctx, a, w, w), "i32");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),         cmocka_unit_test(windows_put_together),
        cmocka_unit_test(positions),       cmocka_unit_test(positions_of_bf16_keep_their_bits),
        cmocka_unit_test(added_positions), cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
