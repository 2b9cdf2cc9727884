// SPDX-License-Identifier: MIT
// The fake devices themselves: what they compute, when, and what they do badly.
#include "fake/fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- what a device is -----------------------------------------------------------------------------------

static void its_addresses_cannot_be_touched(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor * x = row(&f, f.a, "x");
    set(x, 3);
    assert_true(((float *) fake_bytes(x))[N - 1] == 3);
    assert_false(ggml_backend_buffer_is_host(x->buffer));
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); // the harness catches it
        signal(SIGBUS, SIG_DFL);
        ((volatile float *) x->data)[0] = 1;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    // Pinned memory is the host's.
    struct ggml_tensor * h = row_in(&f, ggml_backend_dev_host_buffer_type(&f.a->device), "h");
    ((float *) h->data)[0] = 1;
    assert_true(ggml_backend_buffer_is_host(h->buffer));
    assert_no_faults(&f);
    finish(&f);
}

static void it_answers_as_its_options_say(void ** state) {
    (void) state;
    struct fake_options o = options(FAKE_BACKGROUND);
    o.name = "Odd";
    o.alignment = 256;
    o.max_size = 4096;
    o.scratch = 32;
    o.host_buffers = o.from_host_ptr = o.events = o.copies = o.async_copies = o.transfers_2d = false;
    o.ops[GGML_OP_MUL / 64] &= ~((uint64_t) 1 << GGML_OP_MUL % 64);
    o.types &= ~((uint64_t) 1 << GGML_TYPE_F16);
    struct fixture f = start(o, options(FAKE_LAZY));
    ggml_backend_dev_t dev = &f.a->device;
    struct ggml_backend_dev_props props;
    ggml_backend_dev_get_props(dev, &props);
    assert_string_equal(props.name, "Odd");
    assert_string_equal(ggml_backend_dev_name(&f.b->device), "Fake1");
    assert_true(props.caps.async && !props.caps.host_buffer && !props.caps.events &&
                !props.caps.buffer_from_host_ptr);
    assert_null(ggml_backend_event_new(dev));
    assert_null(ggml_backend_dev_host_buffer_type(dev));
    assert_int_equal(ggml_backend_get_alignment(f.on_a), 256);
    assert_null(ggml_backend_alloc_buffer(f.on_a, 4097));
    struct ggml_tensor *x = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, N),
                       *y = ggml_cast(f.ctx, x, GGML_TYPE_F16);
    struct ggml_tensor * product = ggml_mul_mat(f.ctx, x, x);
    assert_int_equal(ggml_backend_buft_get_alloc_size(&f.a->type, product), 4 + 32);
    assert_int_equal(ggml_backend_buft_get_alloc_size(&f.a->type, x), 4 * N);
    assert_true(ggml_backend_supports_op(f.on_a, product));
    assert_false(ggml_backend_supports_op(f.on_a, ggml_mul(f.ctx, x, x)));
    assert_false(ggml_backend_supports_op(f.on_a, y));
    assert_true(ggml_backend_supports_op(f.on_b, y));
    assert_true(ggml_backend_supports_buft(f.on_a, &f.a->type));
    assert_false(ggml_backend_supports_buft(f.on_a, &f.b->type));
    assert_false(ggml_backend_supports_buft(f.on_a, ggml_backend_cpu_buffer_type()));
    assert_int_equal(ggml_backend_reg_dev_count(fake_world_reg(f.world)), 2);
    assert_ptr_equal(ggml_backend_reg_dev_get(fake_world_reg(f.world), 1), &f.b->device);
    assert_ptr_equal(ggml_backend_reg_get_proc_address(fake_world_reg(f.world), "fake_world"), f.world);
    finish(&f);
}

static void memory_of_the_program(void ** state) {
    (void) state;
    static float program[N];
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    ggml_backend_buffer_t mapped =
        ggml_backend_dev_buffer_from_host_ptr(&f.a->device, program, sizeof(program), 0);
    struct ggml_tensor *x = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, N), *y = row(&f, f.a, "y");
    assert_int_equal(ggml_backend_tensor_alloc(mapped, x, program), GGML_STATUS_SUCCESS);
    program[3] = 5;
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, x, y)), GGML_STATUS_SUCCESS);
    assert_true(((float *) fake_bytes(y))[3] == -5);
    assert_no_faults(&f);
    f.buffers[f.n_buffers++] = mapped;
    finish(&f);
}

// ---- when it works --------------------------------------------------------------------------------------

static void lazy_work_waits_to_be_waited_for(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y");
    set(x, 3);
    set(y, 0);
    assert_int_equal(ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y)), GGML_STATUS_SUCCESS);
    assert_true(((float *) fake_bytes(y))[0] == 0);
    ggml_backend_synchronize(f.on_b); // somebody else
    assert_true(((float *) fake_bytes(y))[0] == 0);
    ggml_backend_synchronize(f.on_a);
    assert_all(y, -3);
    assert_no_faults(&f);
    assert_int_equal(f.a->counts.launches, 1);
    assert_int_equal(f.a->counts.nodes, 1);
    finish(&f);
}

static void a_graph_may_change_after_its_launch(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y"), *z = row(&f, f.a, "z");
    set(x, 3);
    set(z, 0);
    struct ggml_cgraph * graph = negate(&f, x, y);
    ggml_backend_graph_compute_async(f.on_a, graph);
    ggml_graph_node(graph, 0)->data = z->data;
    ggml_graph_node(graph, 0)->op = GGML_OP_NONE;
    ggml_backend_synchronize(f.on_a);
    assert_all(y, -3);
    assert_all(z, 0);
    finish(&f);
}

static void an_event_brings_only_what_is_before_it(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y"), *z = row(&f, f.a, "z");
    ggml_backend_event_t event = ggml_backend_event_new(&f.a->device);
    set(x, 3);
    set(z, 0);
    ggml_backend_event_synchronize(event); // never recorded
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
    ggml_backend_event_record(event, f.on_a);
    ggml_backend_graph_compute_async(f.on_a, negate(&f, x, z));
    ggml_backend_event_synchronize(event);
    assert_all(y, -3);
    assert_no_faults(&f);
    assert_true(((float *) fake_bytes(z))[0] == 0);
    ggml_backend_event_free(event);
    finish(&f);
}

// x on A -> y on A -> copied to B -> z on B; the program waits for B alone.
static void work_goes_through_two_devices(enum fake_mode mode_a, enum fake_mode mode_b,
                                          enum fake_copying copying) {
    struct fake_options a = options(mode_a), b = options(mode_b);
    b.copying = copying;
    struct fixture f = start(a, b);
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y"), *in = row(&f, f.b, "in"),
                       *z = row(&f, f.b, "z");
    for (int i = 1; i <= 20; i++) {
        float value[N] = { 0 };
        value[0] = (float) i;
        ggml_backend_tensor_set_async(f.on_a, x, value, 0, sizeof(value));
        ggml_backend_graph_compute_async(f.on_a, negate(&f, x, y));
        ggml_backend_tensor_copy_async(f.on_a, f.on_b, y, in);
        ggml_backend_graph_compute_async(f.on_b, negate(&f, in, z));
        ggml_backend_tensor_get_async(f.on_b, z, value, 0, sizeof(value));
        ggml_backend_synchronize(f.on_b);
        if (mode_a == FAKE_AT_ONCE) assert_int_equal(f.b->counts.staged, i);
        assert_true(value[0] == (float) i);
        ggml_backend_synchronize(f.on_a);
    }
    assert_no_faults(&f);
    finish(&f);
}

static void devices_of_all_kinds_pass_work_on(void ** state) {
    (void) state;
    for (enum fake_mode a = FAKE_AT_ONCE; a <= FAKE_BACKGROUND; a++) {
        for (enum fake_mode b = FAKE_LAZY; b <= FAKE_BACKGROUND; b++) {
            for (enum fake_copying copying = FAKE_BY_SOURCE; copying <= FAKE_APART; copying++)
                work_goes_through_two_devices(a, b, copying);
        }
    }
}

static void results_are_those_of_the_cpu(void ** state) {
    (void) state;
    struct fake_options o = options(FAKE_BACKGROUND);
    o.scratch = 100;
    struct fixture f = start(o, options(FAKE_LAZY));
    struct test_rng rng = { test_seed() };
    struct ggml_tensor * a = ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 33, 7);
    struct ggml_tensor * b = ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 33, 5);
    struct ggml_tensor * c = ggml_soft_max(f.ctx, ggml_mul_mat(f.ctx, a, ggml_gelu(f.ctx, b)));
    struct ggml_cgraph * graph = ggml_new_graph_custom(f.ctx, 8, false);
    ggml_build_forward_expand(graph, ggml_cont(f.ctx, ggml_transpose(f.ctx, c)));
    f.buffers[f.n_buffers++] = ggml_backend_alloc_ctx_tensors(f.ctx, f.on_a);
    for (int i = 0; i < 33 * 7; i++) {
        const float v = test_rng_float(&rng, -2, 2);
        ggml_backend_tensor_set(a, &v, (size_t) i * 4, 4);
        if (i < 33 * 5) ggml_backend_tensor_set(b, &v, (size_t) i * 4, 4);
    }
    ggml_backend_t cpu = ggml_backend_cpu_init();
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(cpu, graph);
    assert_int_equal(ggml_backend_graph_compute(cpu, copy.graph), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_backend_graph_compute(f.on_a, graph), GGML_STATUS_SUCCESS);
    float x[35], y[35];
    ggml_backend_tensor_get(ggml_graph_node(graph, -1), x, 0, sizeof(x));
    ggml_backend_tensor_get(ggml_graph_node(copy.graph, -1), y, 0, sizeof(y));
    assert_memory_equal(x, y, sizeof(x));
    assert_no_faults(&f);
    ggml_backend_graph_copy_free(copy);
    ggml_backend_free(cpu);
    finish(&f);
}

// ---- what it is ordered to do badly ---------------------------------------------------------------------

static void orders_are_followed_once(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_LAZY), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y"), *there = row(&f, f.b, "there");
    set(x, 3);
    f.a->orders = (struct fake_orders){ .alloc = 2, .init_tensor = 1, .launch = 2, .event = 1, .start = 1 };
    ggml_backend_buffer_t first = ggml_backend_alloc_buffer(f.on_a, 64);
    struct ggml_tensor * t = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, N);
    assert_int_equal(ggml_backend_tensor_alloc(first, t, ggml_backend_buffer_get_base(first)),
                     GGML_STATUS_ALLOC_FAILED);
    ggml_backend_buffer_free(first);
    assert_null(ggml_backend_alloc_buffer(f.on_a, 64));
    first = ggml_backend_alloc_buffer(f.on_a, 64);
    assert_non_null(first);
    ggml_backend_buffer_free(first);
    assert_null(ggml_backend_event_new(&f.a->device));
    assert_null(fake_device_start(f.a));
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, x, y)), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, x, y)), GGML_STATUS_FAILED);
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, x, y)), GGML_STATUS_SUCCESS);
    f.b->orders.copy = 1; // then by way of the host
    ggml_backend_tensor_copy_async(f.on_a, f.on_b, y, there);
    ggml_backend_synchronize(f.on_b);
    assert_int_equal(f.b->counts.copies_async, 0);
    assert_all(there, -3);
    f.a->orders.lies_about_size = true;
    assert_null(ggml_backend_alloc_buffer(f.on_a, 64));
    f.a->orders = (struct fake_orders){ .always_alloc = 1 };
    assert_null(ggml_backend_alloc_buffer(f.on_a, 64));
    assert_null(ggml_backend_alloc_buffer(f.on_a, 64));
    assert_no_faults(&f);
    finish(&f);
}

static void a_device_that_lies(void ** state) {
    (void) state;
    struct fake_options o = options(FAKE_LAZY);
    o.ops[0] = o.ops[1] = 0;
    struct fixture f = start(o, o);
    struct ggml_tensor * x = row(&f, f.a, "x");
    struct ggml_cgraph * graph = negate(&f, x, x);
    assert_false(ggml_backend_supports_op(f.on_a, ggml_graph_node(graph, 0)));
    f.a->orders.lies_about = GGML_OP_UNARY;
    assert_true(ggml_backend_supports_op(f.on_a, ggml_graph_node(graph, 0)));
    assert_int_equal(ggml_backend_graph_compute(f.on_a, graph), GGML_STATUS_FAILED);
    assert_no_faults(&f);
    finish(&f);
}

static void a_device_that_is_lost(void ** state) {
    (void) state;
    struct fixture f = start(options(FAKE_BACKGROUND), options(FAKE_LAZY));
    struct ggml_tensor *x = row(&f, f.a, "x"), *y = row(&f, f.a, "y"), *there = row(&f, f.b, "there");
    set(x, 3);
    f.a->orders.lose_at = 2;
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, x, y)), GGML_STATUS_SUCCESS);
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, x, y)), GGML_STATUS_FAILED);
    assert_int_equal(ggml_backend_graph_compute(f.on_a, negate(&f, x, y)), GGML_STATUS_FAILED);
    assert_null(ggml_backend_alloc_buffer(f.on_a, 64));
    assert_null(ggml_backend_event_new(&f.a->device));
    set(x, 7);
    ggml_backend_tensor_set_async(f.on_a, x, there, 0, 4);
    ggml_backend_synchronize(f.on_a);
    assert_true(((float *) fake_bytes(x))[0] == 3);
    finish(&f); // and all that it has can be freed
}

static void what_is_not_freed_is_counted(void ** state) {
    (void) state;
    struct fake_world * world = fake_world_new(1);
    struct fake_device * d = fake_device_new(world, fake_options_default());
    ggml_backend_t backend = fake_device_start(d);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(backend, 100);
    assert_int_equal(d->counts.bytes, 100);
    assert_int_equal(d->counts.buffers, 1);
    ggml_backend_buffer_free(buffer);
    assert_int_equal(d->counts.bytes, 0);
    assert_int_equal(d->counts.peak_bytes, 100);
    ggml_backend_event_t event = ggml_backend_event_new(&d->device);
    ggml_backend_free(backend);
    for (int i = 1; i < FAKE_DEVICES; i++)
        assert_non_null(fake_device_new(world, fake_options_default()));
    assert_null(fake_device_new(world, fake_options_default()));
    free(event->context);
    assert_int_equal(fake_world_free(world), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_addresses_cannot_be_touched),
        cmocka_unit_test(it_answers_as_its_options_say),
        cmocka_unit_test(memory_of_the_program),
        cmocka_unit_test(lazy_work_waits_to_be_waited_for),
        cmocka_unit_test(a_graph_may_change_after_its_launch),
        cmocka_unit_test(an_event_brings_only_what_is_before_it),
        cmocka_unit_test(devices_of_all_kinds_pass_work_on),
        cmocka_unit_test(results_are_those_of_the_cpu),
        cmocka_unit_test(orders_are_followed_once),
        cmocka_unit_test(a_device_that_lies),
        cmocka_unit_test(a_device_that_is_lost),
        cmocka_unit_test(what_is_not_freed_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
