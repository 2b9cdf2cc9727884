// SPDX-License-Identifier: MIT
// What the fake devices can do or lack, one by one, and that everything is counted.
#include "fake/fixture.h"

#include <pthread.h>
#include <time.h>

#include "fake/fake_int.h"

// ---- memory ---------------------------------------------------------------------------------------------

static void host_memory_can_be_touched(void ** state) {
    (void) state;
    struct fake_options a = options(FAKE_LAZY), b = options(FAKE_LAZY);
    a.host_memory = true;
    b.reads_host = true;
    struct fixture f = start(a, b);
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.b, "y");
    assert_true(ggml_backend_buffer_is_host(x->buffer));
    assert_false(ggml_backend_buffer_is_host(y->buffer));
    assert_ptr_equal(x->data, fake_bytes(x));
    assert_ptr_not_equal(y->data, fake_bytes(y));
    assert_true(ggml_backend_supports_buft(f.on_a, ggml_backend_cpu_buffer_type()));
    assert_true(ggml_backend_supports_buft(f.on_b, &f.a->type));
    assert_false(ggml_backend_supports_buft(f.on_a, &f.b->type));
    set(x, 3);
    assert_int_equal(ggml_backend_graph_compute(f.on_b, negate(&f, x, y)), GGML_STATUS_SUCCESS);
    assert_all(y, -3);
    assert_no_faults(&f);
    finish(&f);
}

static void memory_in_use_is_told(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    size_t before, after, total;
    ggml_backend_dev_memory(&f.a->device, &before, &total);
    row(&f, f.a, "x");
    ggml_backend_dev_memory(&f.a->device, &after, &total);
    assert_int_equal(before - after, 4 * N);
    assert_int_equal(f.a->counts.bytes, 4 * N);
    assert_int_equal(f.b->counts.bytes, 0);
    finish(&f);
}

static void a_largest_buffer(void ** state) {
    (void) state;
    struct fake_options o = options(FAKE_LAZY);
    o.max_size = 256;
    struct fixture f = start(o, options(FAKE_LAZY));
    assert_int_equal(ggml_backend_get_max_size(f.on_a), 256);
    assert_null(ggml_backend_alloc_buffer(f.on_a, 257));
    // Two tensors that fit one by one only.
    for (int i = 0; i < 2; i++)
        ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 48);
    f.buffers[f.n_buffers++] = ggml_backend_alloc_ctx_tensors(f.ctx, f.on_a);
    assert_non_null(f.buffers[0]);
    assert_int_equal(f.a->counts.buffers, 2);
    finish(&f);
}

// ---- transfers ------------------------------------------------------------------------------------------

// x set -> y = -x on A -> copied to B -> read, in queues as far as the devices have such.
static void pass_on(struct fixture * f) {
    struct ggml_tensor *x = row(f, f->a, "x"), *y = row(f, f->a, "y"), *there = row(f, f->b, "there");
    float values[N] = { 7, 8 };
    ggml_backend_tensor_set_async(f->on_a, x, values, 0, sizeof(values));
    ggml_backend_graph_compute_async(f->on_a, negate(f, x, y));
    ggml_backend_tensor_copy_async(f->on_a, f->on_b, y, there);
    ggml_backend_tensor_get_async(f->on_b, there, values, 0, sizeof(values));
    ggml_backend_synchronize(f->on_b);
    assert_true(values[0] == -7 && values[1] == -8 && values[2] == 0);
    ggml_backend_synchronize(f->on_a);
    assert_no_faults(f);
}

static void transfers_are_queued(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    pass_on(&f);
    assert_int_equal(f.a->counts.sets_async, 1);
    assert_int_equal(f.b->counts.gets_async, 1);
    assert_int_equal(f.b->counts.copies_async, 1);
    assert_int_equal(f.a->counts.sets + f.b->counts.gets + f.b->counts.copies, 0);
    finish(&f);
}

static void transfers_block_without_the_ability(void ** state) {
    (void) state;
    struct fake_options o = options(FAKE_LAZY);
    o.async_transfers = o.async_copies = false;
    struct fixture f = start(o, o);
    pass_on(&f);
    assert_int_equal(f.a->counts.sets, 1);
    assert_int_equal(f.b->counts.gets, 1);
    assert_int_equal(f.b->counts.copies, 1);
    assert_int_equal(f.a->counts.sets_async + f.b->counts.gets_async + f.b->counts.copies_async, 0);
    finish(&f);
}

static void copies_go_by_the_host_without_the_ability(void ** state) {
    (void) state;
    struct fake_options o = options(FAKE_LAZY);
    o.async_copies = o.copies = false;
    struct fixture f = start(o, o);
    pass_on(&f);
    assert_int_equal(f.b->counts.copies + f.b->counts.copies_async, 0);
    assert_int_equal(f.a->counts.gets, 1);
    assert_int_equal(f.b->counts.sets, 1);
    finish(&f);
}

static void rows_are_moved_with_strides(void ** state) {
    (void) state;
    for (int has = 0; has < 2; has++) {
        struct fake_options o = options(FAKE_LAZY);
        o.transfers_2d = has;
        struct fixture f = start(o, options(FAKE_LAZY));
        struct ggml_tensor * x = row(&f, f.a, "x");
        const float values[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        float back[8] = { 0 };
        set(x, 0);
        const int before = f.a->counts.sets;
        // Four of two floats: in x each 16 bytes apart.
        ggml_backend_tensor_set_2d(x, values, 0, 8, 4, 16, 8);
        assert_int_equal(f.a->counts.sets - before, has ? 1 : 4);
        ggml_backend_tensor_get_2d(x, back, 0, 8, 4, 16, 8);
        assert_memory_equal(back, values, sizeof(values));
        assert_true(((float *) fake_bytes(x))[4] == 3 && ((float *) fake_bytes(x))[2] == 0);
        ggml_backend_tensor_get_2d_async(f.on_a, x, back, 0, 8, 4, 16, 8);
        ggml_backend_synchronize(f.on_a);
        assert_int_equal(f.a->counts.gets_async, has ? 1 : 0); // else it blocks
        assert_int_equal(f.a->counts.gets, has ? 1 : 8);
        assert_memory_equal(back, values, sizeof(values));
        assert_no_faults(&f);
        finish(&f);
    }
}

// ---- work -----------------------------------------------------------------------------------------------

// Nobody waits, and it is done all the same.
static void work_in_the_background_ends_by_itself(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_BACKGROUND), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y");
    set(x, 3);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    const struct fake_queue * queue = ((struct fake_backend *) f.on_a->context)->queue;
    bool done = false;
    for (int i = 0; i < 10000 && !done; i++) {
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
        pthread_mutex_lock(&f.world->mutex);
        done = !queue->first;
        pthread_mutex_unlock(&f.world->mutex);
    }
    assert_true(done);
    assert_true(((float *) fake_bytes(y))[0] == -3);
    // That it happened orders nothing: the program did not wait.
    float values[N];
    ggml_backend_tensor_get(y, values, 0, sizeof(values));
    assert_fault(&f, "getting 'y'", "may still write");
    finish(&f);
}

static void offloads_are_wanted(void ** state) {
    (void) state;
    struct fake_options o = options(FAKE_LAZY);
    o.offloads = true;
    struct fixture f = start(o, options(FAKE_LAZY));
    struct ggml_tensor * x = row(&f, f.a, "x");
    struct ggml_tensor * node = ggml_neg(f.ctx, x);
    assert_true(ggml_backend_offload_op(f.on_a, node));
    assert_false(ggml_backend_offload_op(f.on_b, node));
    finish(&f);
}

static void independent_neighbours_change_places(void ** state) {
    (void) state;
    struct fake_options o = options(FAKE_LAZY);
    o.reorders = true;
    struct fixture f = start(o, options(FAKE_LAZY));
    assert_null(f.on_b->iface.graph_optimize);
    struct ggml_tensor * x = row(&f, f.a, "x");
    struct ggml_tensor *p = ggml_neg(f.ctx, x), *q = ggml_abs(f.ctx, x), *sum = ggml_add(f.ctx, p, q);
    struct ggml_cgraph * graph = ggml_new_graph_custom(f.ctx, 4, false);
    ggml_build_forward_expand(graph, sum);
    f.on_a->iface.graph_optimize(f.on_a, graph, &(struct ggml_backend_graph_optimize_params){ 0 });
    assert_ptr_equal(ggml_graph_node(graph, 0), q);
    assert_ptr_equal(ggml_graph_node(graph, 1), p);
    assert_ptr_equal(ggml_graph_node(graph, 2), sum);
    assert_int_equal(f.a->counts.optimizes, 1);
    finish(&f);
}

// ---- counts ---------------------------------------------------------------------------------------------

static void events_and_waits_are_counted(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    ggml_backend_event_t event = ggml_backend_event_new(&f.a->device);
    ggml_backend_event_record(event, f.on_a);
    ggml_backend_event_wait(f.on_b, event);
    ggml_backend_event_synchronize(event);
    ggml_backend_synchronize(f.on_a);
    ggml_backend_event_free(event);
    assert_int_equal(f.a->counts.events, 1);
    assert_int_equal(f.a->counts.events_freed, 1);
    assert_int_equal(f.a->counts.records, 1);
    assert_int_equal(f.b->counts.waits, 1);
    assert_int_equal(f.a->counts.event_synchronizes, 1);
    assert_int_equal(f.a->counts.synchronizes, 1);
    ggml_backend_free(fake_device_start(f.a));
    assert_int_equal(f.a->counts.backends, 2);
    assert_int_equal(f.a->counts.backends_freed, 1);
    finish(&f);
}

static void what_is_done_to_buffers_is_counted(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor * x = row(&f, f.a, "x");
    assert_int_equal(f.a->counts.tensors, 1);
    ggml_backend_buffer_clear(x->buffer, 0);
    assert_int_equal(f.a->counts.clears, 1);
    assert_all(x, 0);
    ggml_backend_tensor_memset(x, 0, 4, 8);
    assert_int_equal(f.a->counts.memsets, 1);
    ggml_backend_buffer_reset(x->buffer);
    assert_int_equal(f.a->counts.resets, 1);
    ggml_backend_buffer_free(f.buffers[--f.n_buffers]);
    assert_int_equal(f.a->counts.buffers, 1);
    assert_int_equal(f.a->counts.buffers_freed, 1);
    finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_memory_can_be_touched),
        cmocka_unit_test(memory_in_use_is_told),
        cmocka_unit_test(a_largest_buffer),
        cmocka_unit_test(transfers_are_queued),
        cmocka_unit_test(transfers_block_without_the_ability),
        cmocka_unit_test(copies_go_by_the_host_without_the_ability),
        cmocka_unit_test(rows_are_moved_with_strides),
        cmocka_unit_test(work_in_the_background_ends_by_itself),
        cmocka_unit_test(offloads_are_wanted),
        cmocka_unit_test(independent_neighbours_change_places),
        cmocka_unit_test(events_and_waits_are_counted),
        cmocka_unit_test(what_is_done_to_buffers_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
