// SPDX-License-Identifier: MIT
// FLASH_ATTN_EXT on the CPU: heads that share keys, masks, slopes, caps, sinks, K and V of many types.
#include "cpu_check.h"

static const struct cpu_oracle close_to = { oracle_attention, 8e-6, 8e-6 };

struct attention {
    int64_t d, dv, n, m, heads, k_heads, v_heads, sequences;
};

static const struct attention shapes[] = {
    { 1, 1, 1, 1, 1, 1, 1, 1 },     { 32, 32, 9, 70, 4, 2, 4, 2 }, { 40, 24, 1, 33, 6, 3, 1, 1 },
    { 64, 64, 17, 31, 2, 1, 1, 1 }, { 8, 600, 3, 5, 1, 1, 1, 2 },  { 16, 16, 8, 0, 2, 2, 2, 1 },
};

enum { MASK = 1, BIAS = 2, CAP = 4, SINKS = 8 };

static struct ggml_tensor * build(struct cpu_test * t, const struct attention * a,
                                  const enum ggml_type * types, int features, enum cpu_layout layout) {
    const int64_t ne_q[] = { a->d, a->n, a->heads, a->sequences },
                  ne_k[] = { a->d, a->m, a->k_heads, a->sequences };
    const int64_t ne_v[] = { a->dv, a->m, a->v_heads, a->sequences };
    const int64_t ne_mask[] = { a->m, a->n + 3, a->heads % 2 == 0 ? 2 : 1, 1 },
                  ne_sinks[] = { a->heads, 1, 1, 1 };
    struct ggml_tensor * q = cpu_source(t, GGML_TYPE_F32, ne_q, layout, -2.0f, 2.0f);
    struct ggml_tensor * k = cpu_source(t, types[0], ne_k, layout, -2.0f, 2.0f);
    struct ggml_tensor * v = cpu_source(t, types[1], ne_v, layout, -2.0f, 2.0f);
    struct ggml_tensor * mask =
        features & MASK ? cpu_source(t, GGML_TYPE_F16, ne_mask, CPU_DENSE, -4.0f, 0.0f) : NULL;
    for (int64_t i = 0; mask && i < a->m; i++) { // the second query sees nothing, the first little
        if (a->n > 1) cpu_put(mask, (const int64_t[]){ i, 1, 0, 0 }, -INFINITY);
        if (i % 3) cpu_put(mask, (const int64_t[]){ i, 0, 0, 0 }, -INFINITY);
    }
    struct ggml_tensor * y = ggml_flash_attn_ext(t->ctx, q, k, v, mask, 0.3f, features & BIAS ? 8.0f : 0.0f,
                                                 features & CAP ? 5.0f : 0.0f);
    if (features & SINKS) {
        ggml_flash_attn_ext_add_sinks(y, cpu_source(t, GGML_TYPE_F32, ne_sinks, CPU_DENSE, -3.0f, 3.0f));
    }
    return y;
}

static void shapes_and_features(void ** state) {
    (void) state;
    static const enum ggml_type types[][2] = { { GGML_TYPE_F32, GGML_TYPE_F32 },
                                               { GGML_TYPE_F16, GGML_TYPE_F16 },
                                               { GGML_TYPE_BF16, GGML_TYPE_F32 } };
    static const int features[] = { 0, MASK, MASK | BIAS, CAP, SINKS, MASK | BIAS | CAP | SINKS };
    const uint64_t seed = test_seed();
    for (int k = 0; k < 6 * 3 * 6; k += cpu_step(6 * 3 * 6)) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        struct ggml_tensor * y =
            build(&t, &shapes[k % 6], types[k / 6 % 3], features[k / 18], (enum cpu_layout)(k % 3));
        if (!ggml_ext_tensor_valid(y)) fail_msg("%s", ggml_ext_last_error());
        assert_int_equal(y->op, GGML_OP_FLASH_ATTN_EXT);
        cpu_check(&t, y, close_to);
        cpu_test_free(&t);
    }
}

static void quantised_caches(void ** state) {
    (void) state;
    const struct attention a = { 256, 256, 3, 40, 2, 1, 1, 1 };
    const uint64_t seed = test_seed();
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct ggml_type_traits * traits = ggml_get_type_traits((enum ggml_type) type);
        if (!traits->is_quantized || !traits->to_float) continue;
        struct cpu_test t = cpu_test_new(seed + (uint64_t) type);
        const enum ggml_type types[] = { (enum ggml_type) type, (enum ggml_type) type };
        struct ggml_tensor * y = build(&t, &a, types, MASK, CPU_PERMUTED);
        cpu_check(&t, y, (struct cpu_oracle){ oracle_attention, 2e-5, 2e-5 });
        cpu_test_free(&t);
    }
}

// f32, or any type with a decoder.
static enum ggml_type random_type(struct cpu_test * t) {
    for (;;) {
        const enum ggml_type type = (enum ggml_type) test_rng_below(&t->rng, GGML_TYPE_COUNT);
        const struct ggml_type_traits * traits = ggml_get_type_traits(type);
        if (type == GGML_TYPE_F32 || (traits->to_float && traits->blck_size > 0)) return type;
    }
}

static int64_t random_width(struct cpu_test * t, enum ggml_type type) {
    const int64_t block = ggml_blck_size(type);
    return block == 1 ? 1 + test_rng_below(&t->rng, 130) : block * (1 + test_rng_below(&t->rng, 256 / block));
}

static struct ggml_tensor * random_source(struct cpu_test * t, enum ggml_type type, const int64_t * ne) {
    return cpu_source(t, type, ne, (enum cpu_layout) test_rng_below(&t->rng, CPU_LAYOUTS), -1.5f, 1.5f);
}

// A mask that repeats over heads and sequences, with more rows than there are queries.
static struct ggml_tensor * random_mask(struct cpu_test * t, const struct attention * a) {
    const int64_t ne[] = { a->m, a->n + test_rng_below(&t->rng, 3),
                           test_rng_below(&t->rng, 2) ? a->k_heads : 1,
                           test_rng_below(&t->rng, 2) ? a->sequences : 1 };
    struct ggml_tensor * mask = cpu_source(t, GGML_TYPE_F16, ne, CPU_DENSE, -3.0f, 1.0f);
    const int64_t in_ten = test_rng_below(&t->rng, 11); // from nothing to everything is masked
    const int64_t hidden = test_rng_below(&t->rng, 2) ? test_rng_below(&t->rng, a->m + 1) : 0; // from all
    int64_t i[4] = { 0 };
    if (ggml_nelements(mask) > 0) {
        do {
            if (i[0] < hidden || test_rng_below(&t->rng, 10) < in_ten) cpu_put(mask, i, -INFINITY);
        } while (cpu_next(mask, i));
    }
    return mask;
}

static void random_attention(struct cpu_test * t) {
    const enum ggml_type type_k = random_type(t), type_v = random_type(t);
    struct attention a = { .d = random_width(t, type_k), .dv = random_width(t, type_v) };
    a.n = 1 + test_rng_below(&t->rng, 20);
    a.m = test_rng_below(&t->rng, 70);
    a.k_heads = 1 + test_rng_below(&t->rng, 3);
    a.heads = a.k_heads * (1 + test_rng_below(&t->rng, 3));
    a.v_heads = test_rng_below(&t->rng, 2) ? a.k_heads : a.heads;
    a.sequences = 1 + test_rng_below(&t->rng, 2);
    const int features = (int) test_rng_below(&t->rng, 16);
    struct ggml_tensor * q =
        random_source(t, GGML_TYPE_F32, (const int64_t[]){ a.d, a.n, a.heads, a.sequences });
    struct ggml_tensor * k = random_source(t, type_k, (const int64_t[]){ a.d, a.m, a.k_heads, a.sequences });
    struct ggml_tensor * v = random_source(t, type_v, (const int64_t[]){ a.dv, a.m, a.v_heads, a.sequences });
    struct ggml_tensor * mask = features & (MASK | BIAS) ? random_mask(t, &a) : NULL;
    struct ggml_tensor * y = ggml_flash_attn_ext(t->ctx, q, k, v, mask, 0.2f, features & BIAS ? 8.0f : 0.0f,
                                                 features & CAP ? 5.0f : 0.0f);
    if (features & SINKS) {
        const int64_t ne[] = { a.heads, 1, 1, 1 };
        ggml_flash_attn_ext_add_sinks(y, cpu_source(t, GGML_TYPE_F32, ne, CPU_DENSE, -3.0f, 3.0f));
    }
    if (test_rng_below(&t->rng, 2)) ggml_flash_attn_ext_set_n_kv_max(y, (int32_t) a.m); // a hint
    cpu_check(t, y, (struct cpu_oracle){ oracle_attention, 2e-5, 2e-5 });
}

static void all_types_and_layouts(void ** state) {
    (void) state;
    const uint64_t seed = test_seed();
    for (int64_t k = 0; k < test_rounds(600); k++) {
        struct cpu_test t = cpu_test_new(seed + (uint64_t) k);
        random_attention(&t);
        cpu_test_free(&t);
    }
}

static float * row_at(const struct ggml_tensor * t, int64_t i1, int64_t i2) {
    return (float *) cpu_at(t, 0, i1, i2, 0);
}

// Masked places of a cache may hold anything, NaN and infinity included: the last keys, or the first ones.
static void masked_keys_are_not_looked_at(void ** state) {
    (void) state;
    for (int k = 0; k < 2; k++) {
        struct cpu_test t = cpu_test_new(test_seed());
        const struct attention a = { 16, 16, 3, 70, 2, 1, 1, 1 };
        struct ggml_tensor * y =
            build(&t, &a, (const enum ggml_type[]){ GGML_TYPE_F32, GGML_TYPE_F32 }, MASK, CPU_DENSE);
        for (int64_t key = 0; key < a.m; key++) {
            const bool is_hidden = k ? key < 35 : key >= 40;
            if (key % 5 && !is_hidden) continue;
            for (int64_t n = 0; n < 2 * (a.n + 3); n++)
                cpu_put(y->src[3], (const int64_t[]){ key, n % (a.n + 3), n / (a.n + 3), 0 }, -INFINITY);
            row_at(y->src[1], key, 0)[key % 16] = key % 2 ? NAN : INFINITY;
            row_at(y->src[2], key, 0)[3] = NAN;
        }
        cpu_check(&t, y, close_to);
        assert_float_equal(row_at(y, 0, 1)[3], 0.0f, 0.0f); // the second query sees nothing
        cpu_test_free(&t);
    }
}

static void a_nan_among_the_scores_shows(void ** state) {
    (void) state;
    for (int sinks = 0; sinks < 2; sinks++) {
        struct cpu_test t = cpu_test_new(test_seed());
        const struct attention a = { 16, 16, 3, 40, 1, 1, 1, 1 };
        struct ggml_tensor * y = build(&t, &a, (const enum ggml_type[]){ GGML_TYPE_F32, GGML_TYPE_F32 },
                                       sinks ? SINKS : 0, CPU_DENSE);
        row_at(y->src[0], 1, 0)[5] = NAN; // all scores of query 1
        cpu_run(&t, y);
        for (int i = 0; i < 16; i++) {
            assert_true(isfinite(row_at(y, 0, 0)[i]) && isfinite(row_at(y, 0, 2)[i]));
            assert_true(isnan(row_at(y, 0, 1)[i]));
        }
        cpu_test_free(&t);
    }
}

// Nothing is seen, and the sinks weigh nothing either.
static void nothing_at_all_gives_zeros(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const struct attention a = { 16, 16, 3, 40, 2, 1, 1, 1 };
    struct ggml_tensor * y =
        build(&t, &a, (const enum ggml_type[]){ GGML_TYPE_F32, GGML_TYPE_F16 }, MASK | SINKS, CPU_DENSE);
    for (int h = 0; h < 2; h++)
        ((float *) y->src[4]->data)[h] = -INFINITY;
    cpu_run(&t, y);
    for (int i = 0; i < 16; i++) {
        assert_float_equal(row_at(y, 0, 1)[i], 0.0f, 0.0f);
        assert_true(isfinite(row_at(y, 0, 0)[i]) && isfinite(row_at(y, 1, 1)[i]));
    }
    cpu_test_free(&t);
}

// One query, a long cache: the split must not depend on the threads.
static void a_long_cache(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    const struct attention a = { 16, 16, 1, 20000, 2, 1, 1, 1 };
    struct ggml_tensor * y =
        build(&t, &a, (const enum ggml_type[]){ GGML_TYPE_F16, GGML_TYPE_F16 }, 0, CPU_DENSE);
    cpu_check(&t, y, (struct cpu_oracle){ oracle_attention, 2e-5, 8e-6 });
    cpu_test_free(&t);
}

static void any_precision_setting_is_kept(void ** state) {
    (void) state;
    struct cpu_test t = cpu_test_new(test_seed());
    struct ggml_tensor * y =
        build(&t, &shapes[1], (const enum ggml_type[]){ GGML_TYPE_F16, GGML_TYPE_F16 }, 0, CPU_DENSE);
    assert_true(ggml_prec_set_acc(y, GGML_PREC_F32));
    cpu_check(&t, y, close_to);
    cpu_test_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_and_features),
        cmocka_unit_test(quantised_caches),
        cmocka_unit_test(all_types_and_layouts),
        cmocka_unit_test(masked_keys_are_not_looked_at),
        cmocka_unit_test(a_nan_among_the_scores_shows),
        cmocka_unit_test(nothing_at_all_gives_zeros),
        cmocka_unit_test(a_long_cache),
        cmocka_unit_test(any_precision_setting_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
