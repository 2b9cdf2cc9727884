// SPDX-License-Identifier: MIT
// ROPE and ROPE_BACK on the CPU: all modes, interpolation, factors, sections, partial rows.
#include "cpu_check.h"

static const struct cpu_oracle close_to = { oracle_rope, 0.0, 1e-6 };

static struct ggml_tensor * positions(struct cpu_test * t, int64_t n, int64_t below) {
    struct ggml_tensor * x =
        cpu_source(t, GGML_TYPE_I32, (const int64_t[]){ n, 1, 1, 1 }, CPU_DENSE, 0.0f, 1.0f);
    for (int64_t i = 0; i < n; i++)
        ((int32_t *) x->data)[i] = (int32_t) test_rng_below(&t->rng, below);
    return x;
}

static const struct {
    int mode, n_dims, offset;
    bool factors;
    float scale, ext;
} rows[] = {
    { GGML_ROPE_TYPE_NORMAL, 40, 0, false, 1.0f, 0.0f }, { GGML_ROPE_TYPE_NORMAL, 24, 8, true, 0.5f, 0.0f },
    { GGML_ROPE_TYPE_NEOX, 40, 0, false, 0.25f, 1.0f },  { GGML_ROPE_TYPE_NEOX, 24, 4, true, 1.0f, 0.0f },
    { GGML_ROPE_TYPE_NORMAL, 40, 0, true, 0.25f, 0.7f }, { GGML_ROPE_TYPE_MROPE, 40, 0, false, 1.0f, 0.0f },
    { GGML_ROPE_TYPE_MROPE, 32, 0, true, 0.5f, 1.0f },   { GGML_ROPE_TYPE_IMROPE, 40, 0, false, 1.0f, 0.0f },
    { GGML_ROPE_TYPE_VISION, 20, 0, false, 1.0f, 0.0f },
};

static struct ggml_tensor * build(struct cpu_test * t, size_t row, struct ggml_tensor * x, bool back) {
    const int64_t n_positions = rows[row].mode & 8 ? 4 * x->ne[2] : x->ne[2];
    struct ggml_tensor * b = positions(t, n_positions, 3000);
    struct ggml_tensor * c = NULL;
    if (rows[row].factors)
        c = cpu_source(t, GGML_TYPE_F32, (const int64_t[]){ 20, 1, 1, 1 }, CPU_DENSE, 1.0f, 8.0f);
    int sections[] = { 6, 5, 4, 3 };
    if (rows[row].mode & 8) {
        return (back ? ggml_rope_multi_back
                     : ggml_rope_multi)(t->ctx, x, b, c, rows[row].n_dims, sections, rows[row].mode, 2048,
                                        10000.0f, rows[row].scale, rows[row].ext, 1.1f, 32.0f, 1.0f);
    }
    struct ggml_tensor * y = (back ? ggml_rope_ext_back : ggml_rope_ext)(
        t->ctx, x, b, c, rows[row].n_dims, rows[row].mode, 2048, 10000.0f, rows[row].scale, rows[row].ext,
        1.1f, 32.0f, 1.0f);
    return rows[row].offset ? ggml_rope_set_offset(y, rows[row].offset) : y;
}

static void all_modes(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (size_t k = 0; k < 9 * 2 * 3; k += (size_t) cpu_step(9 * 2 * 3)) {
        struct cpu_test t = cpu_test_new(seed + k);
        const int64_t ne[] = { 40, 3, 5, 2 };
        struct ggml_tensor * x = cpu_source(&t, k / 9 % 2 ? GGML_TYPE_F16 : GGML_TYPE_F32, ne,
                                            (enum cpu_layout)(k / 18), -1.0f, 1.0f);
        struct ggml_tensor * y = build(&t, k % 9, x, false);
        struct ggml_tensor * z = build(&t, k % 9, x, true);
        assert_int_equal(y->op, GGML_OP_ROPE);
        assert_int_equal(z->op, GGML_OP_ROPE_BACK);
        cpu_check(&t, y, close_to);
        cpu_check(&t, z, close_to);
        cpu_test_free(&t);
    }
}

// Any width, type and layout, also in place: what lies beside a view's elements stays.
static void random_rope(struct cpu_test * t) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    static const int modes[] = { GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE,
                                 GGML_ROPE_TYPE_IMROPE, GGML_ROPE_TYPE_VISION };
    const int mode = modes[test_rng_below(&t->rng, 5)];
    const int half = 1 + (int) test_rng_below(&t->rng, 65);
    const bool vision = mode == GGML_ROPE_TYPE_VISION, multi = (mode & GGML_ROPE_TYPE_MROPE) != 0;
    const int64_t rest = vision ? 2 * half : test_rng_below(&t->rng, 20);
    const int64_t ne[] = { 2 * half + rest, 1 + test_rng_below(&t->rng, 4), 1 + test_rng_below(&t->rng, 6),
                           1 + test_rng_below(&t->rng, 2) };
    struct ggml_tensor * x = cpu_source(t, types[test_rng_below(&t->rng, 3)], ne,
                                        (enum cpu_layout) test_rng_below(&t->rng, CPU_LAYOUTS), -1.0f, 1.0f);
    struct ggml_tensor * b = positions(t, multi ? 4 * ne[2] : ne[2], 5000);
    const int64_t ne_c[] = { 2 * half, 1, 1, 1 };
    struct ggml_tensor * c =
        test_rng_below(&t->rng, 2) ? cpu_source(t, GGML_TYPE_F32, ne_c, CPU_DENSE, 0.5f, 8.0f) : NULL;
    int sections[4];
    for (int i = 0; i < 4; i++)
        sections[i] = (int) test_rng_below(&t->rng, 9) + (i == 0);
    const float ext = test_rng_below(&t->rng, 2) ? test_rng_float(&t->rng, 0.1f, 1.0f) : 0.0f;
    const bool in_place = test_rng_below(&t->rng, 2);
    struct ggml_tensor * y =
        multi ? (in_place ? ggml_rope_multi_inplace : ggml_rope_multi)(
                    t->ctx, x, b, c, 2 * half, sections, mode, 4096, 1e4f, 0.5f, ext, 1.2f, 32.0f, 1.0f)
              : (in_place ? ggml_rope_ext_inplace : ggml_rope_ext)(t->ctx, x, b, c, 2 * half, mode, 4096,
                                                                   1e4f, 0.5f, ext, 1.2f, 32.0f, 1.0f);
    if (!vision && test_rng_below(&t->rng, 2)) y = ggml_rope_set_offset(y, (int) (rest / 2 * 2));
    cpu_check(t, y, (struct cpu_oracle){ oracle_rope, 0.0, 1e-6 + cpu_rounding(y->type) });
}

static void all_widths_and_layouts(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int64_t k = 0; k < test_rounds(4000); k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        random_rope(&t);
        cpu_test_free(&t);
    }
}

static void in_place_and_long_rows(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 1040, 2, 3, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
    cpu_check(&t, ggml_rope_inplace(t.ctx, x, positions(&t, 3, 100), 1040, GGML_ROPE_TYPE_NEOX), close_to);
    cpu_test_free(&t);
}

// Angles are formed in double: at a million positions the result is still right.
static void far_positions(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const int64_t ne[] = { 64, 1, 8, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
    cpu_check(&t, ggml_rope(t.ctx, x, positions(&t, 8, 1000000), 64, GGML_ROPE_TYPE_NORMAL), close_to);
    cpu_test_free(&t);
}

static void bad_parameters_are_refused(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(1);
    const int64_t ne[] = { 40, 1, 4, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F32, ne, CPU_DENSE, -1.0f, 1.0f);
    struct ggml_tensor * b = positions(&t, 4, 10);
    cpu_refused(&t, ggml_rope(t.ctx, x, b, 42, 0), "channels");
    cpu_refused(&t, ggml_rope(t.ctx, x, b, 13, 0), "even");
    cpu_refused(&t, ggml_rope(t.ctx, x, b, 20, 4), "mode 4");
    int none[4] = { 0 };
    struct ggml_tensor * b4 = positions(&t, 16, 10);
    cpu_refused(&t,
                ggml_rope_multi(t.ctx, x, b4, NULL, 40, none, GGML_ROPE_TYPE_MROPE, 0, 1e4f, 1, 0, 1, 0, 0),
                "sections");
    int sections[4] = { 5, 5, 5, 5 };
    cpu_refused(
        &t, ggml_rope_multi(t.ctx, x, b4, NULL, 16, sections, GGML_ROPE_TYPE_VISION, 0, 1e4f, 1, 0, 1, 0, 0),
        "half");
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_modes),
        cmocka_unit_test(all_widths_and_layouts),
        cmocka_unit_test(in_place_and_long_rows),
        cmocka_unit_test(far_positions),
        cmocka_unit_test(bad_parameters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
