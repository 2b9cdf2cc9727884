// SPDX-License-Identifier: MIT
// backend/backend.c and device.c: each call reaches its function, and what is missing is refused.
#include "unit/fake_device.h"

#include "ggml-alloc.h"
#include "ggml-ext.h"

struct fixture {
    struct fake fake;
    struct ggml_context * ctx;
    struct ggml_cgraph * graph;
    struct ggml_tensor * sum;
    ggml_backend_t backend;
};

static int setup(void ** state) {
    static struct fixture f;
    fake_init(&f.fake);
    f.ctx = ggml_init(
        (struct ggml_init_params){ 64 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true });
    struct ggml_tensor * a = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 4);
    f.sum = ggml_add(f.ctx, a, a);
    f.graph = ggml_new_graph(f.ctx);
    ggml_build_forward_expand(f.graph, f.sum);
    f.backend = ggml_backend_dev_init(&f.fake.device, NULL);
    *state = &f;
    return 0;
}

static int teardown(void ** state) {
    struct fixture * f = *state;
    ggml_backend_free(f->backend);
    ggml_free(f->ctx);
    return 0;
}

static void a_device_answers(void ** state) {
    struct fixture * f = *state;
    ggml_backend_dev_t dev = &f->fake.device;
    size_t free_bytes, total;
    ggml_backend_dev_memory(dev, &free_bytes, &total);
    assert_string_equal(ggml_backend_dev_name(dev), "Fake0");
    assert_string_equal(ggml_backend_dev_description(dev), "a device that does not exist");
    assert_true(free_bytes == 100 && total == 200);
    assert_int_equal(ggml_backend_dev_type(dev), GGML_BACKEND_DEVICE_TYPE_ACCEL);
    assert_ptr_equal(ggml_backend_dev_backend_reg(dev), &f->fake.reg);
    assert_ptr_equal(ggml_backend_dev_buffer_type(dev), &f->fake.type);
    assert_null(ggml_backend_dev_host_buffer_type(dev));
    assert_true(ggml_backend_dev_supports_op(dev, f->sum));
    assert_false(ggml_backend_dev_supports_op(dev, f->sum->src[0]));
    assert_true(ggml_backend_dev_supports_buft(dev, &f->fake.type));
    assert_false(ggml_backend_dev_supports_buft(dev, NULL));
    assert_false(ggml_backend_dev_offload_op(dev, f->sum));
    assert_null(ggml_backend_dev_buffer_from_host_ptr(dev, f, 10, 10));
    assert_contains(ggml_ext_last_error(), "Fake0");
}

static void properties_start_from_zero(void ** state) {
    struct fixture * f = *state;
    struct ggml_backend_dev_props props;
    memset(&props, 0xff, sizeof(props));
    ggml_backend_dev_get_props(&f->fake.device, &props);
    assert_string_equal(props.name, "Fake0");
    assert_null(props.device_id);
    assert_true(props.memory_free == 0 && props.memory_total == 200);
    assert_true(props.caps.events);
    assert_false(props.caps.async);
    memset(&props, 0xff, sizeof(props));
    ggml_backend_dev_get_props(NULL, &props);
    assert_null(props.name);
}

static void null_devices_are_refused(void ** state) {
    struct fixture * f = *state;
    size_t free_bytes = 1, total = 1;
    ggml_backend_dev_memory(NULL, &free_bytes, &total);
    assert_true(free_bytes == 0 && total == 0);
    assert_null(ggml_backend_dev_init(NULL, NULL));
    assert_contains(ggml_ext_last_error(), "ggml_backend_dev_init: the device is NULL");
    assert_null(ggml_backend_dev_buffer_type(NULL));
    assert_false(ggml_backend_dev_supports_op(NULL, f->sum));
    assert_string_equal(ggml_backend_dev_name(NULL), "NULL");
    assert_null(ggml_backend_event_new(NULL));
    assert_null(ggml_backend_dev_init(&f->fake.device, "fail"));
    assert_contains(ggml_ext_last_error(), "Fake0 cannot be started");
    assert_false(
        ggml_backend_dev_supports_op(&f->fake.device, ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, -1)));
}

static void a_registry_entry_answers(void ** state) {
    struct fixture * f = *state;
    assert_string_equal(ggml_backend_reg_name(&f->fake.reg), "Fakes");
    assert_int_equal(ggml_backend_reg_dev_count(&f->fake.reg), 1);
    assert_ptr_equal(ggml_backend_reg_dev_get(&f->fake.reg, 0), &f->fake.device);
    assert_null(ggml_backend_reg_dev_get(&f->fake.reg, 1));
    assert_contains(ggml_ext_last_error(), "no device 1 of 1");
    assert_null(ggml_backend_reg_dev_get(NULL, 0));
    assert_ptr_equal(ggml_backend_reg_get_proc_address(&f->fake.reg, "fake"), &f->fake);
    assert_null(ggml_backend_reg_get_proc_address(&f->fake.reg, "unknown"));
    f->fake.reg.iface.get_proc_address = NULL;
    assert_null(ggml_backend_reg_get_proc_address(&f->fake.reg, "fake"));
}

static void a_back_end_answers(void ** state) {
    struct fixture * f = *state;
    assert_string_equal(ggml_backend_name(f->backend), "Fake");
    assert_string_equal(ggml_backend_name(NULL), "NULL");
    assert_int_equal((*ggml_backend_guid(f->backend))[1], 2);
    assert_null(ggml_backend_guid(NULL));
    assert_ptr_equal(ggml_backend_get_device(f->backend), &f->fake.device);
    assert_ptr_equal(ggml_backend_get_default_buffer_type(f->backend), &f->fake.type);
    assert_int_equal(ggml_backend_get_alignment(f->backend), 64);
    assert_true(ggml_backend_get_max_size(f->backend) == SIZE_MAX);
    assert_true(ggml_backend_supports_op(f->backend, f->sum));
    assert_true(ggml_backend_supports_buft(f->backend, &f->fake.type));
    assert_false(ggml_backend_offload_op(f->backend, f->sum));
    ggml_backend_buffer_t b = ggml_backend_alloc_buffer(f->backend, 10);
    assert_int_equal(ggml_backend_buffer_get_size(b), 10);
    ggml_backend_buffer_free(b);
    assert_null(ggml_backend_alloc_buffer(NULL, 10));
    ggml_backend_free(NULL);
}

// ---- devices that promise more than they have -------------------------------------------------------------

static ggml_backend_t broken; // what a_broken_start() gives

static ggml_backend_t a_broken_start(ggml_backend_dev_t dev, const char * params) {
    ggml_backend_t backend = fake_start(dev, NULL);
    if (strcmp(params, "no name") == 0) backend->iface.get_name = NULL;
    if (strcmp(params, "no compute") == 0) backend->iface.graph_compute = NULL;
    if (strcmp(params, "no device") == 0) backend->device = NULL;
    if (strcmp(params, "no free") == 0) backend->iface.free = NULL;
    broken = backend;
    return backend;
}

static void back_ends_with_holes_are_refused(void ** state) {
    struct fixture * f = *state;
    static const char * const faults[] = { "no name", "no compute", "no device", "no free" };
    f->fake.device.iface.init_backend = a_broken_start;
    for (int i = 0; i < 4; i++) {
        assert_null(ggml_backend_dev_init(&f->fake.device, faults[i]));
        assert_contains(ggml_ext_last_error(),
                        "device Fake0: its back end has no device, or its table lacks");
    }
    free(broken); // the last one, which nothing frees
    ggml_backend_t good = ggml_backend_dev_init(&f->fake.device, "");
    assert_non_null(good);
    ggml_backend_free(good);
}

static ggml_backend_event_t an_event_of_nobody(ggml_backend_dev_t dev) {
    (void) dev;
    return calloc(1, sizeof(struct ggml_backend_event));
}

static void events_without_a_device_do_no_harm(void ** state) {
    struct fixture * f = *state;
    f->fake.device.iface.event_new = an_event_of_nobody;
    ggml_backend_event_t event = ggml_backend_event_new(&f->fake.device);
    ggml_backend_event_synchronize(event);
    assert_contains(ggml_ext_last_error(), "cannot wait for events");
    ggml_backend_event_free(event);
    free(event);
    f->fake.device.iface.event_free = NULL; // nobody could free them
    assert_null(ggml_backend_event_new(&f->fake.device));
}

static ggml_backend_buffer_type_t no_type(ggml_backend_dev_t dev) {
    (void) dev;
    return NULL;
}

static void a_device_without_memory(void ** state) {
    struct fixture * f = *state;
    f->fake.device.iface.get_buffer_type = no_type;
    assert_null(ggml_backend_get_default_buffer_type(f->backend));
    assert_null(ggml_backend_alloc_buffer(f->backend, 16));
    assert_contains(ggml_ext_last_error(), "the buffer type is NULL");
    assert_int_equal(ggml_backend_get_alignment(f->backend), 1);
    assert_null(ggml_backend_alloc_ctx_tensors(f->ctx, f->backend));
    f->fake.device.iface.get_buffer_type = fake_buffer_type;
}

static bool wants_sums(ggml_backend_dev_t dev, const struct ggml_tensor * node) {
    (void) dev;
    return node->op == GGML_OP_ADD && ggml_nelements(node) >= 4;
}

static void offload_is_the_devices_wish(void ** state) {
    struct fixture * f = *state;
    f->fake.device.iface.offload_op = wants_sums;
    assert_true(ggml_backend_dev_offload_op(&f->fake.device, f->sum));
    assert_true(ggml_backend_offload_op(f->backend, f->sum));
    assert_false(ggml_backend_offload_op(f->backend, f->sum->src[0]));
    assert_false(ggml_backend_offload_op(f->backend, NULL));
    assert_false(ggml_backend_offload_op(NULL, f->sum));
    assert_false(ggml_backend_dev_offload_op(NULL, f->sum));
}

static void a_graph_is_computed_and_waited_for(void ** state) {
    struct fixture * f = *state;
    assert_int_equal(ggml_backend_graph_compute_async(f->backend, f->graph), GGML_STATUS_SUCCESS);
    assert_int_equal(f->fake.n_sync, 0);
    assert_int_equal(ggml_backend_graph_compute(f->backend, f->graph), GGML_STATUS_SUCCESS);
    assert_int_equal(f->fake.n_sync, 1);
    f->fake.compute_status = GGML_STATUS_ABORTED;
    assert_int_equal(ggml_backend_graph_compute(f->backend, f->graph), GGML_STATUS_ABORTED);
    assert_int_equal(f->fake.n_compute, 3);
    f->backend->iface.synchronize = NULL;
    ggml_backend_synchronize(f->backend);
}

static void a_refused_graph_is_not_computed(void ** state) {
    struct fixture * f = *state;
    struct ggml_tensor * bad = ggml_add(f->ctx, f->sum, ggml_new_tensor_1d(f->ctx, GGML_TYPE_F32, 3));
    ggml_build_forward_expand(f->graph, bad);
    assert_int_equal(ggml_backend_graph_compute(f->backend, f->graph), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "ggml_backend_graph_compute");
    assert_contains(ggml_ext_last_error(), "ggml_add");
    assert_int_equal(ggml_backend_graph_compute(NULL, f->graph), GGML_STATUS_FAILED);
    assert_int_equal(ggml_backend_graph_compute_async(f->backend, NULL), GGML_STATUS_FAILED);
    assert_int_equal(f->fake.n_compute, 0);
}

static void plans_that_do_not_exist(void ** state) {
    struct fixture * f = *state;
    assert_null(ggml_backend_graph_plan_create(f->backend, f->graph));
    assert_contains(ggml_ext_last_error(), "Fake prepares no graphs");
    assert_int_equal(ggml_backend_graph_plan_compute(f->backend, f), GGML_STATUS_FAILED);
    assert_int_equal(ggml_backend_graph_plan_compute(f->backend, NULL), GGML_STATUS_FAILED);
    assert_contains(ggml_ext_last_error(), "no plan");
    ggml_backend_graph_plan_free(f->backend, NULL);
}

static void events(void ** state) {
    struct fixture * f = *state;
    ggml_backend_event_t event = ggml_backend_event_new(&f->fake.device);
    ggml_backend_event_record(event, f->backend);
    ggml_backend_event_wait(f->backend, event);
    ggml_backend_event_synchronize(event);
    assert_int_equal(f->fake.n_event_record, 1);
    assert_int_equal(f->fake.n_event_wait, 1);
    assert_int_equal(f->fake.n_event_sync, 1);
    f->backend->iface.event_record = NULL;
    f->backend->iface.event_wait = NULL;
    ggml_backend_event_record(event, f->backend);
    assert_contains(ggml_ext_last_error(), "event_record: back end Fake has no events");
    ggml_backend_event_wait(f->backend, event);
    assert_contains(ggml_ext_last_error(), "event_wait: back end Fake has no events");
    ggml_backend_event_wait(f->backend, NULL);
    assert_contains(ggml_ext_last_error(), "the event is NULL");
    ggml_backend_event_record(event, NULL);
    ggml_backend_event_synchronize(NULL);
    ggml_backend_event_free(event);
    ggml_backend_event_free(NULL);
    assert_int_equal(f->fake.n_event_free, 1);
    f->fake.device.iface.event_new = NULL;
    assert_null(ggml_backend_event_new(&f->fake.device));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_device_answers),
        TEST(properties_start_from_zero),
        TEST(null_devices_are_refused),
        TEST(a_registry_entry_answers),
        TEST(a_back_end_answers),
        TEST(back_ends_with_holes_are_refused),
        TEST(events_without_a_device_do_no_harm),
        TEST(a_device_without_memory),
        TEST(offload_is_the_devices_wish),
        TEST(a_graph_is_computed_and_waited_for),
        TEST(a_refused_graph_is_not_computed),
        TEST(plans_that_do_not_exist),
        TEST(events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
