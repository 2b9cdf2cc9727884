// SPDX-License-Identifier: MIT
// Strides above 2^31 bytes: a mapping of 16 GiB of which only the pages that are touched exist.
#include "cpu_check.h"

#include <sys/mman.h>

enum { ROWS = 3, MATRICES = 2 };
static const size_t size = (size_t) 16 << 30;
static const size_t row_stride = ((size_t) 1 << 31) + 4096;
static const size_t matrix_stride = ((size_t) 7 << 30) + 64; // above what three rows take

// A tensor of n elements, 3 rows and 2 matrices over the mapping, `offset` bytes in, filled with -1 .. 1.
static struct ggml_tensor * far(struct cpu_test * t, char * map, enum ggml_type type, int64_t n,
                                size_t offset) {
    struct ggml_tensor * x = ggml_new_tensor_3d(t->ctx, type, n, ROWS, MATRICES);
    x->data = map + offset;
    x->nb[1] = row_stride;
    x->nb[2] = matrix_stride;
    x->nb[3] = matrix_stride * MATRICES;
    for (int64_t r = 0; r < ROWS * MATRICES; r++) {
        float values[1024];
        for (int64_t i = 0; i < n; i++)
            values[i] = test_rng_float(&t->rng, -1.0f, 1.0f);
        tn_type_get(type)->encode_ref(values, cpu_at(x, 0, r % ROWS, r / ROWS, 0), n);
    }
    return x;
}

static char * map_all(void) {
    char * map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) fail_msg("%zu bytes of address space cannot be had", (size_t) size);
    return map;
}

static struct ggml_tensor * indices(struct cpu_test * t, const int32_t * values, int64_t ne0, int64_t ne1) {
    struct ggml_tensor * x = ggml_new_tensor_2d(t->ctx, GGML_TYPE_I32, ne0, ne1);
    cpu_allocate(t);
    memcpy(x->data, values, ggml_nbytes(x));
    return x;
}

static double same(const struct ggml_tensor * node, const int64_t * i) {
    return cpu_get(node->src[0], i[0], i[1], i[2], i[3]);
}

static double fetched(const struct ggml_tensor * node, const int64_t * i) {
    return cpu_get(node->src[0], i[0], (int64_t) cpu_get(node->src[1], i[1], i[2], 0, 0), i[2], 0);
}

static void reads(void ** state) {
    (void) state;
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0 };
    static const int32_t rows[] = { 2, 0, 2, 1, 1, 2 }, matrices[] = { 1, 0, 1, 1, 0, 0 };
    const struct cpu_oracle close_to = { oracle_mul_mat, 1e-6, 1e-5 };
    const struct cpu_oracle close_too = { oracle_mul_mat_id, 1e-6, 1e-5 };
    char * map = map_all();
    for (int k = 0; k < 3; k++) {
        struct cpu_test t = cpu_test_new(test_seed());
        struct ggml_tensor * x = far(&t, map, types[k], 64, 0);
        struct ggml_tensor * y = far(&t, map, GGML_TYPE_F32, 64, 1024);
        cpu_check(&t, ggml_cast(t.ctx, x, GGML_TYPE_F32), (struct cpu_oracle){ same, 0.0, 0.0 });
        cpu_check(&t, ggml_cont(t.ctx, x), (struct cpu_oracle){ same, 0.0, 0.0 });
        cpu_check(&t, ggml_get_rows(t.ctx, x, indices(&t, rows, 3, 2)),
                  (struct cpu_oracle){ fetched, 0.0, 0.0 });
        cpu_check(&t, ggml_mul_mat(t.ctx, x, y), close_to);
        cpu_check(&t, ggml_mul_mat_id(t.ctx, x, y, indices(&t, matrices, 3, 2)), close_too);
        cpu_test_free(&t);
    }
    munmap(map, size);
}

// Results far apart, from sources that are not.
static void writes(void ** state) {
    (void) state;
    char * map = map_all();
    struct cpu_test t = cpu_test_new(test_seed());
    struct ggml_tensor * y = far(&t, map, GGML_TYPE_F32, 64, 0);
    const int64_t ne[] = { 64, ROWS, MATRICES, 1 };
    struct ggml_tensor * x = cpu_source(&t, GGML_TYPE_F16, ne, CPU_PERMUTED, -1.0f, 1.0f);
    static const int32_t rows[] = { 2, 0, 1, 1, 2, 0 };
    struct ggml_tensor * index = indices(&t, rows, 3, 2);
    assert_int_equal(cpu_compute(ggml_cpy(t.ctx, x, y), 2), GGML_STATUS_SUCCESS);
    int64_t i[4] = { 0 };
    do
        assert_true(cpu_get(y, i[0], i[1], i[2], 0) == cpu_get(x, i[0], i[1], i[2], 0));
    while (cpu_next(y, i));
    struct ggml_tensor * z = ggml_set_rows(t.ctx, y, x, index);
    if (!ggml_ext_tensor_valid(z)) fail_msg("%s", ggml_ext_last_error());
    assert_int_equal(cpu_compute(z, 2), GGML_STATUS_SUCCESS);
    do
        assert_true(cpu_get(y, i[0], rows[i[2] * ROWS + i[1]], i[2], 0) == cpu_get(x, i[0], i[1], i[2], 0));
    while (cpu_next(y, i));
    cpu_test_free(&t);
    munmap(map, size);
}

// --- operators that walk over images, and others: the same bits as from data that lies close together

static struct ggml_tensor * columns(struct ggml_context * ctx, struct ggml_tensor * a,
                                    struct ggml_tensor * x) {
    return ggml_im2col(ctx, a, x, 1, 1, 1, 1, 1, 1, true, GGML_TYPE_F32);
}

static struct ggml_tensor * convolved(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * x) {
    return ggml_conv_2d_direct(ctx, a, x, 1, 1, 1, 1, 1, 1);
}

static struct ggml_tensor * by_channels(struct ggml_context * ctx, struct ggml_tensor * a,
                                        struct ggml_tensor * x) {
    return ggml_conv_2d_dw_direct(ctx, ggml_reshape_4d(ctx, a, 3, 4, 1, 2), x, 1, 1, 1, 1, 1, 1);
}

static struct ggml_tensor * laid_down(struct ggml_context * ctx, struct ggml_tensor * a,
                                      struct ggml_tensor * x) {
    return ggml_conv_transpose_2d_p0(ctx, ggml_reshape_4d(ctx, a, 3, 2, 2, 2), x, 2);
}

static struct ggml_tensor * pooled(struct ggml_context * ctx, struct ggml_tensor * a,
                                   struct ggml_tensor * x) {
    (void) a;
    return ggml_pool_2d(ctx, x, GGML_OP_POOL_AVG, 3, 2, 1, 1, 1, 0);
}

static struct ggml_tensor * resized(struct ggml_context * ctx, struct ggml_tensor * a,
                                    struct ggml_tensor * x) {
    (void) a;
    return ggml_interpolate(ctx, x, 100, 7, 2, 1, GGML_SCALE_MODE_BICUBIC);
}

static struct ggml_tensor * padded(struct ggml_context * ctx, struct ggml_tensor * a,
                                   struct ggml_tensor * x) {
    (void) a;
    return ggml_pad_ext_circular(ctx, x, 3, 1, 2, 1, 1, 1, 0, 0);
}

static struct ggml_tensor * sorted(struct ggml_context * ctx, struct ggml_tensor * a,
                                   struct ggml_tensor * x) {
    (void) a;
    return ggml_argsort(ctx, x, GGML_SORT_ORDER_DESC);
}

static struct ggml_tensor * in_windows(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * x) {
    (void) a;
    return ggml_win_part(ctx, x, 2);
}

static struct ggml_tensor * columns_1d(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * x) {
    return ggml_im2col(ctx, ggml_reshape_3d(ctx, a, 2, 3, 4), x, 1, 0, 1, 0, 2, 0, false, GGML_TYPE_F16);
}

static struct ggml_tensor * columns_3d(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * x) {
    return ggml_im2col_3d(ctx, a, x, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, GGML_TYPE_F32);
}

static struct ggml_tensor * convolved_3d(struct ggml_context * ctx, struct ggml_tensor * a,
                                         struct ggml_tensor * x) {
    return ggml_conv_3d_direct(ctx, a, x, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2);
}

static struct ggml_tensor * laid_down_1d(struct ggml_context * ctx, struct ggml_tensor * a,
                                         struct ggml_tensor * x) {
    struct ggml_tensor * lines = ggml_view_2d(ctx, x, x->ne[0], ROWS, x->nb[1], x->nb[2]);
    return ggml_conv_transpose_1d(ctx, ggml_reshape_3d(ctx, a, 2, 4, 3), lines, 3, 0, 1);
}

// Queries, keys and values: three tokens, two heads.
static struct ggml_tensor * attended(struct ggml_context * ctx, struct ggml_tensor * a,
                                     struct ggml_tensor * x) {
    (void) a;
    return ggml_flash_attn_ext(ctx, x, x, x, NULL, 0.3f, 0.0f, 0.0f);
}

static struct ggml_tensor * outer(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * x) {
    (void) a;
    return ggml_out_prod(ctx, x, x);
}

static struct ggml_tensor * normed(struct ggml_context * ctx, struct ggml_tensor * a,
                                   struct ggml_tensor * x) {
    (void) a;
    return ggml_add(ctx, ggml_rms_norm(ctx, x, 1e-6f), x);
}

static struct ggml_tensor * summed(struct ggml_context * ctx, struct ggml_tensor * a,
                                   struct ggml_tensor * x) {
    (void) a;
    return ggml_concat(ctx, ggml_cumsum(ctx, x), ggml_repeat_4d(ctx, x, 64, 2 * ROWS, MATRICES, 1), 1);
}

static void reads_of_images(void ** state) {
    (void) state;
    struct ggml_tensor * (*const build[])(struct ggml_context *, struct ggml_tensor *,
                                          struct ggml_tensor *) = {
        columns,    convolved,  by_channels,  laid_down,    pooled,   resized, padded, sorted, in_windows,
        columns_1d, columns_3d, convolved_3d, laid_down_1d, attended, outer,   normed, summed,
    };
    char * map = map_all();
    for (size_t k = 0; k < sizeof(build) / sizeof(build[0]); k++) {
        struct cpu_test t = cpu_test_new(test_seed());
        const int64_t kernel[] = { 3, 2, MATRICES, 2 };
        struct ggml_tensor * a = cpu_source(&t, GGML_TYPE_F16, kernel, CPU_DENSE, -1.0f, 1.0f);
        struct ggml_tensor * x = far(&t, map, GGML_TYPE_F32, 64, 0);
        struct ggml_tensor * near = ggml_new_tensor_3d(t.ctx, GGML_TYPE_F32, 64, ROWS, MATRICES);
        cpu_allocate(&t);
        int64_t i[4] = { 0 };
        do
            cpu_put(near, i, cpu_get(x, i[0], i[1], i[2], 0));
        while (cpu_next(near, i));
        struct ggml_tensor * y = build[k](t.ctx, a, x);
        struct ggml_tensor * expected = build[k](t.ctx, a, near);
        cpu_run(&t, y);
        cpu_run(&t, expected);
        assert_memory_equal(y->data, expected->data, ggml_nbytes(y));
        cpu_test_free(&t);
    }
    munmap(map, size);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(reads), cmocka_unit_test(writes),
                                        cmocka_unit_test(reads_of_images) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
