// SPDX-License-Identifier: MIT
// alloc/linear.c: one after the other, until the buffer is full.
#include "unit/fake_device.h"

#include "base/error.h"
#include "ggml-ext.h"

struct fixture {
    struct fake fake;
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
};

static int setup(void ** state) {
    static struct fixture f;
    fake_init(&f.fake);
    f.ctx = ggml_init((struct ggml_init_params){ 64 * ggml_tensor_overhead(), NULL, true });
    f.buffer = ggml_backend_buft_alloc_buffer(&f.fake.type, 300);
    *state = &f;
    return 0;
}

static int teardown(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_free(f->buffer);
    ggml_free(f->ctx);
    return 0;
}

static struct ggml_tensor * floats(struct fixture * f, int64_t n) {
    return ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, n);
}

static void one_after_the_other(void ** state) {
    struct fixture * f = *state;
    struct ggml_tallocr alloc = ggml_tallocr_new(f->buffer);
    struct ggml_tensor *a = floats(f, 1), *empty = floats(f, 0), *b = floats(f, 16), *c = floats(f, 1);
    char * base = ggml_backend_buffer_get_base(f->buffer);
    assert_int_equal(ggml_tallocr_alloc(&alloc, a), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_tallocr_alloc(&alloc, empty), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_tallocr_alloc(&alloc, b), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_tallocr_alloc(&alloc, c), GGML_STATUS_SUCCESS);
    assert_ptr_equal(a->data, base);
    assert_ptr_equal(empty->data, base + 64);
    assert_ptr_equal(b->data, base + 64);
    assert_ptr_equal(c->data, base + 128);
    assert_ptr_equal(c->buffer, f->buffer);
    assert_int_equal(alloc.offset, 192);
}

static void it_starts_aligned(void ** state) {
    struct fixture * f = *state;
    f->fake.alignment = 8192;
    struct fake_memory * m = f->buffer->context;
    m->base = FAKE_BASE + 8;
    struct ggml_tallocr alloc = ggml_tallocr_new(f->buffer);
    assert_int_equal(((uintptr_t) alloc.base + alloc.offset) % 8192, 0);
    struct ggml_tensor * a = floats(f, 1);
    assert_int_equal(ggml_tallocr_alloc(&alloc, a), GGML_STATUS_ALLOC_FAILED); // the start is beyond the end
    assert_contains(ggml_ext_last_error(), "the 0 bytes left");
}

static void the_last_one_needs_no_padding(void ** state) {
    struct fixture * f = *state;
    struct ggml_tallocr alloc = ggml_tallocr_new(f->buffer);
    assert_int_equal(ggml_tallocr_alloc(&alloc, floats(f, 75)), GGML_STATUS_SUCCESS); // 300 bytes
    assert_int_equal(alloc.offset, 320);
    assert_int_equal(ggml_tallocr_alloc(&alloc, floats(f, 1)), GGML_STATUS_ALLOC_FAILED);
}

static void a_full_buffer_refuses(void ** state) {
    struct fixture * f = *state;
    struct ggml_tallocr alloc = ggml_tallocr_new(f->buffer);
    struct ggml_tensor * large = floats(f, 60);
    ggml_set_name(large, "large");
    ggml_tallocr_alloc(&alloc, floats(f, 30));
    assert_int_equal(ggml_tallocr_alloc(&alloc, large), GGML_STATUS_ALLOC_FAILED);
    assert_contains(ggml_ext_last_error(), "'large' f32 [60, 1, 1, 1] of 240 bytes");
    assert_contains(ggml_ext_last_error(), "172 bytes left of 300");
    assert_null(large->data);
    assert_int_equal(alloc.offset, 128);
    assert_int_equal(ggml_tallocr_alloc(&alloc, floats(f, 43)), GGML_STATUS_SUCCESS);
}

static void what_cannot_be_placed_leaves_the_cursor(void ** state) {
    struct fixture * f = *state;
    struct ggml_tallocr alloc = ggml_tallocr_new(f->buffer);
    struct ggml_tensor * a = floats(f, 4);
    f->fake.fail_init = 1;
    assert_int_equal(ggml_tallocr_alloc(&alloc, a), GGML_STATUS_ALLOC_FAILED);
    assert_int_equal(alloc.offset, 0);
    assert_int_equal(ggml_tallocr_alloc(&alloc, a), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_tallocr_alloc(&alloc, a), GGML_STATUS_FAILED); // has memory
    assert_int_equal(ggml_tallocr_alloc(&alloc, ggml_view_tensor(f->ctx, a)), GGML_STATUS_FAILED);
    assert_int_equal(ggml_tallocr_alloc(&alloc, NULL), GGML_STATUS_FAILED);
    assert_int_equal(ggml_tallocr_alloc(NULL, floats(f, 1)), GGML_STATUS_FAILED);
    assert_int_equal(alloc.offset, 64);
}

static void no_buffer_no_tensors(void ** state) {
    struct fixture * f = *state;
    struct ggml_tallocr alloc = ggml_tallocr_new(NULL);
    assert_null(alloc.buffer);
    assert_int_equal(ggml_tallocr_alloc(&alloc, floats(f, 1)), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "no buffer");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(one_after_the_other),
        TEST(it_starts_aligned),
        TEST(the_last_one_needs_no_padding),
        TEST(a_full_buffer_refuses),
        TEST(what_cannot_be_placed_leaves_the_cursor),
        TEST(no_buffer_no_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
