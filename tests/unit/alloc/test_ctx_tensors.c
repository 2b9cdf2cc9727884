// SPDX-License-Identifier: MIT
// alloc/ctx_tensors.c: all tensors of a context, in one buffer or several.
#include "unit/fake_device.h"

#include "base/mem.h"
#include "ggml-ext.h"

struct fixture {
    struct fake fake;
    struct ggml_context * ctx;
};

static int setup(void ** state) {
    static struct fixture f;
    fake_init(&f.fake);
    f.ctx = ggml_init((struct ggml_init_params){ 64 * ggml_tensor_overhead(), NULL, true });
    *state = &f;
    return 0;
}

static int teardown(void ** state) {
    struct fixture * f = *state;
    ggml_free(f->ctx);
    assert_int_equal(f->fake.n_alloc, f->fake.n_free);
    return 0;
}

static struct ggml_tensor * floats(struct fixture * f, int64_t n) {
    return ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, n);
}

static ggml_backend_buffer_t alloc(struct fixture * f) {
    return ggml_backend_alloc_ctx_tensors_from_buft(f->ctx, &f->fake.type);
}

static void all_in_one_buffer(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor *a = floats(f, 4), *empty = floats(f, 0), *b = floats(f, 20);
    struct ggml_tensor * v = ggml_view_1d(f->ctx, b, 4, 16);
    assert_int_equal(ggml_backend_alloc_ctx_tensors_from_buft_size(f->ctx, &f->fake.type), 192);
    ggml_backend_buffer_t buffer = alloc(f);
    assert_false(ggml_backend_buffer_is_multi_buffer(buffer));
    assert_int_equal(ggml_backend_buffer_get_size(buffer), 192);
    assert_int_equal(ggml_backend_buffer_get_usage(buffer), GGML_BACKEND_BUFFER_USAGE_ANY);
    char * base = ggml_backend_buffer_get_base(buffer);
    assert_ptr_equal(a->data, base);
    assert_ptr_equal(empty->data, base + 64);
    assert_ptr_equal(empty->buffer, buffer);
    assert_ptr_equal(b->data, base + 64);
    assert_ptr_equal(v->data, base + 80);
    assert_ptr_equal(v->buffer, buffer);
    assert_null(alloc(f)); // nothing left
    ggml_backend_buffer_free(buffer);
}

static void by_back_end(void ** state) {
    struct fixture * f = *state;
    ggml_backend_t backend = ggml_backend_dev_init(&f->fake.device, NULL);
    struct ggml_tensor * a = floats(f, 4);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(f->ctx, backend);
    assert_ptr_equal(a->buffer, buffer);
    assert_ptr_equal(ggml_backend_buffer_get_type(buffer), &f->fake.type);
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(backend);
    assert_null(ggml_backend_alloc_ctx_tensors(f->ctx, NULL));
    assert_contains(ggml_ext_last_error(), "back end is NULL");
}

static void several_below_the_largest_size(void ** state) {
    struct fixture * f = *state;
    f->fake.max_size = 256;
    struct ggml_tensor * t[7];
    const int64_t n[7] = { 32, 32, 1, 100, 0, 16, 16 }; // 128 128 | 64 | 448 alone | 0 64 64
    for (int i = 0; i < 7; i++)
        t[i] = floats(f, n[i]);
    struct ggml_tensor * v = ggml_view_tensor(f->ctx, t[0]); // its base is in another part
    assert_int_equal(ggml_backend_alloc_ctx_tensors_from_buft_size(f->ctx, &f->fake.type), 896);
    ggml_backend_buffer_t buffer = alloc(f);
    assert_true(ggml_backend_buffer_is_multi_buffer(buffer));
    assert_int_equal(ggml_backend_buffer_get_size(buffer), 896);
    assert_int_equal(f->fake.n_alloc, 4);
    assert_ptr_equal(t[0]->buffer, t[1]->buffer);
    assert_ptr_not_equal(t[1]->buffer, t[2]->buffer);
    assert_int_equal(ggml_backend_buffer_get_size(t[2]->buffer), 64);
    assert_int_equal(ggml_backend_buffer_get_size(t[3]->buffer), 448);
    assert_non_null(t[4]->data);
    assert_ptr_equal(t[5]->buffer, t[6]->buffer);
    assert_ptr_equal(v->buffer, t[0]->buffer);
    assert_ptr_equal(v->data, t[0]->data);
    ggml_backend_buffer_free(buffer);
}

static void what_has_memory_is_left(void ** state) {
    struct fixture * f = *state;
    static float own[4];
    struct ggml_tensor *a = floats(f, 4), *b = floats(f, 4);
    a->data = own;
    struct ggml_tensor * v = ggml_view_tensor(f->ctx, a);
    ggml_backend_buffer_t buffer = alloc(f);
    assert_ptr_equal(a->data, own);
    assert_null(a->buffer);
    assert_ptr_equal(v->data, own);
    assert_ptr_equal(b->buffer, buffer);
    assert_int_equal(ggml_backend_buffer_get_size(buffer), 64);
    ggml_backend_buffer_free(buffer);
}

static void views_of_other_contexts(void ** state) {
    struct fixture * f = *state;
    struct ggml_context * outside =
        ggml_init((struct ggml_init_params){ 4 * ggml_tensor_overhead(), NULL, true });
    struct ggml_tensor * base = ggml_new_tensor_1d(outside, GGML_TYPE_F32, 8);
    struct ggml_tensor * v = ggml_view_1d(f->ctx, base, 2, 8);
    struct ggml_tensor * a = floats(f, 4);
    assert_null(alloc(f)); // the base is nowhere
    assert_contains(ggml_ext_last_error(), "has no buffer");
    assert_null(a->buffer);
    assert_null(a->data);
    ggml_backend_buffer_t first = ggml_backend_alloc_ctx_tensors_from_buft(outside, &f->fake.type);
    ggml_backend_buffer_t second = alloc(f);
    assert_ptr_equal(v->buffer, first);
    assert_ptr_equal(v->data, (char *) base->data + 8);
    ggml_backend_buffer_free(first);
    ggml_backend_buffer_free(second);
    ggml_free(outside);
}

static void nothing_to_allocate(void ** state) {
    struct fixture * f = *state;
    assert_null(alloc(f));
    floats(f, 0);
    assert_null(alloc(f));
    assert_int_equal(ggml_backend_alloc_ctx_tensors_from_buft_size(f->ctx, &f->fake.type), 0);
}

static void failures_leave_nothing_behind(void ** state) {
    struct fixture * f = *state;
    f->fake.max_size = 128;
    struct ggml_tensor * t[6];
    for (int i = 0; i < 6; i++)
        t[i] = floats(f, 16);
    struct ggml_tensor * v = ggml_view_tensor(f->ctx, t[0]);
    ggml_set_name(t[4], "fifth");
    for (int kind = 0; kind < 2; kind++) {
        f->fake.fail_alloc = kind == 0 ? 3 : 0;
        f->fake.fail_init = kind == 1 ? 5 : 0;
        assert_null(alloc(f));
        assert_contains(ggml_ext_last_error(), "'fifth'");
        for (int i = 0; i < 6; i++)
            assert_true(!t[i]->data && !t[i]->buffer);
        assert_true(!v->data && !v->buffer);
        assert_int_equal(f->fake.n_alloc, f->fake.n_free);
    }
    int failures = 0;
    for (ggml_backend_buffer_t buffer = NULL; !buffer; failures++) {
        tn_mem_fail_nth(failures + 1);
        buffer = alloc(f);
        assert_true(!buffer == !!tn_mem_fail_nth(0));
        if (!buffer) assert_int_equal(f->fake.n_alloc, f->fake.n_free);
        ggml_backend_buffer_free(buffer);
        if (buffer) break;
    }
    assert_true(failures >= 6);
}

static void bad_arguments(void ** state) {
    struct fixture * f = *state;
    assert_null(ggml_backend_alloc_ctx_tensors_from_buft(NULL, &f->fake.type));
    assert_contains(ggml_ext_last_error(), "context is NULL");
    floats(f, 1);
    assert_null(ggml_backend_alloc_ctx_tensors_from_buft(f->ctx, NULL));
    assert_contains(ggml_ext_last_error(), "type is NULL");
    assert_true(ggml_backend_alloc_ctx_tensors_from_buft_size(f->ctx, NULL) == SIZE_MAX);
    struct ggml_context * with_data = ggml_init((struct ggml_init_params){ 4096, NULL, false });
    assert_null(ggml_backend_alloc_ctx_tensors_from_buft(with_data, &f->fake.type));
    assert_contains(ggml_ext_last_error(), "no_alloc");
    ggml_free(with_data);
    ggml_new_tensor_1d(f->ctx, GGML_TYPE_I8, INT64_MAX);
    ggml_new_tensor_1d(f->ctx, GGML_TYPE_I8, INT64_MAX);
    ggml_new_tensor_1d(f->ctx, GGML_TYPE_I8, INT64_MAX);
    assert_true(ggml_backend_alloc_ctx_tensors_from_buft_size(f->ctx, &f->fake.type) == SIZE_MAX);
    assert_contains(ggml_ext_last_error(), "overflow");
    assert_null(alloc(f));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(all_in_one_buffer),
        TEST(by_back_end),
        TEST(several_below_the_largest_size),
        TEST(what_has_memory_is_left),
        TEST(views_of_other_contexts),
        TEST(nothing_to_allocate),
        TEST(failures_leave_nothing_behind),
        TEST(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
