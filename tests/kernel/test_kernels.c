// SPDX-License-Identifier: MIT
// Every version of every kernel on rows of floats (src/cpu/kernels/floats.def) against the scalar one: empty
// rows, lengths 1 to 130, lengths around blocks and one of 2^20; operands at odd places; guard bytes on both
// sides of the result. Operands are heap blocks that end with their last element, so that AddressSanitizer
// sees what is read beyond them.
#include "harness.h"

#include <math.h>

#include "base/half.h"
#include "cpu/isa.h"
#include "cpu/kernels/families.h"

enum { GUARD = 192, PLACES = 5 };

// One call: n, the operands, what it gives.
struct io {
    int64_t n;
    void * y;
    const void *a, *b;
    double result;
};

typedef void (*any_function)(void);

// How a function is called and how near its versions must be.
struct rule {
    void (*call)(any_function f, struct io * t);
    size_t y_size, y_fixed; // bytes of y: an element's times n, and what does not depend on n
    size_t x_size;          // bytes of an element of the operands, times n
    size_t b_size;          // of the second operand, where it differs
    double ulps;     // of each element, in units of 2^-23; 0: the same bits, but that any NaN is like another
    double absolute; // what is allowed beyond ulps
    double sum; // likewise, but against the sum of the magnitudes of n products of operands below `limit`
    float limit;
    enum kind { FLOATS, F16, BF16, BITS } kind, b_kind; // of the operands; BITS: sixteen, any
    bool in_place;                                      // y may be the first operand
};

// CALL(function, what it calls with F): the rule's function. Y, A, B: operands as floats.
#define Y ((float *) t->y)
#define A ((const float *) t->a)
#define B ((const float *) t->b)
#define CALL(function, expression)                                                                           \
    static void call_##function(any_function f, struct io * t) {                                             \
        TN_TYPE_OF(*tn_##function) * const F = (TN_TYPE_OF(*tn_##function) *) f;                             \
        expression;                                                                                          \
    }

static const float map_params[4] = { 1.702f, -0.5f, 0.25f, 2.0f };

CALL(convert_f16_f32, F(t->n, Y, t->a))
CALL(convert_bf16_f32, F(t->n, Y, t->a))
CALL(convert_f32_f16, F(t->n, t->y, A))
CALL(convert_f32_bf16, F(t->n, t->y, A))
CALL(dot_float, *Y = F(t->n, A, B))
CALL(dot_float_f16, *Y = F(t->n, t->a, B))
CALL(dot_float_bf16, *Y = F(t->n, t->a, B))
CALL(dot_float_f16_f16, *Y = F(t->n, t->a, t->b))
CALL(dot_float_bf16_bf16, *Y = F(t->n, t->a, t->b))
CALL(gemm_float_axpy, F(t->n, Y, A, 0.75f))
CALL(softmax_exp, t->result = F(t->n, Y, A, 3.0f))
CALL(softmax_scale, F(t->n, Y, 0.3f))
CALL(softmax_back, F(t->n, Y, A, B, 0.7, 1.3))
CALL(norm_center, F(t->n, Y, A, 0.1234567891234, 1.7))
CALL(norm_scale, F(t->n, Y, A, 0.7f))
CALL(norm_back, F(t->n, Y, A, B, 0.1, 1.7))
CALL(reduce_sum, t->result = F(t->n, A))
CALL(reduce_sum_sqr, t->result = F(t->n, A))
CALL(reduce_dot, t->result = F(t->n, A, B))
CALL(reduce_sum_dev, t->result = F(t->n, A, 0.3333333333))
CALL(reduce_max, t->result = (double) F(t->n, A))
CALL(rope_adjacent, F(t->n, Y, A, B))
CALL(rope_halves, F(t->n, Y, A, B))
#define TN_MAP1(name, value) CALL(map1_##name, F(t->n, Y, A, map_params))
#include "cpu/kernels/map1/formulas.def"
#undef TN_MAP1
#define TN_MAP2(name, value) CALL(map2_##name, F(t->n, Y, A, B, map_params))
#include "cpu/kernels/map2/formulas.def"
#undef TN_MAP2

// A panel of n steps, and 8 rows of n elements that begin at different places; part of rows and columns, by
// n.
static void call_gemm_float_tile(any_function f, struct io * t) {
    TN_TYPE_OF(*tn_gemm_float_tile) * const F = (TN_TYPE_OF(*tn_gemm_float_tile) *) f;
    const struct tn_gemm_size size = { 1 + (int) (t->n % TN_GEMM_ROWS), 1 + (int) (t->n / 3 % TN_GEMM_COLS) };
    const float * rows[TN_GEMM_ROWS];
    float out[TN_GEMM_ROWS * TN_GEMM_COLS];
    for (int r = 0; r < TN_GEMM_ROWS; r++)
        rows[r] = A + r * t->n;
    F(t->n, &size, rows, B, out);
    for (int r = 0; r < size.n_rows; r++)
        memcpy(Y + r * TN_GEMM_COLS, out + r * TN_GEMM_COLS, (size_t) size.n_cols * sizeof(float));
}

// ulps of functions by formulas.def; those that libm computes differ where a version has a series of its own.
enum { MAP_ULPS = 6 };

static const struct rule
    rule_convert_f16_f32 = { .call = call_convert_f16_f32, .y_size = 4, .x_size = 2, .kind = BITS },
    rule_convert_bf16_f32 = { .call = call_convert_bf16_f32, .y_size = 4, .x_size = 2, .kind = BITS },
    rule_convert_f32_f16 = { .call = call_convert_f32_f16, .y_size = 2, .x_size = 4 },
    rule_convert_f32_bf16 = { .call = call_convert_f32_bf16, .y_size = 2, .x_size = 4 },
    rule_dot_float = { .call = call_dot_float, .y_fixed = 4, .x_size = 4, .sum = 1, .limit = 4 },
    rule_dot_float_f16 = { call_dot_float_f16, .y_fixed = 4, .x_size = 2, .b_size = 4,
                           .sum = 1,           .limit = 4,   .kind = F16 },
    rule_dot_float_bf16 = { call_dot_float_bf16, .y_fixed = 4, .x_size = 2, .b_size = 4, .sum = 1,
                            .limit = 4,          .kind = BF16 },
    rule_dot_float_f16_f16 = { call_dot_float_f16_f16,
                               .y_fixed = 4,
                               .x_size = 2,
                               .sum = 1,
                               .limit = 4,
                               .kind = F16,
                               .b_kind = F16 },
    rule_dot_float_bf16_bf16 = { call_dot_float_bf16_bf16,
                                 .y_fixed = 4,
                                 .x_size = 2,
                                 .sum = 1,
                                 .limit = 4,
                                 .kind = BF16,
                                 .b_kind = BF16 },
    rule_gemm_float_tile = { call_gemm_float_tile, 0,        4 * TN_GEMM_ROWS *TN_GEMM_COLS,
                             4 * TN_GEMM_COLS,     .sum = 1, .limit = 4 },
    rule_gemm_float_axpy = { .call = call_gemm_float_axpy, .y_size = 4, .x_size = 4 },
    rule_softmax_exp = { .call = call_softmax_exp, .y_size = 4, .x_size = 4, .ulps = 3, .in_place = true },
    rule_softmax_scale = { .call = call_softmax_scale, .y_size = 4, .x_size = 4 },
    rule_softmax_back = { .call = call_softmax_back, .y_size = 4, .x_size = 4, .in_place = true },
    rule_norm_center = { .call = call_norm_center, .y_size = 4, .x_size = 4, .in_place = true },
    rule_norm_scale = { .call = call_norm_scale, .y_size = 4, .x_size = 4, .in_place = true },
    rule_norm_back = { .call = call_norm_back, .y_size = 4, .x_size = 4, .in_place = true },
    rule_reduce_sum = { .call = call_reduce_sum, .x_size = 4 },
    rule_reduce_sum_sqr = { .call = call_reduce_sum_sqr, .x_size = 4 },
    rule_reduce_dot = { .call = call_reduce_dot, .x_size = 4 },
    rule_reduce_sum_dev = { .call = call_reduce_sum_dev, .x_size = 4 },
    rule_reduce_max = { .call = call_reduce_max, .x_size = 4 },
    rule_rope_adjacent = { .call = call_rope_adjacent, .y_size = 8, .x_size = 8, .in_place = true },
    rule_rope_halves = { .call = call_rope_halves, .y_size = 8, .x_size = 8, .in_place = true };
#define TN_MAP1(name, value)                                                                                 \
    static const struct rule rule_map1_##name = {                                                            \
        .call = call_map1_##name, .y_size = 4, .x_size = 4, .ulps = MAP_ULPS, .in_place = true               \
    };
#include "cpu/kernels/map1/formulas.def"
#undef TN_MAP1
#define TN_MAP2(name, value)                                                                                 \
    static const struct rule rule_map2_##name = {                                                            \
        .call = call_map2_##name, .y_size = 4, .x_size = 4, .ulps = MAP_ULPS, .in_place = true               \
    };
#include "cpu/kernels/map2/formulas.def"
#undef TN_MAP2

// The error function of a version's own: near the largest errors of both, and half x times subnormals. These
// times 1e30 are nothing to compare, so that geglu_erf sees small numbers only.
static const struct rule rule_gelu_erf = {
    .call = call_map1_gelu_erf, .y_size = 4, .x_size = 4, .ulps = 9, .absolute = 2e-44, .in_place = true
};
static const struct rule rule_geglu_erf = {
    .call = call_map2_geglu_erf, .y_size = 4, .x_size = 4, .ulps = 9, .limit = 4, .in_place = true
};

// The derivative of silu has a zero, beside which only an absolute error is small.
static const struct rule rule_silu_back = { .call = call_map2_silu_back,
                                            .y_size = 4,
                                            .x_size = 4,
                                            .ulps = MAP_ULPS,
                                            .absolute = 2e-6,
                                            .limit = 4,
                                            .in_place = true };

static const struct version {
    const char * name;
    enum tn_isa isa;
    const struct rule * rule;
    any_function function, scalar;
} versions[] = {
#define TN_ROW(isa, function)                                                                                \
    { #function, TN_ISA_##isa, &rule_##function, (any_function) tn_##function##_##isa,                       \
      (any_function) tn_##function##_scalar },
#define TN_SCALAR(function) TN_ROW(scalar, function)
#include "cpu/kernels/floats.def"
#undef TN_SCALAR
#undef TN_ROW
};

static float special(struct test_rng * rng) {
    static const float values[] = { 0.0f,   -0.0f,   INFINITY, -INFINITY, NAN,     1e30f,
                                    -1e30f, 88.8f,   -88.8f,   -103.5f,   -104.5f, 90.0f,
                                    1e-40f, -1e-45f, 65504.0f, 65520.0f,  6e-8f,   2.9e-8f };
    return values[test_rng_below(rng, (int64_t) TN_COUNT(values))];
}

static float number(struct test_rng * rng, const struct rule * rule) {
    if (rule->limit > 0) return test_rng_float(rng, -rule->limit, rule->limit);
    const int64_t kind = test_rng_below(rng, 16);
    if (kind == 0) return special(rng);
    if (kind == 1) return test_rng_float(rng, -110.0f, 100.0f);
    return test_rng_float(rng, -4.0f, 4.0f);
}

static uint16_t half(struct test_rng * rng, const struct rule * rule, enum kind kind) {
    if (kind == BITS) return (uint16_t) test_rng_u64(rng);
    const float v = number(rng, rule);
    return kind == F16 ? tn_f16_from_f32(v) : tn_bf16_from_f32(v);
}

static void fill(struct test_rng * rng, const struct rule * rule, enum kind kind, void * to, size_t size) {
    for (size_t i = 0; i < size && kind != FLOATS; i += 2) {
        const uint16_t h = half(rng, rule, kind);
        memcpy((char *) to + i, &h, sizeof(h));
    }
    for (size_t i = 0; i < size && kind == FLOATS; i += 4) {
        const float v = number(rng, rule);
        memcpy((char *) to + i, &v, sizeof(v));
    }
}

static bool near(double got, double want, double tolerance) {
    if (isnan(want)) return isnan(got);
    if (got == want) return signbit(got) == signbit(want) || tolerance > 0.0;
    return fabs(got - want) <= tolerance;
}

// What two versions may differ by at a value: ulps of it, or of the sum of the magnitudes; of subnormals,
// one.
static double tolerance_of(const struct rule * rule, int64_t n, double want) {
    if (rule->sum > 0) return rule->sum * 0x1p-23 * (double) (n + 1) * (double) (rule->limit * rule->limit);
    if (rule->ulps == 0) return 0.0;
    return rule->absolute + rule->ulps * fmax(0x1p-23 * fabs(want), 0x1p-149);
}

static double element(const struct rule * rule, const char * y, size_t i) {
    uint16_t h;
    float f;
    if (rule->y_size == 2) {
        memcpy(&h, y + 2 * i, sizeof(h));
        return h; // bits: conversions name the NaN they give
    }
    memcpy(&f, y + 4 * i, sizeof(f));
    return (double) f;
}

static void compare(const struct version * v, int64_t n, const char * got, const char * want, size_t size) {
    const size_t step = v->rule->y_size == 2 ? 2 : 4;
    for (size_t i = 0; i < size / step; i++) {
        const double g = element(v->rule, got, i), w = element(v->rule, want, i);
        if (near(g, w, tolerance_of(v->rule, n, w))) continue;
        fail_msg("%s, %s, n = %d: element %zu is %.9g, not %.9g", v->name, tn_isa_name(v->isa), (int) n, i, g,
                 w);
    }
}

static void check_guards(const struct version * v, int64_t n, const uint8_t * memory, size_t before,
                         size_t size, size_t all) {
    for (size_t i = 0; i < all; i++) {
        if (i >= before && i < before + size) continue;
        if (memory[i] != 0xa5)
            fail_msg("%s, %s, n = %d: byte %td beside the result is overwritten", v->name,
                     tn_isa_name(v->isa), (int) n, (ptrdiff_t) i - (ptrdiff_t) before);
    }
}

// A block whose last `size` bytes are those of `bytes`, at a place that is a multiple of `unit` only.
static char * placed(const void * bytes, size_t size, size_t offset, char ** block) {
    *block = malloc(offset + size + (offset + size == 0));
    assert_non_null(*block);
    if (size > 0) memcpy(*block + offset, bytes, size);
    return *block + offset;
}

// The scalar version's and the other's results from the same operands; y starts from the same content.
static void check(const struct version * v, int64_t n, int place, struct test_rng * rng) {
    const struct rule * rule = v->rule;
    const size_t y_size = rule->y_size * (size_t) n + rule->y_fixed;
    const size_t x_size[2] = { rule->x_size * (size_t) n,
                               (rule->b_size ? rule->b_size : rule->x_size) * (size_t) n };
    const enum kind kinds[3] = { rule->kind, rule->b_kind, FLOATS };
    char * values[3];
    char *blocks[2][2], *y[2];
    const size_t before = GUARD + (size_t) place * (rule->y_size == 2 ? 2 : 4), all = before + y_size + GUARD;
    for (int i = 0; i < 3; i++) {
        const size_t size = i == 2 ? y_size : x_size[i];
        values[i] = malloc(size + 4);
        assert_non_null(values[i]);
        fill(rng, rule, kinds[i], values[i], size);
    }
    double results[2];
    for (int i = 0; i < 2; i++) {
        uint8_t * memory = malloc(all);
        assert_non_null(memory);
        memset(memory, 0xa5, all);
        memcpy(memory + before, values[2], y_size);
        y[i] = (char *) memory;
        struct io t = { .n = n, .y = memory + before };
        const size_t offset = (size_t) place * (kinds[0] == FLOATS ? 4 : 2);
        const size_t offset_b = (size_t) place * (kinds[1] == FLOATS ? 12 : 6) % 16;
        t.a = placed(values[0], x_size[0], offset, &blocks[i][0]);
        t.b = placed(values[1], x_size[1], offset_b, &blocks[i][1]);
        rule->call(i ? v->function : v->scalar, &t);
        results[i] = t.result;
        check_guards(v, n, memory, before, y_size, all);
        for (int k = 0; k < 2; k++) {
            if (x_size[k] > 0 && memcmp(k ? t.b : t.a, values[k], x_size[k]) != 0)
                fail_msg("%s, %s, n = %d: operand %d is overwritten", v->name, tn_isa_name(v->isa), (int) n,
                         k);
        }
    }
    compare(v, n, y[1] + before, y[0] + before, y_size);
    if (!near(results[1], results[0], rule->ulps > 0 ? 4e-7 * fabs(results[0]) + 1e-44 : 0.0))
        fail_msg("%s, %s, n = %d: result %.17g, not %.17g", v->name, tn_isa_name(v->isa), (int) n, results[1],
                 results[0]);
    for (int i = 0; i < 3; i++)
        free(values[i]);
    for (int i = 0; i < 2; i++) {
        free(blocks[i][0]);
        free(blocks[i][1]);
        free(y[i]);
    }
}

static const int64_t lengths[] = { 0, 255, 256, 257, 511, 512, 513, 1000, 4097 };

// Where y may be the first operand: the same bits.
static void check_in_place(const struct version * v, int64_t n, struct test_rng * rng) {
    const size_t size = v->rule->y_size * (size_t) n;
    char * values[4];
    for (int i = 0; i < 4; i++) {
        values[i] = malloc(size + 1);
        assert_non_null(values[i]);
        fill(rng, v->rule, v->rule->kind, values[i], size);
    }
    memcpy(values[3], values[0], size);
    v->rule->call(v->function, &(struct io){ .n = n, .y = values[2], .a = values[0], .b = values[1] });
    v->rule->call(v->function, &(struct io){ .n = n, .y = values[3], .a = values[3], .b = values[1] });
    if (memcmp(values[2], values[3], size) != 0)
        fail_msg("%s, %s, n = %d: another result in place", v->name, tn_isa_name(v->isa), (int) n);
    for (int i = 0; i < 4; i++)
        free(values[i]);
}

static void check_lengths(const struct version * v, struct test_rng * rng) {
    for (int64_t n = 1; n <= 130; n++) {
        check(v, n, (int) (n % PLACES), rng);
        if (v->rule->in_place) check_in_place(v, n, rng);
    }
    for (size_t k = 0; k < TN_COUNT(lengths); k++)
        check(v, lengths[k], (int) k % PLACES, rng);
    if (v->rule->y_fixed <= 4) check(v, 1 << 20, 1, rng);
}

// In nearly every row that special numbers are in a sum is infinite or NaN, whatever a version leaves out. So
// functions that give one see rows of small numbers as well.
static void check_sums(const struct version * v, struct test_rng * rng) {
    struct rule tame = *v->rule;
    struct version of_tame = *v;
    tame.limit = 4;
    of_tame.rule = &tame;
    if (v->rule->limit > 0 || (v->rule->y_size > 0 && v->rule != &rule_softmax_exp)) return;
    check_lengths(&of_tame, rng);
}

static void every_version_agrees_with_the_scalar_one(void ** state) {
    struct test_rng rng = { test_seed() };
    const uint64_t machine = tn_isa_machine();
    int checked[TN_ISA_COUNT] = { 0 };
    (void) state;
    for (size_t i = 0; i < TN_COUNT(versions); i++) {
        struct version v = versions[i];
        if (!(machine >> v.isa & 1)) continue;
        if (strcmp(v.name, "map2_silu_back") == 0) v.rule = &rule_silu_back;
        if (strcmp(v.name, "map1_gelu_erf") == 0) v.rule = &rule_gelu_erf;
        if (strcmp(v.name, "map2_geglu_erf") == 0) v.rule = &rule_geglu_erf;
        check_lengths(&v, &rng);
        check_sums(&v, &rng);
        checked[v.isa]++;
    }
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        if (checked[i]) printf("%s: %d versions\n", tn_isa_name((enum tn_isa) i), checked[i]);
    }
    assert_true(checked[TN_ISA_scalar] > 50);
    if (machine >> TN_ISA_x86_avx2 & 1) assert_true(checked[TN_ISA_x86_avx2] > 20);
    if (machine >> TN_ISA_arm_neon & 1) assert_true(checked[TN_ISA_arm_neon] > 20);
}

// The walk draws a row of its own for each of a tile's eight, which is too much memory here: one is all of
// them.
static void tiles_of_a_million_steps(void ** state) {
    enum { N = 1 << 20, SIZE = TN_GEMM_ROWS * TN_GEMM_COLS };
    struct test_rng rng = { test_seed() };
    float * row = malloc(N * sizeof(float));
    float * panel = malloc((size_t) N * TN_GEMM_COLS * sizeof(float));
    const float * rows[TN_GEMM_ROWS];
    double want[TN_GEMM_COLS] = { 0 };
    (void) state;
    assert_true(row && panel);
    for (int r = 0; r < TN_GEMM_ROWS; r++)
        rows[r] = row;
    for (int64_t k = 0; k < N; k++) {
        row[k] = test_rng_float(&rng, -1.0f, 1.0f);
        for (int c = 0; c < TN_GEMM_COLS; c++) {
            panel[k * TN_GEMM_COLS + c] = (float) (k % 7 - 3 + c);
            want[c] += (double) row[k] * (double) panel[k * TN_GEMM_COLS + c];
        }
    }
    for (size_t i = 0; i < TN_COUNT(versions); i++) {
        const struct version * v = &versions[i];
        if (strcmp(v->name, "gemm_float_tile") != 0 || !(tn_isa_machine() >> v->isa & 1)) continue;
        struct {
            float before[16], y[SIZE], after[16];
        } out;
        memset(&out, 0xa5, sizeof(out));
        ((TN_TYPE_OF(*tn_gemm_float_tile) *) v->function)(
            N, &(struct tn_gemm_size){ TN_GEMM_ROWS, TN_GEMM_COLS }, rows, panel, out.y);
        // A sum in one f32: roundings of 2^-24 of what is there so far, which drifts as a random walk does.
        for (int j = 0; j < SIZE; j++) {
            if (!(fabs((double) out.y[j] - want[j % TN_GEMM_COLS]) <=
                  2.0 + 1e-3 * fabs(want[j % TN_GEMM_COLS])))
                fail_msg("%s: %g, not %g", tn_isa_name(v->isa), (double) out.y[j], want[j % TN_GEMM_COLS]);
        }
        for (size_t b = 0; b < sizeof(out.before); b++)
            assert_true(((uint8_t *) out.before)[b] == 0xa5 && ((uint8_t *) out.after)[b] == 0xa5);
    }
    free(row);
    free(panel);
}

// exp of every 509th number between -105 and 89, against double.
static void exp_is_right_to_2_units(void ** state) {
    (void) state;
    for (size_t i = 0; i < TN_COUNT(versions); i++) {
        const struct version * v = &versions[i];
        if (strcmp(v->name, "map1_exp") != 0 || !(tn_isa_machine() >> v->isa & 1)) continue;
        double worst = 0;
        for (uint32_t bits = 0; bits < 0x42d20000u; bits += 509 * 16) {
            float x[16], y[16];
            for (int k = 0; k < 16; k++)
                x[k] = tn_f32_from_bits((bits + 509u * (uint32_t) k) | (k & 1 ? 0x80000000u : 0));
            ((TN_TYPE_OF(*tn_map1_exp) *) v->function)(16, y, x, map_params);
            for (int k = 0; k < 16; k++) {
                const double want = exp((double) x[k]);
                if (want > 3.4e38) continue;
                int e;
                frexp(want, &e);
                worst = fmax(worst, fabs((double) y[k] - want) / ldexp(1.0, e - 24 < -149 ? -149 : e - 24));
            }
        }
        printf("%s: %.3f units\n", tn_isa_name(v->isa), worst);
        assert_true(worst < 2.0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_agrees_with_the_scalar_one),
        cmocka_unit_test(tiles_of_a_million_steps),
        cmocka_unit_test(exp_is_right_to_2_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
