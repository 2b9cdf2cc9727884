// SPDX-License-Identifier: MIT
// Every version of every dot product of blocks (src/cpu/kernels/dots.def): against the sum of the decoded
// elements in double, and bit for bit against the scalar version. Rows of 0 to 130 blocks, of sizes around
// those that bodies take at once, and of 2^20 elements lie between guard bytes, or in heap blocks that end
// with them, so that AddressSanitizer sees what is read beyond.
#include "harness.h"

#include <math.h>

#include "cpu/isa.h"
#include "cpu/kernels/families.h"
#include "ggml.h"
#include "quant/type.h"

enum { GUARD = 192, PLACES = 5 };

typedef double (*dot_function)(int64_t n, const void * x, const void * y);

static const struct version {
    const char * name;
    enum tn_isa isa;
    dot_function function, scalar;
} versions[] = {
#define TN_ROW(isa, function)                                                                                \
    { "tn_" #function, TN_ISA_##isa, tn_##function##_##isa, tn_##function##_scalar },
#define TN_SCALAR(function) TN_ROW(scalar, function)
#include "cpu/kernels/dots.def"
#undef TN_SCALAR
#undef TN_ROW
};

static const struct {
    const char * name;
    enum ggml_type x, y;
} types[] = {
#define TN_ROW(id, partner, function) { #function, GGML_TYPE_##id, GGML_TYPE_##partner },
#include "cpu/traits.def"
#undef TN_ROW
};

struct row {
    void * bytes;
    float * values; // decoded
};

static struct row new_row(enum ggml_type type, int64_t n) {
    return (struct row){ malloc(ggml_row_size(type, n) + (n == 0)),
                         malloc((size_t) (n + 1) * sizeof(float)) };
}

static void free_row(struct row * r) {
    free(r->bytes);
    free(r->values);
}

static bool decode(struct row * r, enum ggml_type type, int64_t n) {
    tn_type_get(type)->decode(r->bytes, r->values, n);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(r->values[i])) return false;
    }
    return true;
}

// Encoded numbers, or bytes as they come: all codes, scales of any size.
static void fill(struct test_rng * rng, struct row * r, enum ggml_type type, int64_t n, bool any_bytes) {
    const struct tn_type * t = tn_type_get(type);
    if (any_bytes) {
        for (size_t i = 0; i < ggml_row_size(type, n); i++)
            ((uint8_t *) r->bytes)[i] = (uint8_t) test_rng_u64(rng);
        return;
    }
    float * weights = malloc((size_t) (n + 1) * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        r->values[i] = test_rng_float(rng, -2.0f, 2.0f);
        weights[i] = 1.0f;
    }
    if (t->prepare) assert_true(t->prepare());
    if (t->encode) {
        assert_true(n == 0 || t->encode(r->values, r->bytes, n, weights));
    } else {
        t->encode_ref(r->values, r->bytes, n);
    }
    free(weights);
}

static void compare(const struct version * v, int64_t n, const void * x, const void * y,
                    const double want[2]) {
    const double got = v->function(n, x, y), scalar = v->scalar(n, x, y);
    if (!(fabs(got - want[0]) <= 1e-7 * want[1] + 1e-37))
        fail_msg("%s, %s, n = %d: %.9g, not %.9g", v->name, tn_isa_name(v->isa), (int) n, got, want[0]);
    if (memcmp(&got, &scalar, sizeof(got)) != 0)
        fail_msg("%s, %s, n = %d: %.9g, but the scalar version gives %.9g", v->name, tn_isa_name(v->isa),
                 (int) n, got, scalar);
}

// The sum of the products of decoded elements, and of their magnitudes.
static void sum_products(int64_t n, const float * x, const float * y, double sums[2]) {
    sums[0] = sums[1] = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sums[0] += (double) x[i] * (double) y[i];
        sums[1] += fabs((double) x[i] * (double) y[i]);
    }
}

static void check(const struct version * v, enum ggml_type type_x, enum ggml_type type_y, int64_t n,
                  struct test_rng * rng, bool any_bytes) {
    struct row x = new_row(type_x, n), y = new_row(type_y, n);
    fill(rng, &x, type_x, n, any_bytes);
    fill(rng, &y, type_y, n, false);
    if (decode(&x, type_x, n) && decode(&y, type_y, n)) {
        double want[2];
        sum_products(n, x.values, y.values, want);
        compare(v, n, x.bytes, y.bytes, want);
    }
    free_row(&x);
    free_row(&y);
}

// n elements of a row that was encoded, repeated as often as it takes; at a multiple of 4 only, and with
// guard bytes behind it, or with nothing.
struct placed {
    uint8_t * memory;
    size_t before, size, after;
};

static struct placed place(const struct row * row, size_t row_size, size_t size, int at) {
    struct placed p = { .before = GUARD + 4 * (size_t) at, .size = size, .after = at % 2 ? 0 : GUARD };
    p.memory = malloc(p.before + size + p.after);
    assert_non_null(p.memory);
    memset(p.memory, 0xa5, p.before + size + p.after);
    for (size_t k = 0; k < size; k += row_size)
        memcpy(p.memory + p.before + k, row->bytes, size - k < row_size ? size - k : row_size);
    return p;
}

static void check_placed(const struct version * v, int64_t n, const struct placed * p, const struct row * row,
                         size_t row_size) {
    for (size_t i = 0; i < p->before + p->size + p->after; i++) {
        const bool inside = i >= p->before && i < p->before + p->size;
        const uint8_t want = inside ? ((const uint8_t *) row->bytes)[(i - p->before) % row_size] : 0xa5;
        if (p->memory[i] != want)
            fail_msg("%s, %s, n = %d: byte %td of an operand is overwritten", v->name, tn_isa_name(v->isa),
                     (int) n, (ptrdiff_t) i - (ptrdiff_t) p->before);
    }
}

// Encoded rows of `whole` elements; of them n, repeated.
struct operands {
    enum ggml_type type_x, type_y;
    int64_t whole;
    struct row x, y;
};

static void check_length(const struct version * v, const struct operands * o, int64_t n) {
    const size_t size_x = ggml_row_size(o->type_x, o->whole), size_y = ggml_row_size(o->type_y, o->whole);
    struct placed x = place(&o->x, size_x, ggml_row_size(o->type_x, n), (int) (n / 32 % PLACES));
    struct placed y = place(&o->y, size_y, ggml_row_size(o->type_y, n), (int) (n / 64 % PLACES));
    double want[2] = { 0 }, part[2];
    for (int64_t k = 0; k < n; k += o->whole) {
        sum_products(n - k < o->whole ? n - k : o->whole, o->x.values, o->y.values, part);
        want[0] += part[0];
        want[1] += part[1];
    }
    compare(v, n, x.memory + x.before, y.memory + y.before, want);
    check_placed(v, n, &x, &o->x, size_x);
    check_placed(v, n, &y, &o->y, size_y);
    free(x.memory);
    free(y.memory);
}

static void check_lengths(const struct version * v, enum ggml_type type_x, enum ggml_type type_y,
                          int64_t step, struct test_rng * rng) {
    const int64_t blocks[] = { 255, 256, 257, 511, 512, 513, 1000 };
    struct operands o = { type_x, type_y, 256 * step, new_row(type_x, 256 * step),
                          new_row(type_y, 256 * step) };
    fill(rng, &o.x, type_x, o.whole, false);
    fill(rng, &o.y, type_y, o.whole, false);
    assert_true(decode(&o.x, type_x, o.whole) && decode(&o.y, type_y, o.whole));
    for (int64_t k = 0; k <= 130; k++)
        check_length(v, &o, k * step);
    for (size_t k = 0; k < TN_COUNT(blocks); k++)
        check_length(v, &o, blocks[k] * step);
    check_length(v, &o, 1 << 20);
    free_row(&o.x);
    free_row(&o.y);
}

static void check_version(const struct version * v, struct test_rng * rng) {
    size_t k = 0;
    while (k < TN_COUNT(types) && strcmp(types[k].name, v->name) != 0)
        k++;
    if (k == TN_COUNT(types)) fail_msg("%s: no row of traits.def names it", v->name);
    const int64_t block = ggml_blck_size(types[k].x), other = ggml_blck_size(types[k].y);
    const int64_t step = block > other ? block : other;
    check_lengths(v, types[k].x, types[k].y, step, rng);
    for (int64_t i = 0; i < test_rounds(2000); i++)
        check(v, types[k].x, types[k].y, step * (1 + i % 2), rng, true);
}

static void every_version_is_right(void ** state) {
    struct test_rng rng = { test_seed() };
    const uint64_t machine = tn_isa_machine();
    int n_scalar = 0;
    (void) state;
    for (size_t i = 0; i < TN_COUNT(versions); i++) {
        if (!(machine >> versions[i].isa & 1)) continue;
        check_version(&versions[i], &rng);
        n_scalar += versions[i].isa == TN_ISA_scalar;
    }
    assert_int_equal(n_scalar, (int) TN_COUNT(types) - 3); // all but f32, f16 and bf16
}

typedef void (*dot_2x2_function)(int64_t n, const void * const x[2], const void * const y[2], double sums[4]);

static const struct version_2x2 {
    const char * name; // of the single product, with a tail
    enum tn_isa isa;
    dot_2x2_function function;
} versions_2x2[] = {
#define TN_ROW(isa, function) { "tn_" #function, TN_ISA_##isa, tn_##function##_##isa },
#define TN_SCALAR(function)   TN_ROW(scalar, function)
#include "cpu/kernels/dots_2x2.def"
#undef TN_SCALAR
#undef TN_ROW
};

// The scalar version of the product of one row with one, and its types.
static dot_function single_of(const char * name, enum ggml_type * x, enum ggml_type * y) {
    const size_t len = strlen(name) - strlen("_2x2");
    assert_string_equal(name + len, "_2x2");
    for (size_t i = 0; i < TN_COUNT(types); i++) {
        if (strlen(types[i].name) != len || strncmp(types[i].name, name, len) != 0) continue;
        *x = types[i].x;
        *y = types[i].y;
    }
    for (size_t i = 0; i < TN_COUNT(versions); i++) {
        if (strlen(versions[i].name) == len && strncmp(versions[i].name, name, len) == 0)
            return versions[i].scalar;
    }
    fail_msg("%s: no single product has that name", name);
    return NULL;
}

// All bits of four single products, or NaN for NaN: bytes may be anything.
static void check_2x2(const struct version_2x2 * v, int64_t n, struct test_rng * rng, bool any_bytes) {
    enum ggml_type type_x = GGML_TYPE_COUNT, type_y = GGML_TYPE_COUNT;
    const dot_function single = single_of(v->name, &type_x, &type_y);
    struct row x[2], y[2];
    for (int i = 0; i < 2; i++) {
        x[i] = new_row(type_x, n);
        y[i] = new_row(type_y, n);
        fill(rng, &x[i], type_x, n, any_bytes);
        fill(rng, &y[i], type_y, n, false);
    }
    double got[4];
    v->function(n, (const void * [2]){ x[0].bytes, x[1].bytes }, (const void * [2]){ y[0].bytes, y[1].bytes },
                got);
    for (int i = 0; i < 4; i++) {
        const double want = single(n, x[i / 2].bytes, y[i % 2].bytes);
        if (memcmp(&got[i], &want, sizeof(want)) != 0 && !(isnan(got[i]) && isnan(want)))
            fail_msg("%s, %s, n = %d: product %d is %.17g, not %.17g", v->name, tn_isa_name(v->isa), (int) n,
                     i, got[i], want);
    }
    for (int i = 0; i < 2; i++) {
        free_row(&x[i]);
        free_row(&y[i]);
    }
}

static void two_with_two_give_the_bits_of_four(void ** state) {
    struct test_rng rng = { test_seed() };
    int n_scalar = 0;
    (void) state;
    for (size_t i = 0; i < TN_COUNT(versions_2x2); i++) {
        if (!(tn_isa_machine() >> versions_2x2[i].isa & 1)) continue;
        for (int64_t n = 0; n <= 20; n++) // steps of 256 hold whole blocks of all
            check_2x2(&versions_2x2[i], n * 256, &rng, n % 2);
        for (int64_t n = 32; n < 512 && strstr(versions_2x2[i].name, "_k_") == NULL; n += 32)
            check_2x2(&versions_2x2[i], n, &rng, false);
        for (int64_t k = 0; k < test_rounds(500); k++)
            check_2x2(&versions_2x2[i], 256 * (1 + k % 2), &rng, true);
        n_scalar += versions_2x2[i].isa == TN_ISA_scalar;
    }
    assert_int_equal(n_scalar, 4);
}

// Sums are as large as finite scales can make them: no infinity on the way.
static void huge_activations(void ** state) {
    (void) state;
    float values[256];
    struct row x = new_row(GGML_TYPE_Q4_K, 256), y = new_row(GGML_TYPE_Q8_K, 256);
    for (int i = 0; i < 256; i++)
        values[i] = 1.0f;
    assert_true(tn_type_get(GGML_TYPE_Q4_K)->encode(values, x.bytes, 256, NULL));
    for (int i = 0; i < 256; i++)
        values[i] = i % 2 ? 1e36f : -1e36f;
    values[0] = 1e36f;
    tn_type_get(GGML_TYPE_Q8_K)->encode_ref(values, y.bytes, 256);
    for (size_t i = 0; i < TN_COUNT(versions); i++) {
        if (strcmp(versions[i].name, "tn_dot_k_q4_k_q8_k") != 0 || !(tn_isa_machine() >> versions[i].isa & 1))
            continue;
        const double got = versions[i].function(256, x.bytes, y.bytes);
        if (!(fabs(got - 2e36) < 4e34)) fail_msg("%s: %g", tn_isa_name(versions[i].isa), got);
    }
    free_row(&x);
    free_row(&y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_is_right),
        cmocka_unit_test(two_with_two_give_the_bits_of_four),
        cmocka_unit_test(huge_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
