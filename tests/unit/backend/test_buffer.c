// SPDX-License-Identifier: MIT
// backend/buffer.c: buffer types, buffers, several as one, tensors in buffers.
#include "unit/fake_device.h"

#include "base/error.h"
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

static void a_type_answers(void ** state) {
    struct fixture * f = *state;
    f->fake.max_size = 12345;
    assert_string_equal(ggml_backend_buft_name(&f->fake.type), "Fake");
    assert_int_equal(ggml_backend_buft_get_alignment(&f->fake.type), 64);
    assert_int_equal(ggml_backend_buft_get_max_size(&f->fake.type), 12345);
    assert_false(ggml_backend_buft_is_host(&f->fake.type));
    assert_ptr_equal(ggml_backend_buft_get_device(&f->fake.type), &f->fake.device);
    f->fake.type.iface.get_max_size = NULL;
    f->fake.type.iface.is_host = NULL;
    assert_true(ggml_backend_buft_get_max_size(&f->fake.type) == SIZE_MAX);
    assert_false(ggml_backend_buft_is_host(&f->fake.type));
    f->fake.alignment = 48;
    assert_int_equal(ggml_backend_buft_get_alignment(&f->fake.type), 4096);
    assert_contains(ggml_ext_last_error(), "48");
}

static void null_types_are_refused(void ** state) {
    (void) state;
    assert_string_equal(ggml_backend_buft_name(NULL), "NULL");
    assert_null(ggml_backend_buft_alloc_buffer(NULL, 10));
    assert_contains(ggml_ext_last_error(), "NULL");
    assert_null(ggml_backend_buft_get_device(NULL));
    assert_int_equal(ggml_backend_buft_get_alignment(NULL), 1);
    assert_null(ggml_backend_buffer_init(NULL, (struct ggml_backend_buffer_i){ 0 }, NULL, 1));
}

static void a_buffer_has_its_size_and_base(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(&f->fake.type, 1000);
    assert_non_null(b);
    assert_int_equal(ggml_backend_buffer_get_size(b), 1000);
    assert_true((uintptr_t) ggml_backend_buffer_get_base(b) >= FAKE_BASE);
    assert_string_equal(ggml_backend_buffer_name(b), "Fake");
    assert_ptr_equal(ggml_backend_buffer_get_type(b), &f->fake.type);
    assert_int_equal(ggml_backend_buffer_get_alignment(b), 64);
    assert_true(ggml_backend_buffer_get_max_size(b) == SIZE_MAX);
    assert_false(ggml_backend_buffer_is_host(b));
    assert_int_equal(ggml_backend_buffer_get_usage(b), GGML_BACKEND_BUFFER_USAGE_ANY);
    ggml_backend_buffer_set_usage(b, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    assert_int_equal(ggml_backend_buffer_get_usage(b), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    ggml_backend_buffer_clear(b, 7);
    assert_int_equal(((struct fake_memory *) b->context)->bytes[999], 7);
    ggml_backend_buffer_reset(b);
    assert_int_equal(f->fake.n_reset, 1);
    ggml_backend_buffer_free(b);
    ggml_backend_buffer_free(NULL);
}

static void size_0_asks_nobody(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(&f->fake.type, 0);
    assert_non_null(b);
    assert_int_equal(f->fake.n_alloc, 0);
    assert_null(ggml_backend_buffer_get_base(b));
    ggml_backend_buffer_clear(b, 1);
    ggml_backend_buffer_reset(b);
    ggml_backend_buffer_free(b);
    assert_int_equal(f->fake.n_free, 0);
}

static void memory_that_cannot_be_had(void ** state) {
    struct fixture * f = *state;
    f->fake.fail_alloc = 1;
    assert_null(ggml_backend_buft_alloc_buffer(&f->fake.type, 4711));
    assert_contains(ggml_ext_last_error(), "4711");
    f->fake.lie_about_size = true;
    assert_null(ggml_backend_buft_alloc_buffer(&f->fake.type, 4711));
    assert_contains(ggml_ext_last_error(), "4710 of 4711");
}

static ggml_backend_buffer_t no_reason(ggml_backend_buffer_type_t buft, size_t size) {
    (void) buft, (void) size;
    return NULL;
}

static ggml_backend_buffer_t a_reason(ggml_backend_buffer_type_t buft, size_t size) {
    (void) buft, (void) size;
    tn_error_set("the device is lost");
    return NULL;
}

static void the_reason_is_the_back_ends(void ** state) {
    struct fixture * f = *state;
    tn_error_set("something else before");
    ggml_backend_buffer_free(ggml_backend_buft_alloc_buffer(&f->fake.type, 16));
    assert_string_equal(ggml_ext_last_error(), "something else before"); // a success says nothing
    f->fake.type.iface.alloc_buffer = a_reason;
    assert_null(ggml_backend_buft_alloc_buffer(&f->fake.type, 16));
    assert_contains(ggml_ext_last_error(), "cannot be had: the device is lost");
    f->fake.type.iface.alloc_buffer = no_reason;
    assert_null(ggml_backend_buft_alloc_buffer(&f->fake.type, 16));
    assert_null(strstr(ggml_ext_last_error(), "lost"));
}

static void alloc_size_is_held_to_its_rule(void ** state) {
    struct fixture * f = *state;
    f->fake.scratch = 100;
    struct ggml_tensor * a = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, 8, 8);
    struct ggml_tensor * sum = ggml_add(f->ctx, a, a);
    assert_int_equal(ggml_backend_buft_get_alloc_size(&f->fake.type, a), 256);
    assert_int_equal(ggml_backend_buft_get_alloc_size(&f->fake.type, sum), 256);
    sum->op = GGML_OP_MUL_MAT;
    assert_int_equal(ggml_backend_buft_get_alloc_size(&f->fake.type, sum), 356);
    assert_true(ggml_op_alloc_size_may_expand(GGML_OP_MUL_MAT));
    assert_true(ggml_op_alloc_size_may_expand(GGML_OP_TOP_K));
    assert_false(ggml_op_alloc_size_may_expand(GGML_OP_ADD));
    f->fake.scratch = (size_t) -100; // less than its bytes
    assert_true(ggml_backend_buft_get_alloc_size(&f->fake.type, sum) == SIZE_MAX);
    assert_contains(ggml_ext_last_error(), "156 bytes");
    f->fake.type.iface.get_alloc_size = NULL;
    assert_int_equal(ggml_backend_buft_get_alloc_size(&f->fake.type, sum), 256);
    assert_true(ggml_backend_buft_get_alloc_size(&f->fake.type, NULL) == SIZE_MAX);
    sum->nb[1] = SIZE_MAX / 2; // no builder would make it
    assert_true(ggml_backend_buft_get_alloc_size(&f->fake.type, sum) == SIZE_MAX);
    assert_contains(ggml_ext_last_error(), "cannot be counted");
}

static size_t one_more(ggml_backend_buffer_type_t buft, const struct ggml_tensor * t) {
    (void) buft;
    return ggml_nbytes(t) + 1;
}

static void an_addition_gets_no_scratch(void ** state) {
    struct fixture * f = *state;
    f->fake.type.iface.get_alloc_size = one_more;
    struct ggml_tensor * a = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 8);
    struct ggml_tensor * q = ggml_new_tensor_1d(f->ctx, GGML_TYPE_Q4_0, 64);
    struct ggml_tensor * sum = ggml_add(f->ctx, a, a);
    assert_int_equal(ggml_backend_buft_get_alloc_size(&f->fake.type, a), 33);
    assert_int_equal(ggml_backend_buft_get_alloc_size(&f->fake.type, q), ggml_nbytes(q) + 1);
    assert_true(ggml_backend_buft_get_alloc_size(&f->fake.type, sum) == SIZE_MAX);
    assert_contains(ggml_ext_last_error(), "ADD");
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(&f->fake.type, 1000);
    assert_int_equal(ggml_backend_tensor_alloc(b, sum, ggml_backend_buffer_get_base(b)), GGML_STATUS_FAILED);
    assert_null(sum->buffer);
    ggml_backend_buffer_free(b);
}

static void several_as_one(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = ggml_backend_buft_alloc_buffer(&f->fake.type, 100);
    ggml_backend_buffer_t all = ggml_backend_multi_buffer_alloc_buffer(parts, 3);
    assert_true(ggml_backend_buffer_is_multi_buffer(all));
    assert_false(ggml_backend_buffer_is_multi_buffer(parts[0]));
    assert_false(ggml_backend_buffer_is_multi_buffer(NULL));
    assert_int_equal(ggml_backend_buffer_get_size(all), 300);
    assert_null(ggml_backend_buffer_get_base(all));
    assert_string_equal(ggml_backend_buffer_name(all), "Fake");
    ggml_backend_buffer_set_usage(all, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    ggml_backend_buffer_clear(all, 9);
    ggml_backend_buffer_reset(all);
    assert_int_equal(f->fake.n_reset, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ggml_backend_buffer_get_usage(parts[i]), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        assert_int_equal(((struct fake_memory *) parts[i]->context)->bytes[99], 9);
    }
    ggml_backend_multi_buffer_set_usage(parts[0], GGML_BACKEND_BUFFER_USAGE_COMPUTE);
    assert_contains(ggml_ext_last_error(), "several");
    struct ggml_tensor * t = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 1);
    assert_int_equal(ggml_backend_tensor_alloc(all, t, NULL), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "stands for several");
    ggml_backend_buffer_free(all);
}

static void bad_parts_stay_the_callers(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t parts[2] = { ggml_backend_buft_alloc_buffer(&f->fake.type, 100), NULL };
    assert_null(ggml_backend_multi_buffer_alloc_buffer(parts, 2));
    assert_contains(ggml_ext_last_error(), "part 1 is NULL");
    assert_null(ggml_backend_multi_buffer_alloc_buffer(parts, 0));
    assert_null(ggml_backend_multi_buffer_alloc_buffer(NULL, 1));
    for (int n = 1; n <= 2; n++) {
        tn_mem_fail_nth(n);
        assert_null(ggml_backend_multi_buffer_alloc_buffer(parts, 1));
        tn_mem_fail_nth(0);
    }
    assert_int_equal(f->fake.n_free, 0);
    ggml_backend_buffer_free(parts[0]);
}

static void a_tensor_is_placed(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(&f->fake.type, 128);
    char * base = ggml_backend_buffer_get_base(b);
    struct ggml_tensor * t = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 16);
    assert_int_equal(ggml_backend_tensor_alloc(b, t, base + 65), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "64 bytes does not fit");
    assert_int_equal(ggml_backend_tensor_alloc(b, t, base - 1), GGML_STATUS_FAILED);
    assert_int_equal(ggml_backend_tensor_alloc(NULL, t, base), GGML_STATUS_FAILED);
    assert_int_equal(ggml_backend_tensor_alloc(b, NULL, base), GGML_STATUS_FAILED);
    assert_null(t->data);
    assert_int_equal(ggml_backend_tensor_alloc(b, t, base + 64), GGML_STATUS_SUCCESS);
    assert_ptr_equal(t->data, base + 64);
    assert_ptr_equal(t->buffer, b);
    assert_int_equal(f->fake.n_init, 1);
    assert_int_equal(ggml_backend_tensor_alloc(b, t, base), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "already");
    struct ggml_tensor * empty = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 0);
    assert_int_equal(ggml_backend_tensor_alloc(b, empty, base + 128), GGML_STATUS_SUCCESS);
    ggml_backend_buffer_free(b);
}

static void a_view_follows_its_base(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(&f->fake.type, 128);
    struct ggml_tensor * t = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 16);
    struct ggml_tensor * v = ggml_view_tensor(f->ctx, t);
    v->view_offs = 16;
    v->ne[0] = 12;
    assert_int_equal(ggml_backend_view_init(v), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "has no buffer");
    assert_int_equal(ggml_backend_view_init(t), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "is no view");
    assert_int_equal(ggml_backend_tensor_alloc(b, v, ggml_backend_buffer_get_base(b)), GGML_STATUS_FAILED);
    ggml_backend_tensor_alloc(b, t, ggml_backend_buffer_get_base(b));
    assert_int_equal(ggml_backend_view_init(v), GGML_STATUS_SUCCESS);
    assert_ptr_equal(v->data, (char *) t->data + 16);
    assert_ptr_equal(v->buffer, b);
    assert_int_equal(f->fake.n_init, 2);
    assert_int_equal(ggml_backend_view_init(v), GGML_STATUS_FAILED);
    ggml_backend_buffer_free(b);
}

static void a_tensor_that_the_buffer_refuses_stays_as_it_was(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(&f->fake.type, 128);
    struct ggml_tensor * t = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 16);
    ggml_set_name(t, "kept");
    f->fake.fail_init = 1;
    assert_int_equal(ggml_backend_tensor_alloc(b, t, ggml_backend_buffer_get_base(b)),
                     GGML_STATUS_ALLOC_FAILED);
    assert_null(t->data);
    assert_null(t->buffer);
    assert_contains(ggml_ext_last_error(), "kept");
    ggml_backend_buffer_free(b);
}

static void a_refused_tensor_is_not_placed(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(&f->fake.type, 128);
    struct ggml_tensor * bad = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, -1);
    assert_int_equal(ggml_backend_tensor_alloc(b, bad, ggml_backend_buffer_get_base(b)), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "refused before");
    ggml_backend_buffer_free(b);
}

static void a_buffer_is_asked_to_prepare_a_tensor(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_t b = ggml_backend_buft_alloc_buffer(&f->fake.type, 128);
    struct ggml_tensor * t = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 16);
    t->buffer = b;
    assert_int_equal(ggml_backend_buffer_init_tensor(b, t), GGML_STATUS_SUCCESS);
    assert_int_equal(f->fake.n_init, 1);
    f->fake.fail_init = 1;
    assert_int_equal(ggml_backend_buffer_init_tensor(b, t), GGML_STATUS_ALLOC_FAILED);
    b->iface.init_tensor = NULL; // nothing to prepare
    assert_int_equal(ggml_backend_buffer_init_tensor(b, t), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_backend_buffer_init_tensor(NULL, t), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "is NULL");
    assert_int_equal(ggml_backend_buffer_init_tensor(b, NULL), GGML_STATUS_FAILED);
    assert_int_equal(f->fake.n_init, 2);
    ggml_backend_buffer_free(b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_type_answers),
        TEST(null_types_are_refused),
        TEST(a_buffer_has_its_size_and_base),
        TEST(size_0_asks_nobody),
        TEST(memory_that_cannot_be_had),
        TEST(the_reason_is_the_back_ends),
        TEST(alloc_size_is_held_to_its_rule),
        TEST(an_addition_gets_no_scratch),
        TEST(several_as_one),
        TEST(bad_parts_stay_the_callers),
        TEST(a_tensor_is_placed),
        TEST(a_view_follows_its_base),
        TEST(a_tensor_that_the_buffer_refuses_stays_as_it_was),
        TEST(a_refused_tensor_is_not_placed),
        TEST(a_buffer_is_asked_to_prepare_a_tensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
