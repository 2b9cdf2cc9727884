// SPDX-License-Identifier: MIT
// backend/transfer.c: what reaches a back end's functions, and what is refused before.
#include "unit/fake_device.h"

#include "base/mem.h"
#include "ggml-ext.h"

struct fixture {
    struct fake a, b;
    struct ggml_context * ctx;
    ggml_backend_t backend_a, backend_b;
    ggml_backend_buffer_t buffer_a, buffer_b, host;
    struct ggml_tensor *on_a, *on_b, *on_host, *nowhere;
};

static struct ggml_tensor * tensor_in(struct ggml_context * ctx, ggml_backend_buffer_t buffer) {
    struct ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 8);
    if (buffer) ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer));
    return t;
}

static int setup(void ** state) {
    static struct fixture f;
    f = (struct fixture){ 0 };
    fake_init(&f.a);
    fake_init(&f.b);
    f.ctx = ggml_init((struct ggml_init_params){ 64 * ggml_tensor_overhead(), NULL, true });
    f.backend_a = ggml_backend_dev_init(&f.a.device, NULL);
    f.backend_b = ggml_backend_dev_init(&f.b.device, NULL);
    f.buffer_a = ggml_backend_alloc_buffer(f.backend_a, 128);
    f.buffer_b = ggml_backend_alloc_buffer(f.backend_b, 128);
    f.host = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 128);
    ggml_backend_buffer_clear(f.buffer_a, 0);
    ggml_backend_buffer_clear(f.buffer_b, 0);
    ggml_backend_buffer_clear(f.host, 0);
    f.on_a = tensor_in(f.ctx, f.buffer_a);
    f.on_b = tensor_in(f.ctx, f.buffer_b);
    f.on_host = tensor_in(f.ctx, f.host);
    f.nowhere = tensor_in(f.ctx, NULL);
    *state = &f;
    return 0;
}

static int teardown(void ** state) {
    struct fixture * f = *state;
    ggml_backend_buffer_free(f->buffer_a);
    ggml_backend_buffer_free(f->buffer_b);
    ggml_backend_buffer_free(f->host);
    ggml_backend_free(f->backend_a);
    ggml_backend_free(f->backend_b);
    ggml_free(f->ctx);
    return 0;
}

static void what_was_set_is_got(void ** state) {
    struct fixture * f = *state;
    const float in[4] = { 1, 2, 3, 4 };
    float out[6] = { 0 };
    ggml_backend_tensor_set(f->on_a, in, 112, 16);
    ggml_backend_tensor_get(f->on_a, out, 104, 24);
    assert_memory_equal(out + 2, in, 16);
    assert_true(out[0] == 0.0f && out[1] == 0.0f);
    ggml_backend_tensor_memset(f->on_a, 0xff, 116, 8);
    ggml_backend_tensor_get(f->on_a, out, 112, 16);
    assert_true(out[0] == 1.0f && out[1] != out[1] && out[2] != out[2] && out[3] == 4.0f);
}

static void views_use_the_buffer_of_their_base(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * v = ggml_view_tensor(f->ctx, f->on_a);
    const float in = 5;
    float out = 0;
    v->buffer = NULL;
    ggml_backend_tensor_set(v, &in, 4, 4);
    ggml_backend_tensor_get(f->on_a, &out, 4, 4);
    assert_true(out == 5.0f);
}

#define REFUSED(call, text)                                                                                  \
    do {                                                                                                     \
        call;                                                                                                \
        assert_contains(ggml_ext_last_error(), text);                                                        \
        assert_int_equal(f->a.n_set + f->a.n_set_2d, 0);                                                     \
        assert_int_equal(f->a.n_get + f->a.n_get_2d, 0);                                                     \
    } while (0)

static void what_ends_outside_is_refused(void ** state) {
    struct fixture * f = *state;
    float data[64] = { 0 };
    ggml_set_name(f->on_a, "victim");
    REFUSED(ggml_backend_tensor_set(f->on_a, data, 0, 129), "victim");
    REFUSED(ggml_backend_tensor_get(f->on_a, data, 128, 1), "128 bytes");
    REFUSED(ggml_backend_tensor_set(f->on_a, data, SIZE_MAX, 2), "ggml_backend_tensor_set: ");
    REFUSED(ggml_backend_tensor_memset(f->on_a, 1, 120, 9), "ggml_backend_tensor_memset");
    REFUSED(ggml_backend_tensor_set_2d(f->on_a, data, 0, 16, 9, 16, 16), "9 x 16");
    REFUSED(ggml_backend_tensor_get_2d(f->on_a, data, 4, 16, 8, 16, 16), "offset 4");
    REFUSED(ggml_backend_tensor_set_2d(f->on_a, data, 0, 1, SIZE_MAX, SIZE_MAX / 2, 1), "end beyond");
    REFUSED(ggml_backend_tensor_set_async(f->backend_a, f->on_a, data, 0, 129), "_async");
    REFUSED(ggml_backend_tensor_get_async(f->backend_a, f->on_a, data, 0, 129), "_async");
    REFUSED(ggml_backend_tensor_set_2d_async(f->backend_a, f->on_a, data, 0, 16, 9, 16, 16), "_2d_async");
    REFUSED(ggml_backend_tensor_get_2d_async(f->backend_a, f->on_a, data, 0, 16, 9, 16, 16), "_2d_async");
    assert_int_equal(f->a.n_set_async + f->a.n_get_async + f->a.n_set_2d_async + f->a.n_get_2d_async, 0);
}

static void bad_arguments_are_refused(void ** state) {
    struct fixture * f = *state;
    float data[4] = { 0 };
    ggml_set_name(f->nowhere, "homeless");
    REFUSED(ggml_backend_tensor_set(f->nowhere, data, 0, 4), "'homeless' is in no buffer");
    REFUSED(ggml_backend_tensor_set(NULL, data, 0, 4), "the tensor is NULL");
    REFUSED(ggml_backend_tensor_get(f->on_a, NULL, 0, 4), "is NULL");
    REFUSED(ggml_backend_tensor_set_async(NULL, f->on_a, data, 0, 4), "back end is NULL");
    f->nowhere->buffer = f->buffer_a;
    REFUSED(ggml_backend_tensor_get(f->nowhere, data, 0, 4), "'homeless' has no memory");
    struct ggml_tensor * bad = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, -1);
    REFUSED(ggml_backend_tensor_set(bad, data, 0, 4), "refused before");
}

static void nothing_is_no_error(void ** state) {
    struct fixture * f = *state;
    ggml_backend_tensor_set(f->on_a, NULL, 500, 0);
    ggml_backend_tensor_get(f->nowhere, NULL, 0, 0);
    ggml_backend_tensor_memset(f->on_a, 1, 500, 0);
    ggml_backend_tensor_set_2d(f->on_a, NULL, 0, 16, 0, 16, 16);
    ggml_backend_tensor_copy(f->on_a, f->on_a);
    assert_int_equal(f->a.n_set + f->a.n_get + f->a.n_copy, 0);
}

static void rows_of_pieces(void ** state) {
    struct fixture * f = *state;
    float in[6] = { 1, 2, 0, 3, 4, 0 }, out[32], back[6] = { 0 };
    for (int with_2d = 0; with_2d < 2; with_2d++) {
        struct ggml_backend_buffer_i * i = &f->buffer_a->iface;
        i->set_tensor_2d = with_2d ? fake_set_2d : NULL;
        i->get_tensor_2d = with_2d ? fake_get_2d : NULL;
        ggml_backend_buffer_clear(f->buffer_a, 0);
        ggml_backend_tensor_set_2d(f->on_a, in, 16, 8, 2, 16, 12);
        ggml_backend_tensor_get(f->on_a, out, 0, 128);
        assert_true(out[3] == 0 && out[4] == 1 && out[5] == 2 && out[6] == 0 && out[8] == 3 && out[9] == 4);
        ggml_backend_tensor_get_2d(f->on_a, back, 16, 8, 2, 16, 12);
        assert_memory_equal(back, in, sizeof(in));
    }
    assert_int_equal(f->a.n_set_2d, 1);
    assert_int_equal(f->a.n_get_2d, 1);
    assert_int_equal(f->a.n_set, 2);
    assert_int_equal(f->a.n_get, 4);
}

static void queued_where_the_back_end_can(void ** state) {
    struct fixture * f = *state;
    float x[4] = { 1, 2, 3, 4 }, y[4] = { 0 };
    ggml_backend_tensor_set_async(f->backend_a, f->on_a, x, 0, 16);
    ggml_backend_tensor_get_async(f->backend_a, f->on_a, y, 0, 16);
    ggml_backend_tensor_set_2d_async(f->backend_a, f->on_a, x, 16, 4, 2, 16, 4);
    ggml_backend_tensor_get_2d_async(f->backend_a, f->on_a, y + 2, 16, 4, 2, 16, 4);
    assert_true(y[0] == 1 && y[1] == 2 && y[2] == 1 && y[3] == 2);
    assert_int_equal(f->a.n_set_async, 1);
    assert_int_equal(f->a.n_get_async, 1);
    assert_int_equal(f->a.n_set_2d_async, 1);
    assert_int_equal(f->a.n_get_2d_async, 1);
    assert_int_equal(f->a.n_sync, 0);
}

static void otherwise_the_caller_waits(void ** state) {
    struct fixture * f = *state;
    float x[4] = { 1, 2, 3, 4 }, y[4] = { 0 };
    // memory that the back end does not know
    ggml_backend_tensor_set_async(f->backend_a, f->on_b, x, 0, 16);
    ggml_backend_tensor_get_async(f->backend_a, f->on_b, y, 0, 16);
    assert_memory_equal(x, y, 16);
    ggml_backend_tensor_set_2d_async(f->backend_a, f->on_host, x, 0, 8, 2, 16, 8);
    ggml_backend_tensor_get_2d_async(f->backend_a, f->on_host, y, 0, 8, 2, 16, 8);
    assert_memory_equal(x, y, 16);
    assert_int_equal(f->a.n_sync, 4);
    assert_int_equal(f->a.n_set_async + f->a.n_get_async + f->b.n_set_async, 0);
    // and a back end without the function
    f->backend_a->iface.set_tensor_async = NULL;
    ggml_backend_tensor_set_async(f->backend_a, f->on_a, x, 0, 16);
    assert_int_equal(f->a.n_sync, 5);
    assert_int_equal(f->a.n_set, 1);
}

static void copies_take_the_shortest_way(void ** state) {
    struct fixture * f = *state;
    float x[32], y[32];
    for (int i = 0; i < 32; i++)
        x[i] = (float) i;
    memcpy(f->on_host->data, x, 128);
    ggml_backend_tensor_copy(f->on_host, f->on_a); // from the host: set
    assert_int_equal(f->a.n_set, 1);
    ggml_backend_tensor_copy(f->on_a, f->on_b); // between devices: the destination's own
    assert_int_equal(f->b.n_copy, 1);
    assert_int_equal(f->b.n_set, 0);
    memset(f->on_host->data, 0, 128);
    ggml_backend_tensor_copy(f->on_b, f->on_host); // to the host: get
    assert_memory_equal(f->on_host->data, x, 128);
    assert_int_equal(f->b.n_get, 1);
    f->b.copies = false; // the destination cannot: through memory of the host
    ggml_backend_buffer_clear(f->buffer_b, 0);
    ggml_backend_tensor_copy(f->on_a, f->on_b);
    ggml_backend_tensor_get(f->on_b, y, 0, 128);
    assert_memory_equal(x, y, 128);
    assert_int_equal(f->b.n_copy, 2);
    assert_int_equal(f->b.n_set, 1);
}

static void copies_that_are_refused(void ** state) {
    struct fixture * f = *state;
    ggml_backend_tensor_copy(f->on_a, f->nowhere);
    assert_contains(ggml_ext_last_error(), "in no buffer");
    struct ggml_tensor * other = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, 8, 4);
    ggml_backend_tensor_alloc(f->buffer_b, other, ggml_backend_buffer_get_base(f->buffer_b));
    ggml_backend_tensor_copy(f->on_a, other);
    assert_contains(ggml_ext_last_error(), "differ in type, shape or strides");
    ggml_backend_tensor_copy(NULL, other);
    assert_contains(ggml_ext_last_error(), "NULL");
    f->b.copies = false;
    tn_mem_fail_nth(1);
    ggml_backend_tensor_copy(f->on_a, f->on_b);
    assert_int_equal(tn_mem_fail_nth(0), 1);
    assert_contains(ggml_ext_last_error(), "is not copied");
    assert_int_equal(f->b.n_set, 0);
}

static void the_destination_is_asked_whether_it_copies(void ** state) {
    struct fixture * f = *state;
    float x[32], y[32];
    for (int i = 0; i < 32; i++)
        x[i] = (float) (7 * i);
    ggml_backend_tensor_set(f->on_a, x, 0, 128);
    assert_true(ggml_backend_buffer_copy_tensor(f->on_a, f->on_b));
    ggml_backend_tensor_get(f->on_b, y, 0, 128);
    assert_memory_equal(x, y, 128);
    f->b.copies = false;
    assert_false(ggml_backend_buffer_copy_tensor(f->on_a, f->on_b));
    f->buffer_b->iface.cpy_tensor = NULL;
    assert_false(ggml_backend_buffer_copy_tensor(f->on_a, f->on_b));
    assert_int_equal(f->b.n_copy, 2);
    assert_int_equal(f->a.n_copy, 0);
    assert_false(ggml_backend_buffer_copy_tensor(f->on_a, f->nowhere));
    assert_false(ggml_backend_buffer_copy_tensor(NULL, f->on_b));
    assert_contains(ggml_ext_last_error(), "NULL");
    assert_false(ggml_backend_buffer_copy_tensor(f->on_a, NULL));
}

// Memory of repacked weights, for one, takes data and does not give it back.
static void memory_in_one_direction(void ** state) {
    struct fixture * f = *state;
    float x[32] = { 1 };
    f->buffer_a->iface.get_tensor = NULL;
    f->buffer_a->iface.get_tensor_2d = NULL;
    f->b.copies = false;
    f->buffer_b->iface.set_tensor = NULL;
    f->buffer_b->iface.memset_tensor = NULL;
    ggml_set_name(f->on_a, "weights");
    ggml_backend_tensor_set(f->on_a, x, 0, 128);
    assert_int_equal(f->a.n_set, 1);
#define REFUSED_AS(call, text)                                                                               \
    do {                                                                                                     \
        call;                                                                                                \
        assert_contains(ggml_ext_last_error(), text);                                                        \
        assert_int_equal(f->a.n_get + f->b.n_set + f->a.n_set, 1);                                           \
    } while (0)
    REFUSED_AS(ggml_backend_tensor_get(f->on_a, x, 0, 128), "'weights': Fake memory cannot be read back");
    REFUSED_AS(ggml_backend_tensor_get_2d(f->on_a, x, 0, 8, 2, 16, 8), "tensor_get_2d: 'weights'");
    REFUSED_AS(ggml_backend_tensor_copy(f->on_a, f->on_host), "cannot be read back");
    REFUSED_AS(ggml_backend_tensor_copy(f->on_a, f->on_b), "cannot be read back");
    REFUSED_AS(ggml_backend_tensor_set(f->on_b, x, 0, 128), "cannot be written");
    REFUSED_AS(ggml_backend_tensor_set_2d(f->on_b, x, 0, 8, 2, 16, 8), "cannot be written");
    REFUSED_AS(ggml_backend_tensor_memset(f->on_b, 1, 0, 128), "cannot be filled");
    REFUSED_AS(ggml_backend_tensor_copy(f->on_host, f->on_b), "cannot be written");
}

static void queued_copies(void ** state) {
    struct fixture * f = *state;
    float x[32], y[32];
    for (int i = 0; i < 32; i++)
        x[i] = (float) -i;
    ggml_backend_tensor_set(f->on_a, x, 0, 128);
    ggml_backend_tensor_copy_async(f->backend_a, f->backend_b, f->on_a, f->on_b);
    assert_int_equal(f->b.n_copy_async, 1);
    assert_int_equal(f->a.n_sync + f->b.n_sync, 0);
    ggml_backend_tensor_get(f->on_b, y, 0, 128);
    assert_memory_equal(x, y, 128);
    f->b.copies = false;
    ggml_backend_buffer_clear(f->buffer_b, 0);
    ggml_backend_tensor_copy_async(f->backend_a, f->backend_b, f->on_a, f->on_b);
    assert_int_equal(f->a.n_sync, 1);
    assert_int_equal(f->b.n_sync, 1);
    ggml_backend_tensor_get(f->on_b, y, 0, 128);
    assert_memory_equal(x, y, 128);
    ggml_backend_tensor_copy_async(NULL, f->backend_b, f->on_a, f->on_b);
    assert_contains(ggml_ext_last_error(), "NULL");
}

static void large_copies_go_piece_by_piece(void ** state) {
    struct fixture * f = *state;
    const size_t bytes = (9u << 20) + 4;
    f->b.copies = false;
    struct ggml_tensor * src = ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, (int64_t) bytes / 4);
    struct ggml_tensor * dst = ggml_dup_tensor(f->ctx, src);
    ggml_backend_buffer_t from = ggml_backend_alloc_buffer(f->backend_a, bytes);
    ggml_backend_buffer_t to = ggml_backend_alloc_buffer(f->backend_b, bytes);
    ggml_backend_tensor_alloc(from, src, ggml_backend_buffer_get_base(from));
    ggml_backend_tensor_alloc(to, dst, ggml_backend_buffer_get_base(to));
    int32_t * bits = (int32_t *) ((struct fake_memory *) from->context)->bytes;
    for (size_t i = 0; i < bytes / 4; i++)
        bits[i] = (int32_t) (i * 2654435761u);
    ggml_backend_tensor_copy(src, dst);
    assert_memory_equal(((struct fake_memory *) to->context)->bytes, bits, bytes);
    assert_int_equal(f->b.n_set, 3);
    ggml_backend_buffer_free(from);
    ggml_backend_buffer_free(to);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_was_set_is_got),
        TEST(views_use_the_buffer_of_their_base),
        TEST(what_ends_outside_is_refused),
        TEST(bad_arguments_are_refused),
        TEST(nothing_is_no_error),
        TEST(rows_of_pieces),
        TEST(queued_where_the_back_end_can),
        TEST(otherwise_the_caller_waits),
        TEST(copies_take_the_shortest_way),
        TEST(copies_that_are_refused),
        TEST(the_destination_is_asked_whether_it_copies),
        TEST(memory_in_one_direction),
        TEST(queued_copies),
        TEST(large_copies_go_piece_by_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
