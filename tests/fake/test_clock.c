// SPDX-License-Identifier: MIT
// The clocks of the fake devices find what is not in order, and nothing else.
#include "fake/fixture.h"

static void reading_before_it_is_written(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y");
    float values[N];
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    ggml_backend_tensor_get(y, values, 0, sizeof(values));
    assert_fault(&f, "getting 'y' reads", "NEG 'y' on Fake0 may still write");
    ggml_backend_tensor_set(x, values, 0, sizeof(values));
    assert_fault(&f, "setting 'x' writes", "NEG 'y' on Fake0 may still read");
    ggml_backend_tensor_memset(y, 0, 60, 4);
    assert_fault(&f, "memset of 'y' writes", "NEG");
    ggml_backend_synchronize(f.on_a);
    ggml_backend_tensor_get(y, values, 0, sizeof(values));
    set(x, 1);
    assert_no_faults(&f);
    finish(&f);
}

static void neighbours_are_no_fault(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y");
    struct ggml_tensor * half = ggml_view_1d(f.ctx, y, N / 2, 0);
    ggml_backend_view_init(half);
    const float v[N] = { 0 };
    set(x, 1);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, ggml_view_1d(f.ctx, x, N / 2, 0), half));
    ggml_backend_tensor_set_async(f.on_a, half, v, 0, 4 * N / 2);
    ggml_backend_tensor_set(y, v, 4 * N / 2, 4 * N / 2);
    assert_no_faults(&f);
    ggml_backend_tensor_set(y, v, 4 * N / 2 - 4, 4);
    assert_fault(&f, "setting 'y'", "setting 'y (view)' on Fake0");
    // Rows with a gap between them, and what is in the gap.
    struct ggml_tensor *rows = ggml_view_2d(f.ctx, y, 2, 4, 16, 0),
                       *gap = ggml_view_2d(f.ctx, y, 2, 4, 16, 8);
    ggml_backend_view_init(rows);
    ggml_backend_view_init(gap);
    ggml_backend_synchronize(f.on_a);
    ggml_backend_t second = fake_device_start(f.a);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, rows, rows));
    ggml_backend_graph_compute_async(second, negate(&f, gap, gap));
    assert_no_faults(&f);
    ggml_backend_graph_compute_async(second, negate(&f, rows, gap));
    assert_fault(&f, "reads", "may still write");
    ggml_backend_free(second);
    finish(&f);
}

// Data that was handed over belongs to the queue until it is waited for.
static void the_source_of_a_transfer_is_reused(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.b, "y");
    struct ggml_tensor * h = row_in(&f, ggml_backend_dev_host_buffer_type(&f.a->device), "h");
    set(h, 1);
    ggml_backend_tensor_set_async(f.on_a, x, h->data, 0, ggml_nbytes(h));
    set(h, 2);
    assert_fault(&f, "setting 'h' writes", "setting 'x' on Fake0 may still read");
    ggml_backend_synchronize(f.on_a);
    set(h, 2);
    float values[N];
    ggml_backend_tensor_get_async(f.on_a, x, values, 0, sizeof(values));
    ggml_backend_tensor_set(y, values, 0, sizeof(values));
    assert_fault(&f, "setting 'y' reads", "getting 'x' on Fake0 may still write");
    finish(&f);
}

static void a_missing_wait_between_devices(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y"), *z = row(&f, f.a, "z");
    ggml_backend_event_t event = ggml_backend_event_new(&f.a->device);
    ggml_backend_t second = fake_device_start(f.a); // another queue of the same device
    set(x, 3);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    ggml_backend_event_record(event, f.on_a);
    ggml_backend_graph_compute_async(second, negate(&f, y, z));
    assert_fault(&f, "NEG 'z' on Fake0 reads", "NEG 'y' on Fake0 may still write");
    ggml_backend_synchronize(second);
    ggml_backend_synchronize(f.on_a);
    // With the wait all is well, and the work arrives.
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    ggml_backend_event_record(event, f.on_a);
    ggml_backend_event_wait(second, event);
    ggml_backend_graph_compute_async(second, negate(&f, y, z));
    ggml_backend_synchronize(second);
    assert_all(z, 3);
    assert_no_faults(&f);
    ggml_backend_free(second);
    ggml_backend_event_free(event);
    finish(&f);
}

// An event that was recorded too early orders nothing that came later.
static void an_event_recorded_too_early(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y");
    ggml_backend_event_t event = ggml_backend_event_new(&f.a->device);
    set(x, 3);
    ggml_backend_event_record(event, f.on_a);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    ggml_backend_event_synchronize(event);
    set(x, 4);
    assert_fault(&f, "setting 'x' writes", "may still read");
    ggml_backend_event_free(event);
    finish(&f);
}

// A copy that does not wait for the kernel that makes what it copies, and one that does.
static void a_copy_before_the_kernel(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y"), *there = row(&f, f.b, "there");
    set(x, 3);
    set(y, 0);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    ggml_backend_tensor_copy(y, there);
    assert_fault(&f, "copying 'y' to 'there' reads", "NEG 'y' on Fake0 may still write");
    assert_all(there, 0);
    // In another queue of the same device, which nothing made wait.
    ggml_backend_t second = fake_device_start(f.a);
    ggml_backend_tensor_copy_async(second, f.on_b, y, there);
    assert_fault(&f, "copying 'y' from Fake0 to Fake1 reads", "NEG 'y' on Fake0 may still write");
    ggml_backend_tensor_copy_async(f.on_a, f.on_b, y, there);
    fake_world_forget(f.world); // the two copies are not in order either
    ggml_backend_synchronize(second);
    ggml_backend_synchronize(f.on_a);
    ggml_backend_synchronize(f.on_b);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    ggml_backend_tensor_copy_async(f.on_a, f.on_b, y, there);
    ggml_backend_synchronize(f.on_b);
    assert_all(there, -3);
    assert_no_faults(&f);
    ggml_backend_free(second);
    finish(&f);
}

// Two copies of an input in turn: the third round needs the first copy again.
static void a_pipeline_copy_is_reused_without_waiting(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *out = row(&f, f.b, "out");
    struct ggml_tensor * copies[2] = { row(&f, f.b, "copy 0"), row(&f, f.b, "copy 1") };
    ggml_backend_event_t used[2] = { ggml_backend_event_new(&f.b->device),
                                     ggml_backend_event_new(&f.b->device) };
    set(x, 3);
    for (int waits = 1; waits >= 0; waits--) {
        for (int i = 0; i < 4; i++) {
            // The copy runs in A's queue, which has to wait until B has read what was there.
            if (waits) ggml_backend_event_wait(f.on_a, used[i % 2]);
            ggml_backend_tensor_copy_async(f.on_a, f.on_b, x, copies[i % 2]);
            ggml_backend_graph_compute_async(f.on_b, negate(&f, copies[i % 2], out));
            ggml_backend_event_record(used[i % 2], f.on_b);
        }
        if (waits)
            assert_no_faults(&f);
        else
            assert_fault(&f, "copying 'x' from Fake0 to Fake1 writes", "NEG 'out' on Fake1 may still read");
        ggml_backend_synchronize(f.on_b);
        ggml_backend_synchronize(f.on_a);
    }
    ggml_backend_event_free(used[0]);
    ggml_backend_event_free(used[1]);
    finish(&f);
}

// What a copy reads may be written over: by later work of its source's back end, if the copy is not in its
// queue.
static void the_source_of_a_copy_is_reused(void ** state) {
    (void) state;
    for (enum fake_copying copying = FAKE_BY_SOURCE; copying <= FAKE_APART; copying++) {
        struct fake_options b = options(FAKE_LAZY);
        b.copying = copying;
        struct fixture f = start(options(FAKE_LAZY), b);
        struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y"), *there = row(&f, f.b, "there");
        set(x, 1);
        set(y, 2);
        ggml_backend_tensor_copy_async(f.on_a, f.on_b, x, there);
        ggml_backend_graph_compute_async(f.on_a, negate(&f, y, x));
        if (copying == FAKE_APART) {
            assert_fault(&f, "NEG 'x' on Fake0 writes", "copying 'x' from Fake0 to Fake1 may still read");
        }
        ggml_backend_synchronize(f.on_a);
        ggml_backend_synchronize(f.on_b);
        assert_no_faults(&f);
        assert_all(there, copying == FAKE_APART ? -2 : 1);
        finish(&f);
    }
}

static void memory_is_freed_in_use(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_BACKGROUND));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y");
    set(x, 3);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    ggml_backend_buffer_free(f.buffers[--f.n_buffers]);
    assert_fault(&f, "freeing a buffer of Fake0 writes", "NEG 'y' on Fake0 may still write");
    finish(&f);
}

static void memory_of_others_is_not_computed_with(void ** state) {
    (void) state;
    struct fake_options reads = options(FAKE_LAZY);
    reads.reads_host = true;
    struct fixture f = start(options(FAKE_LAZY), reads);
    struct ggml_tensor *x = row(&f, f.b, "x"), *y = row(&f, f.a, "y"), *z = row(&f, f.b, "z");
    struct ggml_tensor * h = row_in(&f, ggml_backend_cpu_buffer_type(), "h");
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, x, y)), GGML_STATUS_FAILED);
    assert_fault(&f, "Fake0 is to compute NEG 'y' with 'x'", "cannot reach: Fake1");
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, h, y)), GGML_STATUS_FAILED);
    assert_fault(&f, "with 'h'", "cannot reach");
    set(h, 2);
    assert_int_equal(ggml_backend_graph_compute(f.on_b, negate(&f, h, z)), GGML_STATUS_SUCCESS);
    assert_all(z, -2);
    assert_no_faults(&f);
    f.a->options.ops[0] = f.a->options.ops[1] = 0;
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, y, y)), GGML_STATUS_FAILED);
    assert_fault(&f, "NEG 'y'", "does not support");
    finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_before_it_is_written),
        cmocka_unit_test(neighbours_are_no_fault),
        cmocka_unit_test(the_source_of_a_transfer_is_reused),
        cmocka_unit_test(a_missing_wait_between_devices),
        cmocka_unit_test(an_event_recorded_too_early),
        cmocka_unit_test(a_copy_before_the_kernel),
        cmocka_unit_test(a_pipeline_copy_is_reused_without_waiting),
        cmocka_unit_test(the_source_of_a_copy_is_reused),
        cmocka_unit_test(memory_is_freed_in_use),
        cmocka_unit_test(memory_of_others_is_not_computed_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
